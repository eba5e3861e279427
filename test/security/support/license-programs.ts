import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const examples = join(import.meta.dirname, '../../../examples/license-check')

/** Calls the functions of an example: the text of a program in its language, for which `check` is imported. */
type Caller = (folder: string, program: string) => string[] | null

/** Returns the command that runs a program which calls the functions of an example, or null where something is missing. */
export const callersOf: Readonly<Record<'PHP' | 'Python' | 'Go', Caller>> = {
  PHP(folder, program) {
    const file = join(folder, 'caller.php')
    const functions = `eval(strstr(file_get_contents(${JSON.stringify(join(examples, 'check.php'))}), 'function check('));`
    writeFileSync(file, `<?php\nconst GRACE_SECONDS = 0;\n${functions}\n${program}`)
    return hasPhp('sodium', 'intl') ? ['php', file] : null
  },
  Python(folder, program) {
    const file = join(folder, 'caller.py')
    writeFileSync(
      file,
      `import sys\nsys.path.insert(0, ${JSON.stringify(examples)})\nimport check\n${program}`,
    )
    const python = findPython()
    return python === null ? null : [python, '-B', file]
  },
  Go(folder, program) {
    const [example, caller, binary] = [
      join(folder, 'check.go'),
      join(folder, 'caller.go'),
      join(folder, 'caller'),
    ]
    const source = readFileSync(join(examples, 'check.go'), 'utf8')
    writeFileSync(example, source.replace('func main()', 'func example()'))
    writeFileSync(caller, program)
    return buildsGo(binary, example, caller) ? [binary] : null
  },
}

export function hasPhp(...extensions: readonly string[]): boolean {
  const tests = extensions.map((each) => `extension_loaded("${each}")`).join(' && ')
  return works('php', '-r', `exit(${tests} ? 0 : 1);`)
}

/** Returns a Python that has what the example needs, or null. */
export function findPython(): string | null {
  const found = ['python3', '/usr/bin/python3'].find((each) =>
    works(each, '-c', 'import jwt, cryptography, idna'),
  )
  return found ?? null
}

/** Builds a program with the modules of Debian, and tells whether it could. */
export function buildsGo(program: string, ...sources: readonly string[]): boolean {
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' }
  return spawnSync('go', ['build', '-o', program, ...sources], { env }).status === 0
}

function works(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0
}
