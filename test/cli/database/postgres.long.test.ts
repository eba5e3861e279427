import { once } from 'node:events'
import { Client } from 'pg'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { requestLimits } from '../../../adapters/cli/database/time-limits.ts'
import { limitOfRole } from '../../../adapters/storage/postgres/errors.ts'
import { settingsOf } from '../../../src/settings.ts'
import { execute, startPostgres } from '../../storage/support/postgres-server.ts'
import { firstLine, run, start } from '../support/cli.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

test('a request waits for its storage longer than its connection and then its statement may take', () => {
  const { storageTimeoutMs } = settingsOf({ storage: memoryStorage() })
  expect(requestLimits.connectMs + requestLimits.statementMs).toBeLessThan(storageTimeoutMs)
  expect(limitOfRole).toContain(`'${requestLimits.statementMs}ms'`)
})

test('the command works on PostgreSQL, its URL taken from the environment', async () => {
  const postgres = await startPostgres()
  const env = { UTILITY_API_DATABASE: await postgres.createDatabase() }
  const early = await run(['purge'], env)
  expect(early.code).toBe(1)
  expect(early.stderr).toMatch(/To do so: utility-api migrate\n$/)
  const { code, stderr } = await run(['migrate'], env)
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^(?:Warning: fsync is off: .*\n)?$/)])

  const { token } = JSON.parse((await run(['reseller', 'create', '--json'], env)).stdout) as { token: string }
  const child = start(['serve', '--port', '0'], env)
  const url = (await firstLine(child)).replace('Listening on ', '')
  const headers = licenseHeaders(token)
  const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  expect(answer.status).toBe(200)

  let log = ''
  child.stderr?.on('data', (chunk) => (log += String(chunk)))
  const blocker = new Client({ connectionString: env.UTILITY_API_DATABASE })
  await blocker.connect()
  await blocker.query('BEGIN; LOCK TABLE utility_api_licenses')
  const counted = run(['license', 'count', '--json'], env)
  const refused = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
  expect(refused.status).toBe(500)
  // The statement ended before its client was told: it cannot write once the lock is gone.
  await expect.poll(() => log).toContain('due to statement timeout')
  // A command may take longer than a request.
  const longWaits = `SELECT FROM pg_stat_activity WHERE query LIKE '%SELECT count%utility_api_licenses%'
    AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '3.5 s'`
  await expect.poll(async () => (await blocker.query(longWaits)).rowCount, { timeout: 20_000 }).toBe(1)
  await blocker.query('ROLLBACK')
  await blocker.end()
  expect(JSON.parse((await counted).stdout)).toEqual({ licenses: 1 })

  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([0, null])
  expect((await run(['license', 'list'], env)).stdout).toContain('shop.example')
  await postgres.stop()
}, 60_000)

test('a role without rights, and a database that does not exist, are told with what to do', async () => {
  const postgres = await startPostgres()
  const database = await postgres.createDatabase()
  await execute(database, "CREATE ROLE stranger LOGIN PASSWORD 'a-password'")
  const strange = Object.assign(new URL(database), { username: 'stranger', password: 'a-password' }).href
  const missing = Object.assign(new URL(database), { pathname: '/none' }).href
  const refused = async (text: string): Promise<string> =>
    (await run(['migrate'], { UTILITY_API_DATABASE: text })).stderr
  expect(await refused(strange)).toBe(
    `PostgreSQL: permission denied for schema public
migrate must run as the owner of the tables or, before there are any, of their schema.
Other commands need to SELECT, INSERT, UPDATE and DELETE.
`,
  )
  expect(await refused(missing)).toBe(
    `PostgreSQL: database "none" does not exist
To create it, in psql: CREATE DATABASE NAME OWNER ROLE TEMPLATE template0 ENCODING 'UTF8'
`,
  )
  await execute(database, 'DROP ROLE stranger')
  await postgres.stop()
}, 60_000)

test.each(['password', 'scram-sha-256'])(
  'a server that asks for a password (%s) and gets none ends the command at once, with what to do',
  async (method) => {
    const postgres = await startPostgres()
    if (postgres.restart !== undefined) await authenticateBy(method, postgres.url)
    const database = Object.assign(new URL(postgres.url), { password: '' }).href
    const begun = performance.now()
    expect(await run(['migrate', '--database', database])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'PostgreSQL asks for a password. Put the URL with its password into UTILITY_API_DATABASE, or set PGPASSWORD.\n',
    })
    expect(performance.now() - begun).toBeLessThan(15_000)
    await postgres.stop()
  },
  90_000,
)

async function authenticateBy(method: string, url: string): Promise<void> {
  const [file] = (await execute(url, 'SHOW hba_file')) as { hba_file: string }[]
  await execute(url, `COPY (SELECT 'host all all 127.0.0.1/32 ${method}') TO '${file?.hba_file}'`)
  const loadedAt = (): Promise<unknown[]> => execute(url, 'SELECT pg_conf_load_time()::text')
  const before = await loadedAt()
  await execute(url, 'SELECT pg_reload_conf()')
  await expect.poll(loadedAt).not.toEqual(before)
}
