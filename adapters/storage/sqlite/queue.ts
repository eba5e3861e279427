import { AsyncResource } from 'node:async_hooks'
import { StorageError, type StorageCall } from 'utility-api/storage'
import { nobodyWaits } from '../shared/call-time.ts'
import { inNoContext } from '../shared/no-context.ts'
import { nextTick, setImmediate, setTimeout } from '../shared/timers.ts'
import type { SqliteDatabase } from './driver.ts'
import { isBusy, toStorageError } from './errors.ts'
import { createFileCheck, type RequireSameFiles } from './file-identity.ts'

/** Limits how long one transaction can hold the event loop and the lock. */
const maxBatch = 500
/**
 * How long reads rely on a look at the file. One that was replaced hides revocations, but to look each time is costly.
 */
const maxLookAgeMs = 1000

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: StorageError) => void
  readonly call: StorageCall
  /** The async context of its caller. */
  readonly context: AsyncResource
  /** Why it is still in the queue, if it has been tried. */
  reason?: unknown
}

/** Runs work on a connection whatever tables it has. */
export interface SqliteQueue {
  write<Result>(call: StorageCall, work: () => Result): Promise<Result>
  read<Result>(call: StorageCall, work: () => Result): Result | Promise<Result>
  endRead(): void
  readonly requireSameFiles: RequireSameFiles
}

/**
 * Creates a queue with group commit. Writes that arrive together share a transaction, so that they share its wait for
 * the disk.
 *
 * The driver blocks the thread while it waits for a lock, so it hardly waits (`busy_timeout`). A batch that finds the
 * database busy goes back into the queue, and the event loop continues. A write whose call has run out of time leaves
 * the queue without being started.
 */
export function createSqliteQueue(database: SqliteDatabase): SqliteQueue {
  const requireSameFiles = createFileCheck(database)
  let jobs: Job[] = []
  let scheduled = false
  let hasTurned = true
  let reading = false

  function schedule(): void {
    if (scheduled || jobs.length === 0) return
    scheduled = true
    nextTick(gather)
  }

  /**
   * Commits now or waits for more. Writes of requests that are answered side by side arrive together, all by the end of
   * the tick. A single write waits for others in its turn. After an immediate commit, the event loop turns first,
   * because successive writes would block it.
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
    const commitBatch = (): readonly Job[] => commit(database, requireSameFiles, batch)
    const [first, second] = batch
    const undone =
      second === undefined ? first?.context.runInAsyncScope(commitBatch) : inNoContext(commitBatch)
    scheduled = false
    if (undone === undefined || undone.length === 0) return schedule()
    jobs = [...undone, ...jobs]
    scheduled = true
    setTimeout(flush, randomPauseMs())
  }

  function write<Result>(call: StorageCall, work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      jobs.push({ work, resolve, reject, call, context: new AsyncResource('utility-api') })
      schedule()
    })
  }

  /**
   * Begins a transaction that all reads share until the program returns to the event loop, so that they share its
   * locks. Until then, the program cannot learn of what others commit.
   */
  function beginRead(): void {
    requireNoTransaction(database, reading)
    if (reading) return
    requireSameFiles(maxLookAgeMs)
    inNoContext(() => database.exec('BEGIN'))
    reading = true
    nextTick(endRead)
  }

  function endRead(): void {
    if (!reading) return
    reading = false
    try {
      inNoContext(() => database.exec('COMMIT'))
    } catch {
      inNoContext(rollBack, database)
    }
  }

  function read<Result>(call: StorageCall, work: () => Result): Result | Promise<Result> {
    return readOrRetry(call, () => {
      beginRead()
      return work()
    })
  }

  return { write, read, endRead, requireSameFiles }
}

function randomPauseMs(): number {
  return 1 + Math.random() * 19
}

/** A job that the database refused, and why. */
interface Refused {
  readonly job: Job
  readonly reason: StorageError
}

