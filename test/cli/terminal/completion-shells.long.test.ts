import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { quoted } from '../../support/shell.ts'
import { temporaryFolder } from '../support/cli.ts'

// The scripts that `completion` prints, in the shells that are installed.

const folder = temporaryFolder()
afterAll(() => folder.remove())
const program = join(folder.path, 'utility-api')
const sources = ['--import', resolve('test/support/sources.ts'), resolve('adapters/cli/main.ts')]
writeFileSync(program, `#!/bin/sh\nexec ${[process.execPath, ...sources].map(quoted).join(' ')} "$@"\n`)
chmodSync(program, 0o755)

/** Runs a script in a shell whose only unusual program is the command. */
function inShell(shell: string, script: string): string {
  const PATH = `${folder.path}:${process.env['PATH']}`
  const { stdout, stderr } = spawnSync(shell, ['-c', script], {
    cwd: resolve('.'),
    encoding: 'utf8',
    env: { PATH, HOME: folder.path, TERM: 'dumb' },
  })
  return stdout + stderr
}
const isMissing = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).error !== undefined

test.skipIf(isMissing('bash'))('bash', () => {
  const script = `eval "$(utility-api completion bash)"
    COMP_WORDS=(utility-api client re) COMP_CWORD=2; _utility_api; echo "\${COMPREPLY[@]}"
    complete -p utility-api`
  expect(inShell('bash', script)).toBe('revoke\ncomplete -o default -F _utility_api utility-api\n')
})

test.skipIf(isMissing('fish'))('fish', () => {
  const script = `utility-api completion fish | source; complete -C 'utility-api client re'`
  expect(inShell('fish', script)).toBe('revoke\n')
})

test.skipIf(isMissing('zsh'))('zsh', () => {
  const script = `autoload -Uz compinit; compinit -u -D; eval "$(utility-api completion zsh)"
    compadd() { shift; print -l -- $@ }; words=(utility-api client re) CURRENT=3; _utility_api`
  expect(inShell('zsh', script)).toBe('revoke\n')
})
