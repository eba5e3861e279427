import { nextTick } from 'node:process'
import { StorageError, type StorageCall } from 'utility-api/storage'
import {
  createSqliteQueries,
  requireNoTransaction,
  type SqliteDatabase,
  type SqliteQueries,
} from './sqlite-driver.ts'
import { isBusy, toStorageError } from './sqlite-errors.ts'

/** Bounds how long one transaction can hold the event loop and the lock. */
const maxBatch = 500

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: StorageError) => void
  readonly call: StorageCall
}

/** How the methods of the store get at the connection: every write goes through `write`, every read through `read`. */
export interface SqliteAccess<Connection = SqliteQueries> {
  /** Runs `work` in a transaction of its own or in one with its neighbors; resolves after the commit. */
  write<Result>(call: StorageCall, work: (db: Connection) => Result): Promise<Result>
  /** Runs `work` at once; where the database is busy, again a little later. */
  read<Result>(call: StorageCall, work: (db: Connection) => Result): Result | Promise<Result>
}

/** The one way to a connection, and its end. */
export interface SqliteConnection extends SqliteAccess {
  /** The same way, closed by `close`. */
  readonly whileOpen: SqliteAccess
  /** The same way, whether the tables are there or not. */
  readonly bare: SqliteAccess<SqliteDatabase>
  /** Takes nothing more by `whileOpen`; resolves when what came that way is settled. */
  close(): Promise<void>
  /** Resolves when everything written so far is settled. */
  drain(): Promise<void>
}

/**
 * Group commit: writes that come together share a transaction, so that they share its wait for the disk.
 *
 * The driver blocks the thread while it waits for a lock, so it hardly waits (`busy_timeout`): a batch that finds the
 * database busy goes back into the queue and the event loop turns on. A write whose call has run out of time leaves the
 * queue before it has begun.
 */
export function createSqliteConnection(
  database: SqliteDatabase,
  requireSchema: (database: SqliteDatabase) => void,
): SqliteConnection {
  const queries = createSqliteQueries(database)
  let jobs: Job[] = []
  let scheduled = false
  let hasTurned = true
  let closed = false
  let schemaChecked = false
  let reading = false

  function requireOpen(): void {
    if (closed) throw new StorageError('unavailable', 'The storage is closed.')
  }

  /** The connection, once its tables are known to be those that the statements are for. */
  function ready(): SqliteQueries {
    if (!schemaChecked) requireSchema(database)
    schemaChecked = true
    return queries
  }

  function schedule(): void {
    if (scheduled || jobs.length === 0) return
    scheduled = true
    nextTick(gather)
  }

  /**
   * Writes of requests that are answered side by side come together, and are all there by the end of the tick. A single one
   * waits for others of its turn. After a commit at once the event loop turns first: writes that follow each other would
   * hold it.
   */
  function gather(): void {
    if (jobs.length === 1 || !hasTurned) return void setImmediate(flush)
    hasTurned = false
    setImmediate(() => {
      hasTurned = true
    })
    flush()
  }

  function flush(): void {
    endRead()
    const batch = stillAwaited(jobs.splice(0, maxBatch))
    const undone = commit(database, batch)
    scheduled = false
    if (undone.length === 0) return schedule()
    jobs = [...undone, ...jobs]
    scheduled = true
    setTimeout(flush, randomPauseMs())
  }

  function push<Result>(call: StorageCall, work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      jobs.push({ work, resolve, reject, call })
      schedule()
    })
  }

  const write: SqliteAccess['write'] = (call, work) => push(call, () => work(ready()))

  /**
   * Reads until the program goes back to the event loop share a transaction, so that they share its locks: nothing can be
   * heard of what others commit meanwhile.
   */
  function beginRead(): void {
    requireNoTransaction(database, reading)
    if (reading) return
    database.exec('BEGIN')
    reading = true
    nextTick(endRead)
  }

  function endRead(): void {
    if (!reading) return
    reading = false
    try {
      database.exec('COMMIT')
    } catch {} // Closed, or rolled back by an error of the disk.
  }

  const read: SqliteAccess['read'] = (call, work) =>
    readOrRetry(call, () => {
      const db = ready()
      beginRead()
      return work(db)
    })
  const drain = (): Promise<void> => push({ timeLeftMs: () => Infinity }, () => {}).catch(() => {})

  return {
    write,
    read,
    whileOpen: {
      async write(call, work) {
        requireOpen()
        return write(call, work)
      },
      read(call, work) {
        requireOpen()
        return read(call, work)
      },
    },
    bare: {
      write: (call, work) => push(call, () => work(database)),
      read: (call, work) =>
        readOrRetry(call, () => {
          endRead()
          requireNoTransaction(database)
          return work(database)
        }),
    },
    close() {
      closed = true
      return drain()
    },
    drain,
  }
}

function randomPauseMs(): number {
  return 1 + Math.random() * 19
}

/** Commits a batch and settles its jobs; returns those that found the database busy and still have time. */
function commit(database: SqliteDatabase, batch: readonly Job[]): readonly Job[] {
  if (batch.length === 0) return []
  try {
    requireNoTransaction(database)
    database.exec('BEGIN IMMEDIATE')
  } catch (error) {
    return isBusy(error) ? stillAwaited(batch, error) : rejectAll(batch, error)
  }
  const results: unknown[] = []
  try {
    for (const job of batch) results.push(job.work())
  } catch (error) {
    rollBack(database)
    const reason = toStorageError(error)
    // A full disk or a lost file is nobody's bad statement: the batch fails as one.
    if (reason.kind === 'unavailable') return rejectAll(batch, reason)
    // One bad statement never takes its neighbors down: they go again without it.
    batch[results.length]?.reject(reason)
    return commit(database, batch.toSpliced(results.length, 1))
  }
  try {
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    return isBusy(error) ? stillAwaited(batch, error) : rejectAll(batch, error)
  }
  batch.forEach((job, index) => job.resolve(results[index] as never))
  return []
}

/** A full disk has rolled back already, and then ROLLBACK itself fails. */
function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {}
}

function rejectAll(batch: readonly Job[], error: unknown): [] {
  for (const job of batch) job.reject(toStorageError(error))
  return []
}

/** Rejects the jobs that nobody waits for any more, and returns the others. */
function stillAwaited(batch: readonly Job[], reason?: unknown): Job[] {
  return batch.filter((job) => {
    const awaited = job.call.timeLeftMs() > 0
    if (!awaited) job.reject(toStorageError(reason ?? outOfTime()))
    return awaited
  })
}

function readOrRetry<Result>(call: StorageCall, work: () => Result): Result | Promise<Result> {
  if (call.timeLeftMs() <= 0) throw outOfTime()
  try {
    return work()
  } catch (error) {
    if (!isBusy(error) || call.timeLeftMs() <= 0) throw toStorageError(error)
    return new Promise((resolve) => setTimeout(resolve, randomPauseMs())).then(() => readOrRetry(call, work))
  }
}

function outOfTime(): StorageError {
  return new StorageError('unavailable', 'SQLite: nobody waits for this call any more.', { retryable: true })
}
