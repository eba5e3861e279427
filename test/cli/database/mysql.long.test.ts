import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startMysql, whyNoMysql, type MysqlServer } from '../../storage/support/mysql-server.ts'
import { firstLine, start } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

const reason = whyNoMysql()
test.runIf(reason)(`the command on MariaDB: ${reason}`, ({ skip }) => skip(reason ?? ''))

describe.skipIf(reason)('the command works on MariaDB, its URL taken from the environment', () => {
  let server: MysqlServer
  beforeAll(async () => {
    server = await startMysql()
  }, 60_000)
  afterAll(() => server?.stop(), 60_000)

  test.each(['mysql:', 'mariadb:'])(
    '%s',
    async (protocol) => {
      const env = { UTILITY_API_DATABASE: (await server.createDatabase()).replace(/^mysql:/, protocol) }
      const early = await runHere(['purge'], env)
      expect(early).toMatchObject({ code: 1, stdout: '' })
      expect(early.stderr).toMatch(/To do so: utility-api migrate\n$/)
      expect(await runHere(['migrate'], env)).toMatchObject({ code: 0, stderr: '' })
      const { stdout } = await runHere(['reseller', 'create', '--json'], env)
      const { token } = JSON.parse(stdout) as { token: string }
      const child = start(['serve', '--port', '0'], env)
      const url = (await firstLine(child)).replace('Listening on ', '')
      const headers = licenseHeaders(token)
      const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
      expect(answer.status).toBe(200)
      child.kill('SIGTERM')
      expect(await once(child, 'close')).toEqual([0, null])
      expect((await runHere(['license', 'list'], env)).stdout).toContain('shop.example')
    },
    60_000,
  )
})

test.each(['mysql://me:secret@localhost/db', 'mariadb://me:secret@localhost/db'])(
  'a password in %s is not taken from the command line',
  async (url) => {
    const { code, stderr } = await runHere(['migrate', '--database', url])
    expect(code).toBe(2)
    expect(stderr).toContain('Set UTILITY_API_DATABASE to the URL instead.')
    expect(stderr).not.toContain('secret')
  },
)

test.each(['mysql:', 'mariadb:'])('an error at a %s URL says MariaDB, as the help does', async (protocol) => {
  const { code, stderr } = await runHere(['purge', '--database', `${protocol}//me@127.0.0.1:1/db`])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^MariaDB: connect ECONNREFUSED 127.0.0.1:1\nNothing listens there\. /)
  const { stdout } = await runHere(['purge', '--help'])
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'SQLite file, or PostgreSQL or MariaDB URL without password.',
  )
})
