import type { StorageCall } from 'utility-api/storage'
import { nobodyWaits, requireTime, within } from './call-time.ts'

/** A limit on how much runs at the same time. */
export interface Semaphore {
  /** Resolves when there is a place, in the order of the calls. Rejects if the call's time runs out first. */
  take(call: StorageCall): Promise<void>
  /** Gives a place back, to the caller that has waited longest. */
  giveBack(): void
}

/** Creates a semaphore with this many places. `database` is for the error of a call whose time ran out. */
export function createSemaphore(count: number, database: string): Semaphore {
  let free = count
  const waiting: Set<() => void> = new Set()
  return {
    async take(call) {
      if (free > 0) {
        free -= 1
        return
      }
      const timeLeftMs = requireTime(call, database)
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add(resolve)
      await within(timeLeftMs, promise)
      // Callers that give up must not pile up while the places stay taken for a long time.
      if (waiting.delete(resolve)) throw nobodyWaits(database)
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
