import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'

const words: Readonly<Record<string, { typed: string[]; fits: string[] }>> = {
  commands: { typed: ['lic'], fits: ['license'] },
  subcommands: { typed: ['client', 're'], fits: ['revoke'] },
  'all subcommands': { typed: ['reseller', ''], fits: ['list', 'create', 'token'] },
  'nothing after an unknown word': { typed: ['nonsense', ''], fits: [] },
  options: { typed: ['purge', '--d'], fits: ['--database'] },
  'options but those given': {
    typed: ['migrate', '--database', 'x.sqlite', '--'],
    fits: ['--storage', '--help'],
  },
  'values that are listed': { typed: ['serve', '--log', 'j'], fits: ['json'] },
  'no value that is not': { typed: ['serve', '--host', ''], fits: [] },
  'no word of a command': { typed: ['ping', ''], fits: [] },
}

test.for(Object.entries(words))('completes %s', async ([, { typed, fits }]) => {
  const { code, stdout } = await runHere(['completion', 'words', '--', ...typed])
  expect({ code, lines: stdout.split('\n').filter((line) => line !== '') }).toEqual({ code: 0, lines: fits })
})

test('knows three shells', async () => {
  const { code, stderr } = await runHere(['completion', 'tcsh'])
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'SHELL must be one of bash, zsh, fish.\nFor help: utility-api completion --help\n',
  })
})

describe('in a shell', () => {
  const folder = temporaryFolder()
  afterAll(() => folder.remove())
  const program = join(folder.path, 'utility-api')
  const sources = ['--import', resolve('test/support/sources.ts'), resolve('adapters/cli/main.ts')]
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${sources.join("' '")}' "$@"\n`)
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
})
