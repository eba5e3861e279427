import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { expect, test } from 'vitest'
import { makePool, startMysql, whyNoMysql } from './support/mysql-server.ts'
import { counting, countRoundTrips, replacing } from './support/round-trips.ts'

test.skipIf(whyNoMysql() !== null)(
  'MariaDB: the settings of each borrowed connection, and transactions of single statements',
  async () => {
    const server = await startMysql()
    const pool = makePool(await server.createDatabase())
    try {
      let sent = 0
      const plain = pool as unknown as MysqlPool
      const lend = async (): ReturnType<MysqlPool['getConnection']> =>
        counting(await plain.getConnection(), ['query', 'execute'], () => (sent += 1))
      const storage = mysqlStorage(replacing(plain, 'getConnection', lend))
      await storage.migrate()
      expect(await countRoundTrips(storage, () => sent)).toEqual({
        exchange: 9,
        update: 4,
        generate: 4,
        generateWithKey: 7,
        verify: 2,
      })
    } finally {
      await pool.end()
      await server.stop()
    }
  },
)
