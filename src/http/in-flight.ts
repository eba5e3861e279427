import { refused, shuttingDown, type Refusal } from '../domain/errors.ts'

/** What the time of a request depends on: its operation, or a rate limiter that is asked about a refusal. */
export type WaitsFor = 'storage' | 'network' | 'rateLimiter'

/** A caller by the id that its scheme gives it. The two are not made into one text, which would cost more than the rest. */
export interface KnownCaller {
  readonly scheme: string
  readonly id: string
}

/** Counts the requests under way, refuses those beyond the limit, and knows when all are done. */
export interface InFlightLimit {
  /** Counts a request that has arrived in full, so that closing waits for it. Throws `unavailable` once closed. */
  begin(): void
  /** Stops counting a request, because it was answered. */
  end(): void
  /** Takes a place, for a caller or for a sender not known yet. Throws `unavailable` if none is free. */
  enter(waitsFor: WaitsFor, caller?: KnownCaller): void
  /** Gives the place back. */
  leave(waitsFor: WaitsFor, caller?: KnownCaller): void
  /** Lets no more requests begin. Resolves when all earlier ones are answered, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

const full: Refusal = { code: 'unavailable', message: 'Too many requests are under way.' }
const callerFull: Refusal = {
  code: 'unavailable',
  message: 'Too many requests of this caller are under way.',
}

/** The refusals of a service with too many requests under way. */
export const inFlightRefusals: readonly Refusal[] = [full, callerFull, shuttingDown]

/** Places of one kind. */
interface Pool {
  taken: number
  /** How many of them each caller has, by scheme and id. */
  readonly byScheme: Map<string, Map<string, number>>
}

/**
 * @param maxInFlight - How many requests may be under way that wait for networks, how many that wait for storage, and
 * how many refusals that wait for a rate limiter. They are counted separately, so that hanging lookups, and strangers
 * whom a hanging limiter is asked about, do not affect the others. One caller gets at most half of each.
 */
export function createInFlightLimit(maxInFlight: number): InFlightLimit {
  const pools: Readonly<Record<WaitsFor, Pool>> = {
    storage: emptyPool(),
    network: emptyPool(),
    rateLimiter: emptyPool(),
  }
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
  return { taken: 0, byScheme: new Map() }
}

function takeForCaller(pool: Pool, { scheme, id }: KnownCaller, most: number): void {
  const byId = callersOf(pool, scheme)
  const taken = byId.get(id) ?? 0
  if (taken >= most) throw unavailable(callerFull)
  byId.set(id, taken + 1)
}

function giveBack(pool: Pool, { scheme, id }: KnownCaller): void {
  const byId = callersOf(pool, scheme)
  const left = (byId.get(id) ?? 0) - 1
  if (left > 0) byId.set(id, left)
  else byId.delete(id)
}

function callersOf({ byScheme }: Pool, scheme: string): Map<string, number> {
  const known = byScheme.get(scheme)
  if (known !== undefined) return known
  const byId = new Map<string, number>()
  byScheme.set(scheme, byId)
  return byId
}

function unavailable(refusal: Refusal): Error {
  return refused(refusal, { retryAfterSeconds: 1 })
}
