import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { expect, test } from 'vitest'
import { contextsOfStore, expectedContexts, watchPool } from './support/contexts.ts'
import { makePool as makeMysqlPool, startMysql, whyNoMysql } from './support/mysql-server.ts'
import { makePool, startPostgres } from './support/postgres-server.ts'

test('PostgreSQL: what is for one caller runs in its async context, what several share in that of nobody', async () => {
  const server = await startPostgres()
  const pool = makePool(await server.createDatabase(), undefined, 2)
  try {
    const storage = postgresStorage(watchPool<PostgresPool>(pool, 'connect'))
    await storage.migrate()
    const hold = async (): Promise<() => void> => {
      const clients = await Promise.all([pool.connect(), pool.connect()])
      return () => clients.forEach((client) => client.release())
    }
    expect(await contextsOfStore(storage, hold)).toEqual(expectedContexts)
  } finally {
    await pool.end()
    await server.stop()
  }
})

test.skipIf(whyNoMysql() !== null)(
  'MariaDB: what is for one caller runs in its async context, what several share in that of nobody',
  async () => {
    const server = await startMysql()
    const pool = makeMysqlPool(await server.createDatabase())
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
