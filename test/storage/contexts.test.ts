import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { expect, test } from 'vitest'
import { contextsOfStore, expectedContexts, watchPool } from './support/contexts.ts'
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
