/**
 * A store in one SQLite file, for one machine.
 *
 * @module utility-api/storage/sqlite
 */
import { callWithin, StorageError, type AdminStorage, type MigrationResult } from 'utility-api/storage'
import { closable } from './shared/closing.ts'
import { createSqliteConnection } from './sqlite/access.ts'
import { adminMethods } from './sqlite/admin.ts'
import { setUp } from './sqlite/connection.ts'
import type { SqliteDatabase } from './sqlite/driver.ts'
import { refuseMountedFile } from './sqlite/file-identity.ts'
import { listingOf } from './sqlite/listing.ts'
import { migrate, requireSchema } from './sqlite/schema.ts'
import { servingMethods } from './sqlite/serving.ts'

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite/driver.ts'

/** How long a migration waits for a database that others keep busy. */
const migrationTimeoutMs = 30_000

/**
 * Options for {@link sqliteStorage}.
 *
 * @group Storage
 */
export interface SqliteStorageOptions {
  /**
   * `'full'` waits for the disk before it answers, so a power failure loses nothing. `'normal'` does not wait, and a
   * power failure (never a crash of the process) may lose the last writes. Default: `'full'`.
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
   * Creates the tables or brings them up to date, and turns on the write-ahead log. Idempotent, and safe with several
   * processes starting at the same time.
   *
   * @throws `StorageError` `invalid` if the schema is from a newer version of this library, or the file is mounted without
   *   its folder.
   */
  migrate(): Promise<MigrationResult>
}

/**
 * Creates a store from a SQLite connection: the `Database` of better-sqlite3, the `DatabaseSync` of `node:sqlite` or
 * the `Database` of `bun:sqlite`.
 *
 * The connection belongs to the storage alone, which sets its `synchronous`, `busy_timeout`, `cache_size` and names of
 * columns, and decides when transactions begin and end. The tables' names begin with `utility_api_`, so they may share a
 * file with other tables. Several processes may open the same file; within this process, only the same installed copy of
 * the same driver. If the file or its write-ahead log is deleted, moved or replaced, every call fails with `unavailable`
 * until the program is restarted. The caller is responsible for closing the connection.
 *
 * Writes that arrive together share one transaction and are answered after its commit. Reads that follow each other
 * without a turn of the event loop also share one. If others keep the database busy, the storage tries again as long as
 * the call has time left, without blocking the event loop for more than 3 ms at a time.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { sqliteStorage } from 'utility-api/storage/sqlite'
 *
 * const storage = sqliteStorage(new DatabaseSync('utility.sqlite'))
 * await storage.migrate()
 * ```
 *
 * @throws `StorageError` if the connection is closed or has a transaction open, an option is invalid or unknown, or
 *   another process has locked the file for 5 s, during which the call waits and blocks the event loop
 *
 * @group Storage
 */
export function sqliteStorage(database: SqliteDatabase, options: SqliteStorageOptions = {}): SqliteStorage {
  requireDatabase(database)
  const connection = createSqliteConnection(database, requireSchema)
  connection.endRead()
  setUp(database, durabilityOf(options), connection.requireSameFiles)
  const methods = {
    migrate: async () => {
      const call = callWithin(migrationTimeoutMs)
      await connection.bare.read(call, refuseMountedFile)
      const changed = await migrate(connection.bare, call)
      connection.requireSameFiles()
      return { changed, warnings: [] }
    },
    ...servingMethods(connection, connection.requireSameFiles),
    ...adminMethods(connection),
  }
  return closable(methods, listingOf(connection))
}

function requireDatabase(database: Partial<SqliteDatabase> | undefined): void {
  if (typeof database?.prepare !== 'function' || typeof database.exec !== 'function') {
    const message =
      "sqliteStorage takes an open connection of better-sqlite3, node:sqlite or bun:sqlite. Write sqliteStorage(new Database('utility.sqlite'))."
    throw new StorageError('bug', message)
  }
  // Nothing else has this method.
  if (!('syncUntil' in database)) return
  const message =
    'The driver libsql ends the process when it is given octets alone: use better-sqlite3, node:sqlite or bun:sqlite.'
  throw new StorageError('invalid', message)
}

/** Without this check, a misspelled durability would not wait for the disk. */
function durabilityOf(options: SqliteStorageOptions): 'full' | 'normal' {
  if (typeof options !== 'object' || options === null || Symbol.iterator in options)
    throw new StorageError('invalid', "options: must be an object, as in { durability: 'normal' }.")
  const { durability = 'full', ...strangers } = options
  const [stranger] = Object.keys(strangers)
  if (stranger !== undefined)
    throw new StorageError(
      'invalid',
      `${stranger}: is not an option of sqliteStorage, which takes durability.`,
    )
  if (['full', 'normal'].includes(durability)) return durability
  throw new StorageError('invalid', "durability: must be 'full' or 'normal'.")
}
