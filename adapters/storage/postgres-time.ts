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

/** What comes of work, which may go on beyond this time; undefined when it does. */
export function within<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), Math.min(timeoutMs, longestTimeoutMs))
    work.then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error: Error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
