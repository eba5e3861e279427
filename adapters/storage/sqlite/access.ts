import type { StorageCall } from 'utility-api/storage'
import type { SqliteDatabase } from './driver.ts'
import type { RequireSameFiles } from './file-identity.ts'
import { createSqliteQueue, readOrRetry, requireNoTransaction, type SqliteQueue } from './queue.ts'
import { createQueries, type Queries } from './statement.ts'
import { inNoContext } from '../shared/no-context.ts'

/** How the store's methods access the connection. Every write goes through `write`, every read through `read`. */
export interface SqliteAccess<Connection = Queries> {
  /** Runs `work` in its own transaction or in one that it shares with its neighbors. Resolves after the commit. */
  write<Result>(call: StorageCall, work: (db: Connection) => Result): Promise<Result>
  /** Runs `work` at once. If the database is busy, tries again a little later. */
  read<Result>(call: StorageCall, work: (db: Connection) => Result): Result | Promise<Result>
}

/** What a storage needs from its connection. */
export interface SqliteConnection extends SqliteAccess {
  /** The same access, whether or not the tables exist. */
  readonly bare: SqliteAccess<SqliteDatabase>
  readonly requireSameFiles: RequireSameFiles
  /** Ends the transaction of the reads so far, so that settings can be changed. */
  endRead(): void
}

/** Two storages on one connection share its queue, or each would take the other's transactions for the host's. */
const queues = new WeakMap<SqliteDatabase, SqliteQueue>()

export function createSqliteConnection(
  database: SqliteDatabase,
  requireSchema: (database: SqliteDatabase) => void,
): SqliteConnection {
  const queue = queues.get(database) ?? createSqliteQueue(database)
  queues.set(database, queue)
  let queries: Queries | undefined

  /** Returns the connection, once its tables are known to match the statements. */
  function ready(): Queries {
    if (queries === undefined) inNoContext(requireSchema, database)
    return (queries ??= createQueries(database))
  }

  return {
    write: (call, work) => queue.write(call, () => work(ready())),
    read: (call, work) => queue.read(call, () => work(ready())),
    bare: {
      write: (call, work) => queue.write(call, () => work(database)),
      read: (call, work) =>
        readOrRetry(call, () => {
          queue.endRead()
          requireNoTransaction(database)
          return work(database)
        }),
    },
    requireSameFiles: queue.requireSameFiles,
    endRead: queue.endRead,
  }
}
