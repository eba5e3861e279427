import type { Clock } from '../ports/clock.ts'
import { clearInterval, setInterval } from '../ports/timers.ts'

/** Keeps results for reuse, limited in number and size. */
export interface ResultCache<Value extends { readonly octets: number }> {
  /** Returns the result kept under a key, unless it has expired. */
  get(key: string): Value | undefined
  /** Keeps a result for `lifetimeMs`, unless it is too large or `lifetimeMs` is 0 or less. */
  set(key: string, value: Value, lifetimeMs: number): void
  /** Drops all results, and keeps no more. */
  close(): void
  /** How many results are kept, and how many octets they take. */
  readonly size: { readonly results: number; readonly octets: number }
}

/** Returns the key of a caller's result, because one who is answered at once would learn what another has asked. */
export function keptFor(caller: string, key: string): string {
  return `${caller} ${key}`
}

interface Kept<Value> {
  readonly value: Value
  /** The octets of its key and of the result. */
  readonly size: number
  /** When it was stored. It is not fresh before that either, because then the clock was set back. */
  readonly keptAt: number
  /** The first millisecond at which it is too old. */
  readonly expiresAt: number
}

/** The limits in octets: for all results together, and for a single one. */
const maxSize = 16 * 1024 * 1024
const maxResultSize = 64 * 1024
const maxResults = 1000
const sweepIntervalMs = 1000

function isFresh({ keptAt, expiresAt }: Omit<Kept<unknown>, 'value'>, now: number): boolean {
  return keptAt <= now && now < expiresAt
}

/** A clock of the host that throws would end the process here. Without a time, nothing is fresh. */
function timeOf(clock: Clock): number {
  try {
    return clock.now()
  } catch {
    return Number.NaN
  }
}

export function createResultCache<Value extends { readonly octets: number }>(
  clock: Clock,
): ResultCache<Value> {
  /** The results, oldest first. */
  const kept = new Map<string, Kept<Value>>()
  let octets = 0
  let sweeper: NodeJS.Timeout | undefined
  let closed = false

  function remove(key: string): void {
    octets -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }

  /** Removes the oldest results first, which are also roughly the first to expire. */
  function makeRoom(size: number): void {
    for (const key of kept.keys()) {
      if (kept.size < maxResults && octets + size <= maxSize) return
      remove(key)
    }
  }

  function sweep(): void {
    const now = timeOf(clock)
    for (const [key, result] of kept) if (!isFresh(result, now)) remove(key)
    if (kept.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  return {
    get(key) {
      const hit = kept.get(key)
      return hit !== undefined && isFresh(hit, clock.now()) ? hit.value : undefined
    },
    set(key, value, lifetimeMs) {
      remove(key)
      if (closed || lifetimeMs <= 0) return
      const size = key.length + value.octets
      if (size > maxResultSize) return
      makeRoom(size)
      const keptAt = clock.now()
      kept.set(key, { value, size, keptAt, expiresAt: keptAt + lifetimeMs })
      octets += size
      // Without this, a result that is not requested again would stay in an idle process forever.
      sweeper ??= setInterval(sweep, sweepIntervalMs).unref()
    },
    close() {
      closed = true
      for (const key of kept.keys()) remove(key)
      clearInterval(sweeper)
    },
    get size() {
      return { results: kept.size, octets }
    },
  }
}
