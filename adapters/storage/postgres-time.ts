import { StorageError, type StorageCall } from 'utility-api/storage'

/** The longest that a timer of JavaScript waits. */
const longestTimeoutMs = 2 ** 31 - 1

/** The milliseconds that somebody still waits. Throws when nobody does: what was not sent is not sent. */
export function requireTime(call: StorageCall): number {
  const timeLeftMs = call.timeLeftMs()
  if (timeLeftMs > 0) return timeLeftMs
  throw nobodyWaits()
}

/** The refusal of what was not begun. */
export function nobodyWaits(): StorageError {
  const message = 'PostgreSQL: nobody waits for this call any more.'
  return new StorageError('unavailable', message, { retryable: true })
}

/** Resolves when the time of a call is over; one timer serves all that the call waits for. */
export type Over = Promise<undefined>

/** What comes of work, which may go on beyond its time; undefined when it does. Throws when there is no time at all. */
export async function inTime<Result>(
  call: StorageCall,
  work: (over: Over) => Promise<Result>,
): Promise<Result | undefined> {
  const timeLeftMs = requireTime(call)
  const { promise: over, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), Math.min(timeLeftMs, longestTimeoutMs))
  try {
    return await Promise.race([work(over), over])
  } finally {
    clearTimeout(timer)
  }
}
