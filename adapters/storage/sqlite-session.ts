import { requireNoTransaction, type SqliteDatabase } from './sqlite-driver.ts'
import { toStorageError } from './sqlite-errors.ts'

/** Applies the settings that the storage needs. The connection belongs to the storage alone. */
export function setUpSession(database: SqliteDatabase, durability: 'full' | 'normal'): void {
  try {
    requireNoTransaction(database)
    // The timeout comes first: by default, drivers wait for seconds and block the event loop.
    database.exec('PRAGMA busy_timeout = 3')
    // 16 MB hold the inner pages of the indexes on millions of licenses; SQLite's 2 MB do not.
    database.exec('PRAGMA cache_size = -16000')
    database.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  } catch (error) {
    throw toStorageError(error)
  }
}
