import { nobodyWaits, type Over } from './postgres-time.ts'

/** A bound on what goes on at once. */
export interface Semaphore {
  /** Resolves when there is a place, in the order of asking; rejects when the time is over before. */
  take(over: Over): Promise<void>
  /** Gives one to whoever has waited longest. */
  giveBack(): void
}

/** A semaphore of so many places. */
export function createSemaphore(count: number): Semaphore {
  let free = count
  const waiting: Set<() => void> = new Set()
  return {
    async take(over) {
      if (free > 0) {
        free -= 1
        return
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.add(resolve)
      // Those that have left must not pile up while the places stay taken for long.
      void over.then(() => {
        if (waiting.delete(resolve)) reject(nobodyWaits())
      })
      await promise
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
