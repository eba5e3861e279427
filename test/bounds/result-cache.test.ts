import { fixedClock } from 'utility-api/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { createResultCache } from '../../src/bounds/result-cache.ts'

const clock = fixedClock()
/** A result of so many octets. */
interface Result {
  readonly octets: number
}

const cacheOf = () => createResultCache<Result>(clock)
const one: Result = { octets: 3 }
const other: Result = { octets: 5 }
const mebibyte = 1024 * 1024

afterEach(() => void vi.useRealTimers())

test('a result is given out again within its lifetime, and not a millisecond longer', () => {
  const cache = cacheOf()
  cache.set('a', one, 1000)
  clock.advance(999)
  expect(cache.get('a')).toBe(one)
  clock.advance(1)
  expect(cache.get('a')).toBeUndefined()
})

test('a clock that is set back makes no result live longer', () => {
  const cache = cacheOf()
  cache.set('a', one, 1000)
  clock.advance(-3_600_000)
  expect(cache.get('a')).toBeUndefined()
  clock.advance(3_600_000)
})

test('a new result replaces the previous one, and one without a lifetime removes it', () => {
  const cache = cacheOf()
  cache.set('a', one, 1000)
  cache.set('a', other, 1000)
  expect(cache.get('a')).toBe(other)
  expect(cache.size.results).toBe(1)
  cache.set('a', other, 0)
  expect(cache.get('a')).toBeUndefined()
  expect(cache.size).toStrictEqual({ results: 0, octets: 0 })
})

test('no more than a thousand results are kept: the oldest is forgotten first', () => {
  const cache = cacheOf()
  for (let key = 0; key <= 1000; key += 1) cache.set(String(key), one, 1000)
  expect(cache.size.results).toBe(1000)
  expect(cache.get('0')).toBeUndefined()
  expect(cache.get('1')).toBe(one)
})

test('all results together take at most 16 MiB', () => {
  const cache = cacheOf()
  let most = 0
  for (let key = 0; key < 900; key += 1) {
    cache.set(String(key), { octets: 60 * 1024 }, 1000)
    most = Math.max(most, cache.size.octets)
  }
  expect(most).toBeLessThanOrEqual(16 * mebibyte)
  expect(most).toBeGreaterThan(15.9 * mebibyte)
  expect(cache.get('899')).toBeDefined()
})

test('a result of more than 64 KiB is not kept, nor is the one that it replaces', () => {
  const cache = cacheOf()
  cache.set('a', one, 1000)
  cache.set('a', { octets: 64 * 1024 }, 1000)
  expect(cache.get('a')).toBeUndefined()
  expect(cache.size).toStrictEqual({ results: 0, octets: 0 })
})

test('expired results are forgotten without a request, and then no timer is left', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const cache = cacheOf()
  cache.set('short', one, 1000)
  cache.set('long', one, 5000)
  clock.advance(1000)
  vi.advanceTimersByTime(1000)
  expect(cache.size.results).toBe(1)
  clock.advance(4000)
  vi.advanceTimersByTime(1000)
  expect(cache.size).toStrictEqual({ results: 0, octets: 0 })
  expect(vi.getTimerCount()).toBe(0)
  cache.set('again', one, 1000)
  clock.advance(1000)
  vi.advanceTimersByTime(1000)
  expect(cache.size.results).toBe(0)
})

test('a clock that throws ends no process: what was kept is forgotten', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let fails = false
  const cache = createResultCache<Result>({
    now() {
      if (fails) throw new Error('clock')
      return 0
    },
  })
  cache.set('a', one, 60_000)
  fails = true
  vi.advanceTimersByTime(1000)
  expect(cache.size).toStrictEqual({ results: 0, octets: 0 })
  expect(vi.getTimerCount()).toBe(0)
})

test('kept results keep no process alive', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const before = timers()
  cacheOf().set('a', one, 1000)
  expect(timers()).toBe(before)
})

test('a closed cache keeps nothing, neither results nor its timer', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const cache = cacheOf()
  cache.set('a', one, 86_400_000)
  cache.set('b', other, 86_400_000)
  cache.close()
  expect(cache.size).toStrictEqual({ results: 0, octets: 0 })
  // A check may end after it.
  cache.set('a', one, 86_400_000)
  expect(cache.get('a')).toBeUndefined()
  expect(vi.getTimerCount()).toBe(0)
})
