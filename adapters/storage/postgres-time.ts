import { StorageError, type StorageCall } from 'utility-api/storage'

/** Returns the milliseconds that somebody still waits. Throws if nobody does: what was not sent yet is never sent. */
export function requireTime(call: StorageCall): number {
  const timeLeftMs = call.timeLeftMs()
  if (timeLeftMs > 0) return timeLeftMs
  throw nobodyWaits()
}

/** Returns the refusal of work that was not begun. */
export function nobodyWaits(): StorageError {
  const message = 'PostgreSQL: nobody waits for this call any more.'
  return new StorageError('unavailable', message, { retryable: true })
}
