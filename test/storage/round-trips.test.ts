import { DatabaseSync } from 'node:sqlite'
import { postgresStorage, type PostgresPool, type PostgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makePool, startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { counting, countRoundTrips, countUnderLoad, replacing } from './support/round-trips.ts'

const slow = { timeout: 180_000 }
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
}, 180_000)

afterAll(() => server.stop())

// The figures that no machine changes. `docs/decisions/storage.md` states them.

/** Works with a store on a database of its own, and what counts the statements that it has sent. */
async function withPostgres(
  work: (storage: PostgresStorage, sent: () => number) => Promise<void>,
): Promise<void> {
  const pool = makePool(await server.createDatabase())
  try {
    let sent = 0
    const plain: PostgresPool = pool
    const lend = async (): ReturnType<PostgresPool['connect']> =>
      counting(await plain.connect(), ['query'], () => (sent += 1))
    const storage = postgresStorage(replacing(plain, 'connect', lend))
    await storage.migrate()
    await work(storage, () => sent)
  } finally {
    await pool.end()
  }
}

test(
  'PostgreSQL: an exchange sends 3 statements, a license updated or generated 2, a token verified 1',
  slow,
  () =>
    withPostgres(async (storage, sent) => {
      expect(await countRoundTrips(storage, sent)).toEqual({
        exchange: 3,
        update: 2,
        generate: 2,
        generateWithKey: 2,
        verify: 1,
      })
    }),
)

test(
  'PostgreSQL with 32 callers: requests share statements, and each sends a third of one at most',
  slow,
  () =>
    withPostgres(async (storage, sent) => {
      const counts = await countUnderLoad(storage, sent, { callers: 32, each: 10 })
      expect(Object.entries(counts).filter(([, count]) => count > 1 / 3)).toEqual([])
    }),
)

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
