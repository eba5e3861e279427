import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { expect, test } from 'vitest'
import { contextsOfStore, expectedContexts, watchPool } from './support/contexts.ts'
import { makePool, startMysql, whyNoMysql } from './support/mysql-server.ts'

test.skipIf(whyNoMysql() !== null)(
  'MariaDB: what is for one caller runs in its async context, what several share in that of nobody',
  async () => {
    const server = await startMysql()
    const pool = makePool(await server.createDatabase())
    try {
      const storage = mysqlStorage(watchPool(pool as unknown as MysqlPool, 'getConnection'))
      await storage.migrate()
      const hold = async (): Promise<() => void> => {
        const { connectionLimit = 10 } = pool.pool.config
        const connections = await Promise.all(
          Array.from({ length: connectionLimit }, () => pool.getConnection()),
        )
        return () => connections.forEach((connection) => connection.release())
      }
      expect(await contextsOfStore(storage, hold)).toEqual(expectedContexts)
    } finally {
      await pool.end()
      await server.stop()
    }
  },
)
