import { closeConnection, refusal, refused, shuttingDown, type Refusal } from '../domain/errors.ts'
import { clearTimeout, setTimeout } from '../ports/timers.ts'
import { addressKey } from './address-key.ts'

/**
 * What the time of a request depends on: the look-up of its caller, its operation, or a rate limiter that is asked about
 * a refusal.
 */
export type WaitsFor = 'credentials' | 'storage' | 'network' | 'rateLimiter'

/** A caller by the id that its scheme gives it. The two are not made into one text, which would cost more than the rest. */
export interface KnownCaller {
  readonly scheme: string
  readonly id: string
  /** Who said the id, if anybody could have, because whoever knows one such id may know all of them. */
  readonly saidBy?: string
}

/** Returns whose share a request takes that names a caller and proves nothing: that of the caller at its address. */
export function unprovenCaller({ scheme, id }: KnownCaller, sender: Sender): KnownCaller {
  const address = senderOf(sender.ip)?.id
  return {
    scheme: `public_${scheme}`,
    id: address === undefined ? id : `${id} ${address}`,
    saidBy: address ?? id,
  }
}

/** Who sends a request, as far as the host knows. */
interface Sender {
  readonly ip?: string | undefined
}

/** Counts the requests under way, refuses those beyond the limit, and knows when all are done. */
export interface InFlightLimit {
  /** Counts a request that has arrived in full, so that closing waits for it. Throws `unavailable` once closed. */
  begin(): void
  /** Stops counting a request, because it was answered. */
  end(): void
  /**
   * Takes a place, for a caller if one is known. Throws `unavailable` if none is free. Callers that prove nothing have half
   * of the places together, as one caller that does, and a quarter by address.
   */
  enter(waitsFor: WaitsFor, caller?: KnownCaller): void
  /**
   * Takes a place for the look-up of a caller's credentials. Once half of the places are taken, the others are shared by
   * address where one is known, so that strangers at one address cannot have them all. Returns the caller to give the
   * place back for.
   */
  enterUnknown(sender: Sender): KnownCaller | undefined
  /**
   * Counts a request on its HTTP/1 connection. Returns a function that ends this, once the answer is written. Throws
   * `unavailable` if the connection has too many, because a client that sends requests and reads no answers would
   * otherwise fill the memory, without credentials.
   */
  enterConnection(connection: object): () => void
  /** Gives the place back. */
  leave(waitsFor: WaitsFor, caller?: KnownCaller): void
  /** Lets no more requests begin. Resolves when all earlier ones are answered, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

/** How many requests of one HTTP/1 connection may be under way at once. */
const mostPerConnection = 16

const full = refusal('unavailable', 'Too many requests are under way.')
const callerFull = refusal('unavailable', 'Too many requests from this caller are under way.')

const connectionOverrun = refusal('unavailable', 'Too many requests on this connection are under way.')

/** The refusals of a service with too many requests under way. */
export const inFlightRefusals: readonly Refusal[] = [full, callerFull, connectionOverrun, shuttingDown]

/** All callers that prove nothing. */
const unproven: KnownCaller = { scheme: 'unproven', id: '' }

/** Places of one kind. */
interface Pool {
  taken: number
  /** How many of them each caller has, by scheme and id. */
  readonly byScheme: Map<string, Map<string, number>>
}

/**
 * @param maxInFlight - How many requests may be under way that wait for networks, how many that wait for storage, how many
 * whose callers are looked up, and how many refusals that wait for a rate limiter. They are counted separately, so that
 * hanging lookups, and strangers, do not affect the others. One caller gets at most half of each.
 */
export function createInFlightLimit(maxInFlight: number): InFlightLimit {
  const pools: Readonly<Record<WaitsFor, Pool>> = {
    credentials: emptyPool(),
    storage: emptyPool(),
    network: emptyPool(),
    rateLimiter: emptyPool(),
  }
  const byConnection = new WeakMap<object, { requests: number }>()
  const maxPerCaller = Math.max(1, Math.floor(maxInFlight / 2))
  const maxPerStranger = Math.max(1, Math.floor(maxPerCaller / 2))
  let underWay = 0
  let closed: PromiseWithResolvers<void> | undefined

  function take(pool: Pool, caller: KnownCaller | undefined, most: number): void {
    if (pool.taken >= maxInFlight) throw unavailable(full)
    if (caller !== undefined) takeForCaller(pool, caller, most)
    pool.taken += 1
  }

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
      if (caller?.saidBy === undefined) return take(pool, caller, maxPerCaller)
      takeForCaller(pool, unproven, maxPerCaller)
      try {
        take(pool, placeOf(caller), maxPerStranger)
      } catch (error) {
        giveBack(pool, unproven)
        throw error
      }
    },
    enterUnknown(sender) {
      const pool = pools.credentials
      // Hosts may take long to find out an address.
      const caller = pool.taken < maxPerCaller ? undefined : senderOf(sender.ip)
      take(pool, caller, maxPerStranger)
      return caller
    },
    enterConnection(connection) {
      const underWayThere = byConnection.get(connection) ?? { requests: 0 }
      if (underWayThere.requests === 0) byConnection.set(connection, underWayThere)
      if (underWayThere.requests >= mostPerConnection)
        throw refused(connectionOverrun, { ...closeConnection, retryAfterSeconds: 1 })
      underWayThere.requests += 1
      return () => void (underWayThere.requests -= 1)
    },
    leave(waitsFor, caller) {
      const pool = pools[waitsFor]
      pool.taken -= 1
      if (caller !== undefined) giveBack(pool, placeOf(caller))
      if (caller?.saidBy !== undefined) giveBack(pool, unproven)
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

function placeOf(caller: KnownCaller): KnownCaller {
  return caller.saidBy === undefined ? caller : { scheme: 'unproven', id: caller.saidBy }
}

function senderOf(ip: unknown): KnownCaller | undefined {
  // In JavaScript, a host may pass null or a list for what it does not know.
  return typeof ip === 'string' ? { scheme: 'address', id: addressKey(ip) } : undefined
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

function unavailable(why: Refusal): Error {
  return refused(why, { retryAfterSeconds: 1 })
}
