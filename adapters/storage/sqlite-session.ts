import { requireNoTransaction, type SqliteDatabase } from './sqlite-driver.ts'
import { toStorageError } from './sqlite-errors.ts'

/** Sets what a connection of the storage needs; it is the storage's alone. */
export function setUpSession(database: SqliteDatabase, durability: 'full' | 'normal'): void {
  try {
    requireNoTransaction(database)
    // First the time-out: drivers wait seconds by default, and the event loop with them.
    database.exec('PRAGMA busy_timeout = 3')
    // 16 MB hold the inner pages of the indexes over millions of licenses; SQLite's 2 MB do not.
    database.exec('PRAGMA cache_size = -16000')
    database.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  } catch (error) {
    throw toStorageError(error)
  }
}
