import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { run, temporaryFolder } from './cli.ts'

const folder = temporaryFolder()
const missing = join(folder.path, 'none.sqlite')
const empty = join(folder.path, 'empty.sqlite')
new DatabaseSync(empty).close()
afterAll(() => folder.remove())

const wrong: Record<string, { args: string[]; says: string }> = {
  'an unknown command': { args: ['clients'], says: 'There is no command "utility-api clients".' },
  'half a command': { args: ['client'], says: 'utility-api client what?' },
  'an unknown option': { args: ['serve', '--prot', '1'], says: 'There is no option --prot here.' },
  'an option without value': { args: ['serve', '--port'], says: '--port needs a value.' },
  'a word too many': { args: ['ping', 'a.example', 'b'], says: '"b" is one word too many.' },
  'a missing word': { args: ['client', 'create'], says: 'REDIRECT_URI' },
  'a missing option': { args: ['code', 'issue'], says: '--client' },
  'a bad port': { args: ['serve', '--port', '70000'], says: '--port must be a number from 0 to 65535.' },
  'no database': { args: ['purge'], says: 'Give --database FILE, or set UTILITY_API_DATABASE.' },
  'another kind of URL': { args: ['purge', '--database', 'mysql://x'], says: 'a file or a postgres:// URL' },
  'a password in a URL': {
    args: ['migrate', '--database', 'postgres://me:secret@localhost/db'],
    says: 'Set UTILITY_API_DATABASE to the URL instead.',
  },
  'a password in a query': {
    args: ['migrate', '--database', 'postgresql://localhost/db?password=secret'],
    says: 'Set UTILITY_API_DATABASE to the URL instead.',
  },
  'a bad redirection URI': {
    args: ['client', 'create', '/callback', '--database', empty],
    says: 'redirectUris: "/callback" is no absolute URI',
  },
  'a bad game address': { args: ['ping', 'https://a.example/'], says: 'is no address' },
  'a bad domain': { args: ['dns', 'not a name', '--server', '127.0.0.1:9'], says: 'NAME must be' },
  'a bad record type': {
    args: ['dns', 'a.example', 'ANY', '--server', '127.0.0.1:9'],
    says: 'TYPE must be one',
  },
}

test.for(Object.entries(wrong))('%s ends with code 2 and says what is wrong', async ([, { args, says }]) => {
  const { code, stdout, stderr } = await run(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(says)
  expect(stderr).toMatch(/^For help: utility-api.* --help$/m)
  expect(stderr).not.toMatch(/secret@|=secret| {4}at /)
})

test('a database that is not there is not made by accident', async () => {
  const { code, stderr } = await run(['purge', '--database', missing])
  expect(code).toBe(1)
  expect(stderr).toBe(
    `There is no file ${missing}. To create it: utility-api migrate --database ${missing}\n`,
  )
  expect(existsSync(missing)).toBe(false)
})

test('a database without tables says what to run', async () => {
  const { code, stderr } = await run(['purge', '--database', empty])
  expect(code).toBe(1)
  expect(stderr).toMatch(/To do so: utility-api migrate\n$/)
})

const commands = [
  [],
  ['serve'],
  ['migrate'],
  ['client', 'create'],
  ['reseller', 'create'],
  ['api-key', 'create'],
  ['code', 'issue'],
  ['token', 'create'],
  ['revoke'],
  ['license', 'list'],
  ['purge'],
  ['openapi'],
  ['dns'],
  ['ping'],
]

test('every command has help with examples, in plain text where no terminal is', async () => {
  const helps = await Promise.all(commands.map((words) => run([...words, '--help'])))
  for (const [at, { code, stdout, stderr }] of helps.entries()) {
    const line = ['utility-api', ...(commands[at] ?? [])].join(' ')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^EXAMPLES\n\n {2}utility-api /m)
    expect(stdout).toContain(`USAGE ${line}`)
    expect(stdout).not.toContain('\u001b')
  }
})

test('--version prints the version', async () => {
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('openapi prints the document, with its prefix', async () => {
  const { stdout } = await run(['openapi', '--prefix', '/api'])
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/api' }] })
})

test('without better-sqlite3 at hand it uses the SQLite of Node', () => {
  // A resolver that knows no better-sqlite3, as in a project that never installed it.
  const hide = `import { Module } from 'node:module'
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, ...rest) => {
      if (name === 'better-sqlite3') throw new Error('hidden')
      return resolve(name, ...rest)
    }`
  const file = join(folder.path, 'node.sqlite')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(hide)}`,
      '--import',
      './test/storage/sources.ts',
      'adapters/cli/main.ts',
      'migrate',
      '--database',
      file,
    ],
    { encoding: 'utf8' },
  )
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: 'The database is up to date.\n',
    stderr: '',
  })
})
