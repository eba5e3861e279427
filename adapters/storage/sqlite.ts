/**
 * A store in one SQLite file, for one machine.
 *
 * @module utility-api/storage/sqlite
 */
import type { AdminStorage, StorageCall } from 'utility-api/storage'
import { createGate } from './closing.ts'
import { createSqliteConnection } from './sqlite-access.ts'
import { adminMethods } from './sqlite-admin.ts'
import type { SqliteDatabase } from './sqlite-driver.ts'
import { listingOf } from './sqlite-listing.ts'
import { migrate, requireSchema } from './sqlite-schema.ts'
import { servingMethods } from './sqlite-serving.ts'
import { setUpSession } from './sqlite-session.ts'

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-driver.ts'

/** How long a migration waits for a database that others keep busy. */
const migrationTimeoutMs = 30_000

/**
 * What {@link sqliteStorage} can be told.
 *
 * @group Storage
 */
export interface SqliteStorageOptions {
  /**
   * `'full'` waits for the disk before it answers, so that a power cut loses nothing; `'normal'` does not, and a power cut
   * (never a crash of the process) may lose the last moments. Default: `'full'`.
   */
  readonly durability?: 'full' | 'normal'
}

/**
 * A store in a SQLite file.
 *
 * @group Storage
 */
export interface SqliteStorage extends AdminStorage {
  /**
   * Creates the tables or brings them up to date, and turns the write-ahead log on. Idempotent; safe with several
   * processes starting at once.
   *
   * @throws `StorageError` `invalid` when the schema is of a newer version of this library.
   */
  migrate(): Promise<void>
}

/**
 * Makes a store of a SQLite connection: better-sqlite3's `Database`, `node:sqlite`'s `DatabaseSync` or `bun:sqlite`'s
 * `Database`.
 *
 * The connection is the storage's alone: it sets the connection's `synchronous`, `busy_timeout` and `cache_size`, and
 * decides when transactions begin and end. The tables' names begin with `utility_api_`, so they may share a file with
 * others. Several processes may open the same file; closing the connection stays with whoever opened it.
 *
 * Writes that come together share one transaction and are answered after its commit; reads that follow each other without
 * a turn of the event loop share one too. A database that others keep busy is tried as long as the call has time, without
 * blocking the event loop for more than 3 ms at a time.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { sqliteStorage } from 'utility-api/storage/sqlite'
 *
 * const storage = sqliteStorage(new DatabaseSync('utility-api.sqlite'))
 * await storage.migrate()
 * ```
 *
 * @throws `StorageError` when the connection is closed or has a transaction open.
 *
 * @group Storage
 */
export function sqliteStorage(database: SqliteDatabase, options: SqliteStorageOptions = {}): SqliteStorage {
  setUpSession(database, options.durability ?? 'full')
  const connection = createSqliteConnection(database, requireSchema)
  // Provisioning alone has calls of several transactions, which go on to their end after the store was closed.
  const gate = createGate()
  return {
    migrate: async () => {
      gate.requireOpen()
      await migrate(connection.bare, callOf(migrationTimeoutMs))
    },
    close: async () => {
      await Promise.all([gate.close(), connection.close()])
      await connection.drain()
    },
    ...servingMethods(connection.whileOpen),
    ...gate.guard(adminMethods(connection)),
    listing: gate.guard(listingOf(connection)),
  }
}

function callOf(timeoutMs: number): StorageCall {
  const deadline = performance.now() + timeoutMs
  return { timeLeftMs: () => deadline - performance.now() }
}
