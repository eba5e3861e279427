import type { DnsCheckResult, DnsStatus } from 'utility-api'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createWatch, type Awaited, type Watch } from '../../../adapters/cli/lookups/dns-watch.ts'

type Said = readonly string[] | DnsStatus

const ttl = 300
const ipOf = (place: string): string => `192.0.2.${place.charCodeAt(0)}`

function result(place: string, said: Said): DnsCheckResult {
  const ips = typeof said === 'string' ? [] : said
  const records = ips.map((ip) => ({ type: 'A', host: 'example.com', ttl, ip }) as const)
  const status = typeof said === 'string' ? said : 'NOERROR'
  const where = { location: place, ip: ipOf(place), provider: place, latency_ms: 1 }
  const negative = status === 'NXDOMAIN' ? { negative_ttl: ttl } : {}
  return { ...where, ...negative, dns_results: records, resolved: records.length > 0, status }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 })
  onTestFinished(() => void vi.useRealTimers())
})

/** Tells whether the watch is over with a check that ends at a second. */
function isOverAt(
  watch: Watch,
  second: number,
  answers: Readonly<Record<string, Said>>,
  authorities: readonly string[] = [],
): boolean {
  vi.setSystemTime(second * 1000)
  watch.compare(
    Object.entries(answers).map(([place, said]) => result(place, said)),
    authorities.map(ipOf),
  )
  return watch.isOver()
}

const [old, moved] = [['192.0.2.7'], ['192.0.2.80']]
const watches: Record<string, Awaited> = {
  'what is expected': { expected: moved },
  'what is contained': { contains: moved },
  'any change': {},
}

describe.each(Object.entries(watches))('a watch for %s', (_, awaited) => {
  const watch = (): Watch => createWatch('A', awaited)

  test('ends when all have it, and the old answers have expired', () => {
    const it = watch()
    expect(isOverAt(it, 0, { a: old, b: old })).toBe(false)
    expect(isOverAt(it, 10, { a: moved, b: old })).toBe(false)
    // Another cache behind the same address may have the old answer still.
    expect(isOverAt(it, 20, { a: moved, b: moved })).toBe(false)
    expect(isOverAt(it, 10 + ttl, { a: moved, b: moved })).toBe(false)
    expect(isOverAt(it, 11 + ttl, { a: moved, b: moved })).toBe(true)
  })

  test.each<DnsStatus>(['TIMEOUT', 'REFUSED'])(
    'waits for one that has old answers, and then says %s',
    (status) => {
      const it = watch()
      expect(isOverAt(it, 0, { a: old, b: old })).toBe(false)
      expect(isOverAt(it, ttl, { a: moved, b: status })).toBe(false)
      expect(isOverAt(it, 1 + ttl, { a: moved, b: status })).toBe(true)
    },
  )

  test('waits for one that fails, and for each of the zone’s own servers', () => {
    const it = watch()
    const isOver = (second: number, answers: Readonly<Record<string, Said>>): boolean =>
      isOverAt(it, second, answers, ['ns'])
    expect(isOver(0, { ns: old, a: old })).toBe(false)
    expect(isOver(1000, { ns: moved, a: 'SERVFAIL' })).toBe(false)
    expect(isOver(2000, { ns: 'REFUSED', a: moved })).toBe(false)
    expect(isOver(3000, { ns: moved, a: moved })).toBe(true)
  })

  test('waits for what a server said that the zone has no more', () => {
    const it = watch()
    expect(isOverAt(it, 0, { before: old, a: old }, ['before'])).toBe(false)
    expect(isOverAt(it, 100, { before: old, a: moved }, ['before'])).toBe(false)
    // Others may have asked the old server at the same moment, and their caches need not have answered here.
    expect(isOverAt(it, 2 + ttl, { now: moved, a: moved }, ['now'])).toBe(false)
    expect(isOverAt(it, 101 + ttl, { now: moved, a: moved }, ['now'])).toBe(true)
  })
})

test.each<[string, Said, Said]>([
  ['a deletion', old, 'NXDOMAIN'],
  ['a name that appears', 'NXDOMAIN', moved],
])('a watch for any change sees %s', (_, before, after) => {
  const watch = createWatch('A', {})
  expect(isOverAt(watch, 0, { a: before, b: 'TIMEOUT' })).toBe(false)
  expect(isOverAt(watch, 10, { a: after, b: 'TIMEOUT' })).toBe(false)
  expect(isOverAt(watch, 400, { a: after, b: 'TIMEOUT' })).toBe(true)
})

test('parts of the new set that rotate are not waited for', () => {
  const watch = createWatch('A', {})
  const parts = [
    ['192.0.2.1', '192.0.2.2'],
    ['192.0.2.2', '192.0.2.3'],
  ] as const
  expect(isOverAt(watch, 0, { a: old, b: old })).toBe(false)
  expect(isOverAt(watch, ttl, { a: parts[0], b: parts[1] })).toBe(false)
  expect(isOverAt(watch, 2 + ttl, { a: parts[1], b: parts[0] })).toBe(true)
})
