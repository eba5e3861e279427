import { DatabaseSync } from 'node:sqlite'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { makePool, startPostgres } from './support/postgres-server.ts'
import { counting, countRoundTrips, replacing } from './support/round-trips.ts'

// The figures that no machine changes. `docs/decisions/storage.md` states them.

test('PostgreSQL: an exchange sends 3 statements, a license updated or generated 2, a token verified 1', async () => {
  const server = await startPostgres()
  const pool = makePool(await server.createDatabase())
  try {
    let sent = 0
    const plain: PostgresPool = pool
    const lend = async (): ReturnType<PostgresPool['connect']> =>
      counting(await plain.connect(), ['query'], () => (sent += 1))
    const storage = postgresStorage(replacing(plain, 'connect', lend))
    await storage.migrate()
    expect(await countRoundTrips(storage, () => sent)).toEqual({
      exchange: 3,
      update: 2,
      generate: 2,
      generateWithKey: 2,
      verify: 1,
    })
  } finally {
    await pool.end()
    await server.stop()
  }
})

test('SQLite: the same, with BEGIN and COMMIT around what is read and around what is written', async () => {
  const database = new DatabaseSync(':memory:')
  let sent = 0
  const count = (): void => void (sent += 1)
  const prepare = (sql: string): ReturnType<DatabaseSync['prepare']> =>
    counting(database.prepare(sql), ['run', 'get', 'all'], count)
  const storage = sqliteStorage(replacing(counting(database, ['exec'], count), 'prepare', prepare))
  await storage.migrate()
  expect(await countRoundTrips(storage, () => sent)).toEqual({
    exchange: 8,
    update: 6,
    generate: 6,
    generateWithKey: 8,
    verify: 3,
  })
  database.close()
})
