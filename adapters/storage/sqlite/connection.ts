import type { SqliteDatabase } from './driver.ts'
import { toStorageError } from './errors.ts'
import type { RequireSameFiles } from './file-identity.ts'
import { requireNoTransaction } from './queue.ts'

/** Applies the settings that the storage needs. The connection belongs to the storage alone. */
export function setUp(
  database: SqliteDatabase,
  durability: 'full' | 'normal',
  requireSameFiles: RequireSameFiles,
): void {
  try {
    requireNoTransaction(database)
    // A process that closes the file, as the one before at a restart, holds it exclusively while it empties the log.
    database.exec('PRAGMA busy_timeout = 5000')
    // With others, rows would have columns of other names than those that are read, so a time would be no number.
    database.exec('PRAGMA full_column_names = OFF')
    database.exec('PRAGMA short_column_names = ON')
    // 16 MB hold the inner pages of the indexes on millions of licenses; SQLite's 2 MB do not.
    database.exec('PRAGMA cache_size = -16000')
    database.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
    // From here on a wait for a lock would block the event loop of a serving process.
    database.exec('PRAGMA busy_timeout = 3')
    requireSameFiles()
  } catch (error) {
    throw toStorageError(error)
  }
}
