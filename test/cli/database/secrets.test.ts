import { join } from 'node:path'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { StorageError } from 'utility-api/storage'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { redactorOf } from '../../../adapters/cli/database/redact.ts'
import { requestLog } from '../../../adapters/cli/serving/request-log.ts'
import { temporaryFolder } from '../support/cli.ts'
import { runHere as run } from '../support/cli-here.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

const mistyped = [
  'postgres:u:HUNTER2@h/d',
  'postgres//u:HUNTER2@h/d',
  'postgres:/u:HUNTER2@h/d',
  'postgress://u:HUNTER2@h/d',
  ' postgres://u:HUNTER2@h/d',
  '"postgres://u:HUNTER2@h/d"',
  'DATABASE_URL=postgres://u:HUNTER2@h/d',
  'u:HUNTER2@h/d',
  'u:pa/HUNTER2@h/d.sqlite',
  'jdbc:postgresql://h/d?password=HUNTER2',
  'host=127.0.0.1 password=HUNTER2',
  'Server=h;Password=HUNTER2;',
  'postgres://u:12/HUNTER2@127.0.0.1:1/d',
  'postgres://u:12?HUNTER2@127.0.0.1:1/d',
  'postgres://u:12#HUNTER2@127.0.0.1:1/d',
  'postgres://u:12 HUNTER2@127.0.0.1:1/d',
  'postgres://u:%HUNTER2@127.0.0.1:1/d',
  'postgres://u@127.0.0.1:HUNTER2/d',
  'postgres://u@127.0.0.1:1/d#HUNTER2',
  'postgres://u@127.0.0.1:1/d\tHUNTER2',
  'mysql://u:12/HUNTER2@127.0.0.1:1/d',
  'mysql://u@127.0.0.1:1/d?HUNTER2',
  'mysql://u@127.0.0.1:1/d?timezone=HUNTER2',
  'mysql://u@127.0.0.1:1/d?debug=HUNTER2',
  '/none/HUNTER2',
]
const misplaced = [
  'postgres://HUNTER2@127.0.0.1:1/d',
  'postgres://u:HUNTER2@127.0.0.1:1/d',
  'postgres://u@127.0.0.1:1/d?host=HUNTER2',
  'Postgres://u:HUNTER2@127.0.0.1:1/d?ssl=HUNTER2',
  'mysql://u@127.0.0.1:1/d?ssl=HUNTER2',
  'mysql://u@127.0.0.1:1/d?charset=HUNTER2',
  'mysql://u@127.0.0.1:1/d?flags=HUNTER2&localAddress=HUNTER2',
  'mysql://u@127.0.0.1:1/d?socketPath=/HUNTER2',
]

test.for([...mistyped, ...misplaced])('%s in the environment is not repeated', async (database) => {
  for (const command of ['migrate', 'purge', 'serve']) {
    const { code, stdout, stderr } = await run([command], { UTILITY_API_DATABASE: database })
    expect({ code, stdout }).toEqual({ code: expect.toBeOneOf([1, 2]), stdout: '' })
    expect(stderr).not.toMatch(/HUNTER2/i)
  }
})

test.for(mistyped.filter((text) => /:|password=/i.test(text)))(
  '%s in the wrong place on the command line is not repeated',
  async (text) => {
    for (const args of [
      ['migrate', '--database', text],
      ['purge', '--storage', text],
      ['migrate', text],
      [text],
      [`--${text}`],
      ['migrate', `--${text}`],
      ['client', text],
      ['client', 'create', text, '--database', join(folder.path, 'new.sqlite')],
      ['serve', '--host', text],
      ['dns', 'a.example', '--server', text],
      ['ping', text],
    ]) {
      if (text.startsWith('/none') || text.includes('?')) continue
      const { code, stderr } = await run(args, { UTILITY_API_DATABASE: '' })
      expect(code).not.toBe(0)
      expect(stderr).not.toContain('HUNTER2')
    }
  },
)

