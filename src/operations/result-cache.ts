import type { Clock } from '../ports/clock.ts'
import { jsonSize } from './json-size.ts'

/** Results to be given out again for a while, bounded in number and size. */
export interface ResultCache<Value> {
  /** The result kept under a key, unless it has expired. */
  get(key: string): Value | undefined
  /** Keeps a result for `lifetimeMs`, unless it is too large; at 0 or below not at all. */
  set(key: string, value: Value, lifetimeMs: number): void
  /** How many results are kept, and how much they take. */
  readonly size: { readonly results: number; readonly characters: number }
}

interface Kept<Value> {
  readonly value: Value
  /** Characters of its JSON, more or less. */
  readonly size: number
  /** When it was kept; earlier than that it is not either, for then the clock was set back. */
  readonly keptAt: number
  /** First millisecond in which it is too old. */
  readonly expiresAt: number
}

/** In characters of JSON: all results together, and the largest that is kept at all. */
const maxSize = 16 * 1024 * 1024
const maxResultSize = 64 * 1024
const maxResults = 1000
const sweepIntervalMs = 1000

function isFresh({ keptAt, expiresAt }: Omit<Kept<unknown>, 'value'>, now: number): boolean {
  return keptAt <= now && now < expiresAt
}

export function createResultCache<Value>(clock: Clock): ResultCache<Value> {
  /** The oldest first. */
  const kept = new Map<string, Kept<Value>>()
  let characters = 0
  let sweeper: NodeJS.Timeout | undefined

  function remove(key: string): void {
    characters -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }

  /** The oldest go first; they are also the first to expire, near enough. */
  function makeRoom(size: number): void {
    for (const key of kept.keys()) {
      if (kept.size < maxResults && characters + size <= maxSize) return
      remove(key)
    }
  }

  function sweep(): void {
    const now = clock.now()
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
      if (lifetimeMs <= 0) return
      const size = key.length + jsonSize(value, maxResultSize)
      if (size > maxResultSize) return
      makeRoom(size)
      const keptAt = clock.now()
      kept.set(key, { value, size, keptAt, expiresAt: keptAt + lifetimeMs })
      characters += size
      // What is kept and not asked for again would else stay for good in a process that idles.
      sweeper ??= setInterval(sweep, sweepIntervalMs).unref()
    },
    get size() {
      return { results: kept.size, characters }
    },
  }
}
