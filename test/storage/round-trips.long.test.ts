import { mysqlStorage, type MysqlPool, type MysqlStorage } from 'utility-api/storage/mysql'
import { describe, expect, test } from 'vitest'
import { makePool, startMysql, whyNoMysql } from './support/mysql-server.ts'
import { counting, countRoundTrips, countUnderLoad, replacing } from './support/round-trips.ts'

/** Works with a store on a MariaDB of its own, and what counts the statements that it has sent. */
async function withMysql(work: (storage: MysqlStorage, sent: () => number) => Promise<void>): Promise<void> {
  const server = await startMysql()
  const pool = makePool(await server.createDatabase())
  try {
    let sent = 0
    const plain = pool as unknown as MysqlPool
    const lend = async (): ReturnType<MysqlPool['getConnection']> =>
      counting(await plain.getConnection(), ['query', 'execute'], () => (sent += 1))
    const storage = mysqlStorage(replacing(plain, 'getConnection', lend))
    await storage.migrate()
    await work(storage, () => sent)
  } finally {
    await pool.end()
    await server.stop()
  }
}

describe.skipIf(whyNoMysql() !== null)('MariaDB', () => {
  test('one request alone, and transactions of single statements', () =>
    withMysql(async (storage, sent) => {
      expect(await countRoundTrips(storage, sent)).toEqual({
        exchange: 3,
        update: 2,
        generate: 2,
        generateWithKey: 2,
        verify: 1,
      })
    }))

  test('with 32 callers: requests share statements, and each sends half of one at most', () =>
    withMysql(async (storage, sent) => {
      const { generateWithKey, ...counts } = await countUnderLoad(storage, sent, { callers: 32, each: 10 })
      expect(Object.entries(counts).filter(([, count]) => count > 1)).toEqual([])
      // A license with an idempotency key shares only what is read.
      expect(generateWithKey).toBeLessThan(6)
    }))
})
