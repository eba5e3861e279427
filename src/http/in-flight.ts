import { refused, shuttingDown, type Refusal } from '../domain/errors.ts'

/** What the time of a request depends on. */
export type WaitsFor = 'storage' | 'network'

/** Counts the requests under way, refuses those beyond the bound, and knows when all are done. */
export interface InFlightLimit {
  /** A request has come in whole: closing waits for it from now on. Throws `unavailable` once it is closed. */
  begin(): void
  /** It is answered. */
  end(): void
  /** Takes a place, for somebody who is not known yet, or for a caller. Throws `unavailable` where there is none. */
  enter(waitsFor: WaitsFor, caller?: string): void
  /** Gives it back. */
  leave(waitsFor: WaitsFor, caller?: string): void
  /** Lets no request begin any more; resolves when all that have begun are answered, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

const full: Refusal = { code: 'unavailable', message: 'Too many requests are under way.' }
const callerFull: Refusal = {
  code: 'unavailable',
  message: 'Too many requests of this caller are under way.',
}

/** What is refused where too much is under way. */
export const inFlightRefusals: readonly Refusal[] = [full, callerFull, shuttingDown]

/** Places of one kind. */
interface Pool {
  taken: number
  /** How many each caller has of them. */
  readonly byCaller: Map<string, number>
}

/**
 * @param maxInFlight - How many requests may be under way that wait for networks, and how many that wait for storage: apart,
 * so that hanging lookups leave the others alone. One caller gets half of either at most.
 */
export function createInFlightLimit(maxInFlight: number): InFlightLimit {
  const pools: Readonly<Record<WaitsFor, Pool>> = { storage: emptyPool(), network: emptyPool() }
  const maxPerCaller = Math.max(1, Math.floor(maxInFlight / 2))
  let underWay = 0
  let closed: PromiseWithResolvers<void> | undefined

  return {
    begin() {
      if (closed !== undefined) throw unavailable(shuttingDown)
      underWay += 1
    },
    end() {
      underWay -= 1
      if (underWay === 0) closed?.resolve()
    },
    enter(waitsFor, caller) {
      const pool = pools[waitsFor]
      if (pool.taken >= maxInFlight) throw unavailable(full)
      if (caller !== undefined) takeForCaller(pool, caller, maxPerCaller)
      pool.taken += 1
    },
    leave(waitsFor, caller) {
      const pool = pools[waitsFor]
      pool.taken -= 1
      if (caller !== undefined) giveBack(pool, caller)
    },
    async close(timeoutMs) {
      closed ??= Promise.withResolvers()
      if (underWay === 0) closed.resolve()
      const timer = setTimeout(closed.resolve, timeoutMs)
      await closed.promise
      clearTimeout(timer)
    },
  }
}

function emptyPool(): Pool {
  return { taken: 0, byCaller: new Map() }
}

function takeForCaller({ byCaller }: Pool, caller: string, most: number): void {
  const taken = byCaller.get(caller) ?? 0
  if (taken >= most) throw unavailable(callerFull)
  byCaller.set(caller, taken + 1)
}

function giveBack({ byCaller }: Pool, caller: string): void {
  const left = (byCaller.get(caller) ?? 0) - 1
  if (left > 0) byCaller.set(caller, left)
  else byCaller.delete(caller)
}

function unavailable(refusal: Refusal): Error {
  return refused(refusal, { retryAfterSeconds: 1 })
}
