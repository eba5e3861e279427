import type { StorageError } from 'utility-api/storage'
import { isBusy, requireNoTransaction, toStorageError, type SqliteDatabase } from './sqlite-driver.ts'

/** How long a busy database is tried again before the caller is told. */
const busyDeadlineMs = 5000
/** Bounds how long one transaction can hold the event loop and the lock. */
const maxBatch = 500

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: StorageError) => void
  readonly deadline: number
}

/** The one way to a connection: every write goes through `write`, every read through `read`. */
export interface SqliteQueue {
  /** Runs `work` in a transaction of its own or in one with its neighbours; resolves after the commit. */
  write<Result>(work: () => Result): Promise<Result>
  /** Runs `work` at once; where the database is busy, again a little later. */
  read<Result>(work: () => Result): Result | Promise<Result>
  /** Resolves when everything written so far is settled. */
  drain(): Promise<void>
}

/**
 * Group commit: all writes of one turn of the event loop share a transaction, so that they share its wait for the disk.
 *
 * The driver blocks the thread while it waits for a lock, so it hardly waits (`busy_timeout`): a batch that finds the
 * database busy goes back into the queue and the event loop turns on.
 */
export function createSqliteQueue(database: SqliteDatabase): SqliteQueue {
  let jobs: Job[] = []
  let scheduled = false

  function schedule(): void {
    if (scheduled || jobs.length === 0) return
    scheduled = true
    setImmediate(flush)
  }

  function flush(): void {
    const batch = jobs.splice(0, maxBatch)
    const undone = commit(database, batch)
    scheduled = false
    if (undone.length === 0) return schedule()
    jobs = [...undone, ...jobs]
    scheduled = true
    setTimeout(flush, randomPauseMs())
  }

  function write<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      jobs.push({ work, resolve, reject, deadline: performance.now() + busyDeadlineMs })
      schedule()
    })
  }

  return {
    write,
    read: (work) => readOrRetry(database, work, performance.now() + busyDeadlineMs),
    drain: () => write(() => {}).catch(() => {}),
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
    return isBusy(error) ? rejectLate(batch, error) : rejectAll(batch, error)
  }
  const results: unknown[] = []
  try {
    for (const job of batch) results.push(job.work())
  } catch (error) {
    rollBack(database)
    const reason = toStorageError(error)
    // A full disk or a lost file is nobody's bad statement: the batch fails as one.
    if (reason.kind === 'unavailable') return rejectAll(batch, reason)
    // One bad statement never takes its neighbours down: they go again without it.
    batch[results.length]?.reject(reason)
    return commit(database, batch.toSpliced(results.length, 1))
  }
  try {
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    return isBusy(error) ? rejectLate(batch, error) : rejectAll(batch, error)
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

function rejectLate(batch: readonly Job[], error: unknown): Job[] {
  const now = performance.now()
  const late = batch.filter((job) => job.deadline <= now)
  rejectAll(late, error)
  return batch.filter((job) => job.deadline > now)
}

function readOrRetry<Result>(
  database: SqliteDatabase,
  work: () => Result,
  deadline: number,
): Result | Promise<Result> {
  try {
    requireNoTransaction(database)
    return work()
  } catch (error) {
    if (!isBusy(error) || performance.now() >= deadline) throw toStorageError(error)
    return new Promise((resolve) => setTimeout(resolve, randomPauseMs())).then(() =>
      readOrRetry(database, work, deadline),
    )
  }
}