test.for(['postgres://u@127.0.0.1:1/d#secret', 'postgres://u:1\t2@127.0.0.1:1/d', 'mysql://u@h/d@e'])(
  '%s is no URL that a driver reads as it was meant, so it is not used',
  async (url) => {
    const { stderr } = await run(['migrate', '--database', url])
    expect(stderr).toMatch(/^--database is not a valid URL\. In a password, % is written as %25/)
  },
)

test('what looks like a connection is no name for a new file, but opens a file that exists', async () => {
  const file = join(folder.path, 'host=h password=HUNTER2')
  new DatabaseSync(file).close()
  expect(await run(['purge'], { UTILITY_API_DATABASE: file })).toMatchObject({ code: 1 })
  expect((await run(['migrate'], { UTILITY_API_DATABASE: file })).code).toBe(0)
})

test('a name that is certainly a file is shown', async () => {
  const file = join(folder.path, 'utility.db')
  expect((await run(['purge'], { UTILITY_API_DATABASE: file })).stderr).toBe(
    `There is no file ${file}. To create it: utility-api migrate --database ${file}\n`,
  )
  expect((await run(['purge'], { UTILITY_API_DATABASE: '/none/utility' })).stderr).toBe(
    'There is no file of the name in UTILITY_API_DATABASE. To create it: utility-api migrate\n',
  )
  expect((await run(['purge', '--database', '/none/utility'])).stderr).toBe(
    'There is no file /none/utility. To create it: utility-api migrate --database /none/utility\n',
  )
})

test('what a server quotes of the URL is not repeated: only its scheme, host and database are', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.end(refusal)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const refusal = pgError(
    'invalid value for parameter "client_encoding": "HUNTER2" at 127.0.0.1, database "d"',
  )
  const { port } = server.address() as { port: number }
  const UTILITY_API_DATABASE = `postgres://u@127.0.0.1:${port}/d?client_encoding=HUNTE%522`
  const { stderr } = await run(['purge'], { UTILITY_API_DATABASE })
  expect(stderr).toBe(
    'PostgreSQL: invalid value for parameter "client_encoding": "…" at 127.0.0.1, database "d"\n',
  )
})

/** An error as a PostgreSQL server sends it. */
function pgError(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C22023\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeUInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

test('redacts an error with its causes, in all of its texts', () => {
  const redact = redactorOf('postgres://u:P%40SS.W%20RD@h/d?sslkey=/keys/my.key')
  const cause = Object.assign(new Error('open /keys/my.key'), { path: '/keys/my.key' })
  const error = new StorageError('bug', 'P@SS.W RD, P%40SS.W%20RD, PxSS.W RD', { cause })
  redact(error)
  expect(error.message).toBe('…, …, PxSS.W RD')
  expect(error.stack).not.toContain('P@SS')
  expect(cause).toMatchObject({ message: 'open …', path: '…' })
  expect(cause.stack).not.toContain('my.key')
})

test('redacts a secret that no regular expression could hold', () => {
  const secret = 'ü'.repeat(30_000)
  const error = new Error(`password ${secret} failed, ${encodeURIComponent(secret)} too`)
  redactorOf(`postgres://u:${secret}@h/d`)(error)
  expect(error.message).toBe('password … failed, … too')
})

test.each(['line', 'json'] as const)('the log of a server (%s) is redacted', (format) => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const { options } = requestLog(format, redactorOf('mysql://u:HUNTER2@h/d'))
  if (!options.logger) throw new Error('There is no logger.')
  const cause = new Error('access with HUNTER2 denied, as with postgres://x:OTHER@h/d')
  options.logger.error('Failed.', { error: new Error('No HUNTER2.', { cause }) })
  const [[text]] = printed.mock.calls as [[string]]
  printed.mockRestore()
  expect(text).toContain('access with … denied, as with postgres://h/d')
  expect(text).not.toMatch(/HUNTER2|OTHER/)
})
