import { StorageError, type StorageCall } from 'utility-api/storage'
import { within } from './call-time.ts'

/** Returns the milliseconds that somebody still waits. Throws if nobody does: what was not sent yet is never sent. */
export function requireTime(call: StorageCall): number {
  const timeLeftMs = call.timeLeftMs()
  if (timeLeftMs > 0) return timeLeftMs
  throw nobodyWaits()
}

/** Returns the refusal of work that was not begun. */
export function nobodyWaits(): StorageError {
  return new StorageError('unavailable', 'MariaDB: nobody waits for this call any more.', { retryable: true })
}

/** Returns the result of work, or throws if it takes longer than the call waits. The work itself may continue. */
export async function inTime<Result>(call: StorageCall, work: () => Promise<Result>): Promise<Result> {
  const timeLeftMs = requireTime(call)
  const done = await within(
    timeLeftMs,
    work().then((result) => ({ result })),
  )
  if (done === undefined) throw new Error('There was no answer in the time that the call had.')
  return done.result
}
