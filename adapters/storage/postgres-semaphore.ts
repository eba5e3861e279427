import type { StorageCall } from 'utility-api/storage'
import { nobodyWaits, requireTime, within } from './postgres-time.ts'

/** A bound on what goes on at once. */
export interface Semaphore {
  /** Resolves when there is a place, in the order of asking; rejects when the time is over before. */
  take(call: StorageCall): Promise<void>
  /** Gives one to whoever has waited longest. */
  giveBack(): void
}

/** A semaphore of so many places. */
export function createSemaphore(count: number): Semaphore {
  let free = count
  const waiting: Set<() => void> = new Set()
  return {
    async take(call) {
      if (free > 0) {
        free -= 1
        return
      }
      const timeLeftMs = requireTime(call)
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add(resolve)
      await within(timeLeftMs, promise)
      // Those that leave must not pile up while the places stay taken for long.
      if (waiting.delete(resolve)) throw nobodyWaits()
    },
    giveBack() {
      const [next] = waiting
      if (next === undefined) {
        free += 1
        return
      }
      waiting.delete(next)
      next()
    },
  }
}
