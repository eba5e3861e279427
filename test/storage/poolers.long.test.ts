import { postgresStorage } from 'utility-api/storage/postgres'
import { Pool, type PoolConfig } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../cli/support/cli.ts'
import type { StorageFixture } from '../../src/testing/storage-contract.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { startPgbouncer, whyNoPgbouncer, type Pooler, type PoolMode } from './support/pgbouncer.ts'
import { emptyTables, execute, startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { testContract } from './support/register.ts'

const reason = whyNoPgbouncer()
test.runIf(reason)(`PgBouncer: ${reason}`, ({ skip }) => skip(reason ?? ''))

const modes: readonly PoolMode[] = ['session', 'transaction', 'statement']

describe.skipIf(reason)('PgBouncer', () => {
  let server: PostgresServer
  const poolers = new Map<PoolMode, Pooler>()

  beforeAll(async () => {
    server = await startPostgres()
    for (const mode of modes)
      // oxlint-disable-next-line no-await-in-loop -- three
      poolers.set(mode, await startPgbouncer(server.url, mode, ['default_pool_size = 20']))
  })
  afterAll(async () => {
    await Promise.all([...poolers.values()].map((pooler) => pooler.stop()))
    await server.stop()
  })

  function behind(mode: PoolMode, url: string): string {
    const pooler = poolers.get(mode)
    if (pooler === undefined) throw new Error(mode)
    return pooler.behind(url)
  }
  /** A pool that ends with the test. */
  function pool(options: PoolConfig): Pool {
    const made = new Pool({ connectionTimeoutMillis: 5000, ...options })
    onTestFinished(() => (made.ended ? undefined : made.end()))
    return made
  }

  for (const mode of modes) {
    let shared: { readonly pair: readonly [Pool, Pool]; readonly direct: Pool } | undefined
    afterAll(() => Promise.all([...(shared?.pair ?? []), shared?.direct].map((each) => each?.end())))
    testContract(`in ${mode} mode`, async (): Promise<StorageFixture> => {
      const fresh = shared === undefined
      if (shared === undefined) {
        const url = await server.createDatabase()
        const connectionString = behind(mode, url)
        shared = {
          pair: [new Pool({ connectionString }), new Pool({ connectionString })],
          direct: new Pool({ connectionString: url }),
        }
      }
      const { pair, direct } = shared
      if (fresh && mode === 'statement') await postgresStorage(direct).migrate()
      const [storage, second] = [postgresStorage(pair[0]), postgresStorage(pair[1])]
      await storage.migrate()
      await emptyTables(direct)
      return { storage, second, close() {} }
    })
  }

  test('in statement mode, the migration of a new database says where to run it', async () => {
    const url = await server.createDatabase()
    const storage = postgresStorage(pool({ connectionString: behind('statement', url) }))
    const error = await errorOf(() => storage.migrate())
    expect([error.kind, error.message]).toEqual([
      'invalid',
      'A pooler in statement mode refuses the transaction in which tables are made or changed: run migrate() once on a direct connection.',
    ])
  })

  test('a time limit that the pooler refuses, or drops, is told with where to set it instead', async () => {
    const url = await server.createDatabase()
    const refused = pool({ connectionString: behind('transaction', url), statement_timeout: 2400 })
    const first = await errorOf(() => postgresStorage(refused).migrate())
    expect([first.kind, first.message]).toEqual([
      'invalid',
      expect.stringContaining('set the limit on the role'),
    ])
    const dropping = await startPgbouncer(server.url, 'transaction', [
      'ignore_startup_parameters = statement_timeout',
    ])
    onTestFinished(() => dropping.stop())
    const dropped = pool({ connectionString: dropping.behind(url), statement_timeout: 2400 })
    const second = await errorOf(() => postgresStorage(dropped).migrate())
    expect([second.kind, second.message]).toEqual([
      'invalid',
      expect.stringContaining('does not reach the server'),
    ])
    await execute(server.url, "ALTER ROLE postgres SET statement_timeout = '2400ms'")
    onTestFinished(
      async () => void (await execute(server.url, 'ALTER ROLE postgres RESET statement_timeout')),
    )
    const limited = pool({ connectionString: url })
    await postgresStorage(limited).migrate()
    const [row] = (await limited.query('SHOW statement_timeout')).rows as unknown[]
    expect(row).toEqual({ statement_timeout: '2400ms' })
  })

  test('in session mode with fewer server connections than a pool has, the sentence names the pooler', async () => {
    const url = await server.createDatabase()
    const small = await startPgbouncer(server.url, 'session', ['default_pool_size = 1'])
    onTestFinished(() => small.stop())
    const [holder, own] = [
      pool({ connectionString: small.behind(url) }),
      pool({ connectionString: small.behind(url) }),
    ]
    await postgresStorage(holder).migrate()
    const error = await errorOf(() => postgresStorage(own).findClient('a', call))
    expect([error.kind, error.message]).toEqual([
      'unavailable',
      expect.stringMatching(
        /no connection of the pool \(max: 10\) was free|a pooler has no server connection left/,
      ),
    ])
    await holder.end()
  })

  test.each(modes)('the command works in %s mode', async (mode) => {
    const url = await server.createDatabase()
    await postgresStorage(pool({ connectionString: url })).migrate()
    const database = { UTILITY_API_DATABASE: behind(mode, url) }
    const { code, stderr } = await run(['migrate'], database)
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^(?:Warning: fsync is off: .*\n)?$/)])
    const made = await run(['reseller', 'create', '--name', 'Ada', '--json'], database)
    expect(made.code).toBe(0)
    const { resellerId } = JSON.parse(made.stdout) as { resellerId: string }
    expect(
      await postgresStorage(pool({ connectionString: url })).findReseller(resellerId, call),
    ).toMatchObject({
      name: 'Ada',
    })
  })
})
