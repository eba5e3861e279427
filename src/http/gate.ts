import { UtilityApiError } from '../domain/errors.ts'
import type { AnyOperation } from '../operations/operation.ts'

/** Counts the requests under way, refuses those beyond the bound, and knows when all are done. */
export interface Gate {
  /** Lets a request in and returns what it must call when it leaves. Throws `unavailable` when full or closed. */
  enter(operation: AnyOperation): () => void
  /** Lets nobody in any more; resolves when everybody has left, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

/**
 * @param maxInFlight - How many requests may be under way that wait for networks, and how many that wait for storage: apart,
 * so that hanging lookups leave the others alone.
 */
export function createGate(maxInFlight: number): Gate {
  const inFlight = { storage: 0, network: 0 }
  let onEmpty: (() => void) | null = null

  return {
    enter({ waitsFor }) {
      if (onEmpty !== null) throw unavailable('The service is shutting down.')
      if (inFlight[waitsFor] >= maxInFlight) throw unavailable('Too many requests are under way.')
      inFlight[waitsFor] += 1
      return () => {
        inFlight[waitsFor] -= 1
        if (inFlight.storage + inFlight.network === 0) onEmpty?.()
      }
    },
    close: (timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, timeoutMs)
        onEmpty = () => {
          clearTimeout(timer)
          resolve()
        }
        if (inFlight.storage + inFlight.network === 0) onEmpty()
      }),
  }
}

function unavailable(message: string): UtilityApiError {
  return new UtilityApiError('unavailable', message, { retryAfterSeconds: 1 })
}
