import type { Clock } from '../ports/clock.ts'
import { jsonSize } from './json-size.ts'

/** Keeps results for reuse, limited in number and size. */
export interface ResultCache<Value> {
  /** Returns the result kept under a key, unless it has expired. */
  get(key: string): Value | undefined
  /** Keeps a result for `lifetimeMs`, unless it is too large or `lifetimeMs` is 0 or less. */
  set(key: string, value: Value, lifetimeMs: number): void
  /** Drops all results, and keeps no more. */
  close(): void
  /** How many results are kept, and how many characters they take. */
  readonly size: { readonly results: number; readonly characters: number }
}

interface Kept<Value> {
  readonly value: Value
  /** The approximate number of characters of its key and its JSON. */
  readonly size: number
  /** When it was stored. It is not fresh before that either, because then the clock was set back. */
  readonly keptAt: number
  /** The first millisecond at which it is too old. */
  readonly expiresAt: number
}

/** The limits in characters of JSON: for all results together, and for a single one. */
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

export function createResultCache<Value>(clock: Clock): ResultCache<Value> {
  /** The results, oldest first. */
  const kept = new Map<string, Kept<Value>>()
  let characters = 0
  let sweeper: NodeJS.Timeout | undefined
  let closed = false

  function remove(key: string): void {
    characters -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }

  /** Removes the oldest results first, which are also roughly the first to expire. */
  function makeRoom(size: number): void {
    for (const key of kept.keys()) {
      if (kept.size < maxResults && characters + size <= maxSize) return
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
      const size = key.length + jsonSize(value, maxResultSize)
      if (size > maxResultSize) return
      makeRoom(size)
      const keptAt = clock.now()
      kept.set(key, { value, size, keptAt, expiresAt: keptAt + lifetimeMs })
      characters += size
      // Without this, a result that is not requested again would stay in an idle process forever.
      sweeper ??= setInterval(sweep, sweepIntervalMs).unref()
    },
    close() {
      closed = true
      for (const key of kept.keys()) remove(key)
      clearInterval(sweeper)
    },
    get size() {
      return { results: kept.size, characters }
    },
  }
}
