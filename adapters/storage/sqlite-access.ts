import type { StorageCall } from 'utility-api/storage'
import type { SqliteQueries } from './sqlite-driver.ts'

/** How the methods of the store get at the connection: every write goes through `write`, every read through `read`. */
export interface SqliteAccess<Connection = SqliteQueries> {
  /** Runs `work` in a transaction of its own or in one with its neighbors; resolves after the commit. */
  write<Result>(call: StorageCall, work: (db: Connection) => Result): Promise<Result>
  /** Runs `work` at once; where the database is busy, again a little later. */
  read<Result>(call: StorageCall, work: (db: Connection) => Result): Result | Promise<Result>
}
