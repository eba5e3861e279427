import { postgresStorage } from 'utility-api/storage/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'
import { startPgpool, whyNoPgpool, type Balancer } from './support/pgpool.ts'
import { emptyTables } from './support/postgres-server.ts'
import { testContract } from './support/register.ts'

const reason = await whyNoPgpool()
test.runIf(reason)(`pgpool-II: ${reason}`, ({ skip }) => skip(reason ?? ''))

describe.skipIf(reason)('pgpool-II that balances reads', () => {
  let balancer: Balancer
  let pools: readonly [Pool, Pool]
  let direct: Pool

  beforeAll(async () => {
    balancer = await startPgpool(['load_balance_mode = on'])
    // Before there are tables: whatever the standby is asked about them, it does not know.
    await balancer.follow(false)
    pools = [makePool(balancer.url), makePool(balancer.url)]
    direct = makePool(balancer.primaryUrl)
  })
  afterAll(async () => {
    await Promise.all([...(pools ?? []), direct].map((each) => each?.end()))
    await balancer?.stop()
  })

  test('sends a read without the comment to the standby, so that the suite shows something', async () => {
    const { rows } = await pools[0].query("SELECT current_setting('in_hot_standby') AS standby")
    expect(rows).toEqual([{ standby: 'on' }])
  })

  testContract('asks the primary', async () => {
    const [storage, second] = [postgresStorage(pools[0]), postgresStorage(pools[1])]
    await storage.migrate()
    await emptyTables(direct)
    return { storage, second, close() {} }
  })
})

describe.skipIf(reason)('pgpool-II that balances reads whatever comment is before them', () => {
  let balancer: Balancer

  beforeAll(async () => {
    balancer = await startPgpool(['load_balance_mode = on', 'allow_sql_comments = on'])
    const direct = makePool(balancer.primaryUrl)
    await postgresStorage(direct).migrate()
    await direct.end()
    await balancer.follow(true)
  })
  afterAll(() => balancer?.stop())

  test('is refused by migrate() and by calls, with what to set', async () => {
    const storage = postgresStorage(pool(balancer.url))
    for (const work of [() => storage.migrate(), () => storage.findClient('a', call)]) {
      // oxlint-disable-next-line no-await-in-loop -- two
      const error = await errorOf(async () => work())
      expect([error.kind, error.message]).toEqual([
        'invalid',
        'Reads are sent to a standby, which does not have every write yet, and writes to the primary. Turn this off: in pgpool-II, set load_balance_mode = off.',
      ])
    }
  })

  test('a pool that leads to the standby alone may read', async () => {
    const storage = postgresStorage(pool(balancer.standbyUrl))
    await storage.migrate()
    expect(await storage.findClient('a', call)).toBeNull()
    const error = await errorOf(() => storage.insertLicense(newLicense('a'), undefined, call))
    expect(error.kind).toBe('unavailable')
  })
})

function makePool(connectionString: string): Pool {
  return new Pool({ connectionString, connectionTimeoutMillis: 5000 })
}

/** A pool that ends with the test. */
function pool(connectionString: string): Pool {
  const made = makePool(connectionString)
  onTestFinished(() => made.end())
  return made
}
