import { UtilityApiError } from '../domain/errors.ts'
import type { AnyOperation } from '../operations/operation.ts'

/** Counts the requests under way, refuses those beyond the bound, and knows when all are done. */
export interface Gate {
  /** Does an operation's work while it is counted. Throws `unavailable` when there is no place, or no more work is taken. */
  pass<Value>(operation: AnyOperation, work: () => Promise<Value>): Promise<Value>
  /** Lets nobody in any more; resolves when everybody has left, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

/**
 * @param maxInFlight - How many requests may be under way that wait for networks, and how many that wait for storage: apart,
 * so that hanging lookups leave the others alone.
 */
export function createGate(maxInFlight: number): Gate {
  const inFlight = { storage: 0, network: 0 }
  let closed: PromiseWithResolvers<void> | undefined

  function leave(kind: keyof typeof inFlight): void {
    inFlight[kind] -= 1
    if (inFlight.storage + inFlight.network === 0) closed?.resolve()
  }

  return {
    async pass({ waitsFor }, work) {
      if (closed !== undefined) throw unavailable('The service is shutting down.')
      if (inFlight[waitsFor] >= maxInFlight) throw unavailable('Too many requests are under way.')
      inFlight[waitsFor] += 1
      try {
        return await work()
      } finally {
        leave(waitsFor)
      }
    },
    async close(timeoutMs) {
      closed ??= Promise.withResolvers()
      if (inFlight.storage + inFlight.network === 0) closed.resolve()
      const timer = setTimeout(closed.resolve, timeoutMs)
      await closed.promise
      clearTimeout(timer)
    },
  }
}

function unavailable(message: string): UtilityApiError {
  return new UtilityApiError('unavailable', message, { retryAfterSeconds: 1 })
}
