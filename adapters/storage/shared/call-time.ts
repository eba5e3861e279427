import { callWithin, StorageError, type StorageCall } from 'utility-api/storage'
import { clearTimeout, setTimeout } from './timers.ts'

/** The longest that a JavaScript timer can wait. */
const longestTimeoutMs = 2 ** 31 - 1
/** How long before its time a timer may end. */
const earlyMs = 50

/** How long a database that was asleep may take to give the first connection. */
const wakingMs = 30_000

/**
 * Returns the milliseconds that somebody still waits. Throws if nobody does, so what was not sent yet is never sent.
 */
export function requireTime(call: StorageCall, database: string): number {
  const timeLeftMs = call.timeLeftMs()
  if (timeLeftMs > 0) return timeLeftMs
  throw nobodyWaits(database)
}

/** Returns the refusal of work that was not begun. */
export function nobodyWaits(database: string): StorageError {
  const message = `${database}: nobody waits for this call any more.`
  return new StorageError('unavailable', message, { retryable: true })
}

/** Returns the result of work, or undefined if it takes longer than this time. The work itself may continue. */
export function within<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.min(timeoutMs, longestTimeoutMs), undefined)
    void work.then(resolve, reject).then(() => clearTimeout(timer))
  })
}

/** Returns the result of work, or throws if it takes longer than the call waits. The work itself may continue. */
export async function inTime<Result>(
  call: StorageCall,
  database: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const timeLeftMs = requireTime(call, database)
  const done = await within(
    timeLeftMs,
    work().then((result) => ({ result })),
  )
  if (done === undefined) throw new Error('There was no answer in the time that the call had.')
  return done.result
}

/**
 * Returns the result of work that ends with the time of its call, or undefined if that time is over. The work may be the
 * first to notice, and timers may be a little early.
 */
export async function inTimeOf<Result>(
  call: StorageCall,
  work: Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await within(call.timeLeftMs(), work)
  } catch (error) {
    if (call.timeLeftMs() > earlyMs) throw error
    return undefined
  }
}

/** Connects, and again while that takes longer than the pool waits for the sake of requests. */
export async function wake(
  connect: () => Promise<unknown>,
  tookTooLong: (error: unknown) => boolean,
  call: StorageCall = callWithin(wakingMs),
): Promise<void> {
  try {
    await connect()
  } catch (error) {
    if (call.timeLeftMs() <= 0 || !tookTooLong(error)) throw error
    await wake(connect, tookTooLong, call)
  }
}