/**
 * Commits a batch and settles its jobs, including those that were refused, because the row that one of them found in
 * its way may be a neighbor's, which is there only after the commit. Returns the jobs that found the database busy and
 * still have time.
 */
function commit(
  database: SqliteDatabase,
  requireSameFiles: RequireSameFiles,
  batch: readonly Job[],
  refused: readonly Refused[] = [],
): readonly Job[] {
  if (batch.length === 0) return refuse(refused)
  const everyone = [...batch, ...refused.map(({ job }) => job)]
  try {
    requireNoTransaction(database)
    // What is written to a lost log would be copied over the file when the connection closes.
    requireSameFiles()
    database.exec('BEGIN IMMEDIATE')
  } catch (error) {
    return isBusy(error) ? stillAwaited(everyone, error) : rejectAll(everyone, error)
  }
  const results: unknown[] = []
  try {
    for (const job of batch) results.push(job.context.runInAsyncScope(job.work))
  } catch (error) {
    rollBack(database)
    const reason = toStorageError(error)
    // A full disk or a lost file is not the fault of one statement, so the batch fails as a whole.
    if (reason.kind === 'unavailable') return rejectAll(everyone, reason)
    // One bad statement never makes its neighbors fail, because they run again without it.
    const job = batch[results.length] as Job
    return commit(database, requireSameFiles, batch.toSpliced(results.length, 1), [
      ...refused,
      { job, reason },
    ])
  }
  try {
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    return isBusy(error) ? stillAwaited(everyone, error) : rejectAll(everyone, error)
  }
  try {
    requireSameFiles()
  } catch (error) {
    return rejectAll(everyone, error)
  }
  batch.forEach((job, index) => job.resolve(results[index] as never))
  return refuse(refused)
}

function refuse(refused: readonly Refused[]): [] {
  for (const { job, reason } of refused) job.reject(reason)
  return []
}

/**
 * Rolls back. A full disk has already rolled back, and then ROLLBACK itself fails. One that fails for another reason is
 * repeated, because a transaction that stays open would be taken for the host's from then on.
 */
function rollBack(database: SqliteDatabase, attempts = 2): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    if (attempts > 1) rollBack(database, attempts - 1)
  }
}

function rejectAll(batch: readonly Job[], error: unknown): [] {
  for (const job of batch) job.reject(toStorageError(error))
  return []
}

/** Rejects the jobs that nobody waits for anymore, and returns the others. */
function stillAwaited(batch: readonly Job[], reason?: unknown): Job[] {
  return batch.filter((job) => {
    job.reason = reason ?? job.reason
    const awaited = job.call.timeLeftMs() > 0
    if (!awaited) job.reject(toStorageError(job.reason ?? nobodyWaits('SQLite')))
    return awaited
  })
}

/** Runs work at once. If the database is busy, tries again a little later. */
export function readOrRetry<Result>(
  call: StorageCall,
  work: () => Result,
  reason?: unknown,
): Result | Promise<Result> {
  if (call.timeLeftMs() <= 0) throw toStorageError(reason ?? nobodyWaits('SQLite'))
  try {
    return work()
  } catch (error) {
    if (!isBusy(error) || call.timeLeftMs() <= 0) throw toStorageError(error)
    return new Promise((resolve) => setTimeout(resolve, randomPauseMs())).then(() =>
      readOrRetry(call, work, error),
    )
  }
}

/**
 * Throws if the program that owns the connection has a transaction open on it, because what we read could be undone,
 * and what we write would be undone with it.
 *
 * Bun's statements outlive their connection, so in Bun this check also notices that the connection was closed.
 *
 * @param ours - Whether our own transaction is open.
 */
export function requireNoTransaction(database: SqliteDatabase, ours = false): void {
  const open = database.inTransaction === true || database.isTransaction === true
  if (!open || ours) return
  throw new StorageError(
    'bug',
    'A transaction of the host program is open on the connection the storage was given.',
  )
}
