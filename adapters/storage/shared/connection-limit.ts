import type { StorageCall } from 'utility-api/storage'
import { nobodyWaits, requireTime, within } from './call-time.ts'

/** A limit on how many connections of a pool are used at the same time. */
export interface ConnectionLimit {
  /** Runs work as soon as it may use a connection, in the order of the calls. Rejects if the call's time runs out first. */
  run<Result>(call: StorageCall, work: () => Promise<Result>): Promise<Result>
}

/** Creates a limit with this many places. `database` is for the error of a call whose time ran out. */
export function createConnectionLimit(places: number, database: string): ConnectionLimit {
  let free = places
  const waiting: Set<() => void> = new Set()

  async function take(call: StorageCall): Promise<void> {
    if (free > 0) {
      free -= 1
      return
    }
    requireTime(call, database)
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.add(resolve)
    // A call that others join has more time than it began with.
    // oxlint-disable-next-line no-await-in-loop -- as long as any of them waits
    while (waiting.has(resolve) && call.timeLeftMs() > 0) await within(call.timeLeftMs(), promise)
    // Callers that give up must not pile up while the places stay taken for a long time.
    if (waiting.delete(resolve)) throw nobodyWaits(database)
  }
  /** Gives a place back, to the caller that has waited longest. */
  function giveBack(): void {
    const [next] = waiting
    if (next === undefined) {
      free += 1
      return
    }
    waiting.delete(next)
    next()
  }
  return {
    async run(call, work) {
      await take(call)
      try {
        return await work()
      } finally {
        giveBack()
      }
    },
  }
}
