import { DatabaseSync } from 'node:sqlite'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { counting, countRoundTrips, replacing } from './support/round-trips.ts'

// Figures that no machine changes, as those of PostgreSQL beside its other tests. `docs/decisions/storage.md` states them.

test('SQLite: BEGIN and COMMIT stand around what is read and around what is written', async () => {
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
