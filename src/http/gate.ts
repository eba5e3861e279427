import { UtilityApiError } from '../domain/errors.ts'
import type { AnyOperation } from '../operations/operation.ts'

/** Counts the requests under way, refuses those beyond the bound, and knows when all are done. */
export interface Gate {
  /** Counts an operation's work from now on. Throws `unavailable` when there is no place, or no more work is taken. */
  enter(operation: AnyOperation): void
  /** To be called when that work is done. */
  leave(operation: AnyOperation): void
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

  return {
    enter({ waitsFor }) {
      if (closed !== undefined) throw unavailable('The service is shutting down.')
      if (inFlight[waitsFor] >= maxInFlight) throw unavailable('Too many requests are under way.')
      inFlight[waitsFor] += 1
    },
    leave({ waitsFor }) {
      inFlight[waitsFor] -= 1
      if (inFlight.storage + inFlight.network === 0) closed?.resolve()
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
