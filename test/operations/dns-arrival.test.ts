import { summarizeDnsCheck, type DnsArrivalSummary, type DnsCheckResult, type DnsStatus } from 'utility-api'
import { describe, expect, test } from 'vitest'
import { simulate } from './support/simulated-change.ts'

type Said = readonly [ip: string, ttl: number] | DnsStatus
const [old, moved] = [['192.0.2.7', 300] as const, ['192.0.2.80', 300] as const]

function result(place: string, said: Said): DnsCheckResult {
  const records =
    typeof said === 'string' ? [] : [{ type: 'A' as const, host: 'example.com', ttl: said[1], ip: said[0] }]
  const status = typeof said === 'string' ? said : 'NOERROR'
  const where = { location: place, ip: `2001:DB8::${place.charCodeAt(0)}`, provider: 'Someone' }
  return { ...where, dns_results: records, resolved: records.length > 0, status, latency_ms: 0 }
}

/** The last summary of checks that ended so many seconds after the first, each told of the one before as JSON. */
function summaryAfter(
  checks: readonly (readonly [second: number, answers: Readonly<Record<string, Said>>])[],
  authorities: readonly string[] = [],
): DnsArrivalSummary {
  let previous: DnsArrivalSummary | undefined
  for (const [second, answers] of checks) {
    const results = Object.entries(answers).map(([place, said]) => result(place, said))
    const summary = summarizeDnsCheck(results, {
      recordType: 'A',
      expected: ['192.0.2.80'],
      authorities: authorities.map((place) => `2001:db8:0::${place.charCodeAt(0)}`),
      at: new Date(second * 1000),
      previous,
    })
    previous = JSON.parse(JSON.stringify(summary)) as DnsArrivalSummary
  }
  return previous as DnsArrivalSummary
}

const places = (results: readonly DnsCheckResult[]): string[] => results.map(({ location }) => location)

describe('a location that gave the old records', () => {
  const first = [0, { a: moved, b: old }] as const

  test.each<DnsStatus>(['TIMEOUT', 'UNREACHABLE', 'REFUSED', 'FORMERR'])(
    'and then %s is waited for until they must be gone, and then ignored',
    (status) => {
      const before = summaryAfter([first, [290, { a: moved, b: status }]])
      expect(before).toMatchObject({ verdict: 'partly', longestTtlSeconds: 10 })
      expect(places(before.blocking)).toEqual(['b'])
      // Its TTL may have been rounded down.
      expect(summaryAfter([first, [300.9, { a: moved, b: status }]]).verdict).toBe('partly')
      const after = summaryAfter([first, [301, { a: moved, b: status }]])
      expect(after).toMatchObject({ verdict: 'arrived', blocking: [], longestTtlSeconds: null })
      expect(places(after.unanswered)).toEqual(['b'])
    },
  )

  test('and then the new ones has more caches, and is waited for until its last old copy must be gone', () => {
    const again = [20, { a: moved, b: ['192.0.2.7', 40] }] as const
    const rounds = [first, again, [200, { a: moved, b: moved }]] as const
    expect(summaryAfter(rounds)).toMatchObject({ verdict: 'partly', longestTtlSeconds: 100, differing: [] })
    expect(summaryAfter([...rounds, [301, { a: moved, b: moved }]]).verdict).toBe('arrived')
  })

  test('is remembered once, and forgotten when the copy has expired', () => {
    const rounds = [first, [10, { a: ['192.0.2.8', 60], b: old }]] as const
    const { oldCopies } = summaryAfter(rounds)
    expect(oldCopies).toEqual([
      { location: 'b', ip: '2001:DB8::98', provider: 'Someone', until: 310_000 },
      { location: 'a', ip: '2001:DB8::97', provider: 'Someone', until: 70_000 },
    ])
    expect(summaryAfter([...rounds, [100, { a: moved, b: moved }]]).oldCopies).toHaveLength(1)
  })

  test('a "no" that gives no time may be kept for a minute', () => {
    const rounds = (second: number) =>
      [
        [0, { a: moved, b: 'NXDOMAIN' }],
        [second, { a: moved, b: 'TIMEOUT' }],
      ] as const
    expect(summaryAfter(rounds(60)).verdict).toBe('partly')
    expect(summaryAfter(rounds(61)).verdict).toBe('arrived')
  })

  test('is not waited for if it is not asked any more', () => {
    expect(summaryAfter([first, [10, { a: moved }]])).toMatchObject({
      verdict: 'arrived',
      longestTtlSeconds: null,
      oldCopies: [{ location: 'b' }],
    })
  })
})

test('a resolver that fails is waited for however long it takes', () => {
  const rounds = [0, 100_000].map((second) => [second, { a: moved, b: 'SERVFAIL' }] as const)
  expect(summaryAfter(rounds)).toMatchObject({ verdict: 'partly', longestTtlSeconds: null })
  expect(summaryAfter([...rounds, [100_010, { a: moved, b: moved }]]).verdict).toBe('arrived')
})

test('if nobody answers, nothing has arrived, though all old copies are gone', () => {
  const rounds = [
    [0, { a: old }],
    [400, { a: 'TIMEOUT' }],
  ] as const
  expect(summaryAfter(rounds)).toMatchObject({ verdict: 'unanswered', blocking: [] })
})

test.each<Said>(['TIMEOUT', 'UNREACHABLE', 'REFUSED', 'FORMERR', 'SERVFAIL', 'REFERRAL', 'NXDOMAIN', old])(
  'of the zone’s own servers each must have the records: %s',
  (said) => {
    const { verdict, blocking } = summaryAfter([[0, { ns: said, a: moved }]], ['ns'])
    expect([verdict, places(blocking)]).toEqual(['partly', ['ns']])
  },
)

test('what a server of the zone said may have been copied by any resolver', () => {
  const rounds = [
    [0, { ns: old, a: moved }],
    [10, { ns: moved, a: moved }],
  ] as const
  expect(summaryAfter(rounds, ['ns'])).toMatchObject({ verdict: 'partly', longestTtlSeconds: 290 })
})

test.each([
  [{ previous: null }, 'previous must be the summary of a check for which records were expected.'],
  [{ previous: {} }, 'previous must be the summary of a check for which records were expected.'],
  [
    { previous: { oldCopies: [{ location: '', ip: '', provider: '' }] } },
    'previous must be the summary of a check for which records were expected.',
  ],
  [{ at: 1 }, 'at must be a Date: when the check ended.'],
  [{ at: new Date('no date') }, 'at must be a Date: when the check ended.'],
  [{ authorities: '192.0.2.1' }, 'authorities must be a list of IP addresses.'],
  [{ authorities: ['ns1.example.com'] }, 'authorities must be a list of IP addresses.'],
])('%j is refused', (options, message) => {
  const expectation = { recordType: 'A', expected: [], ...options } as never
  expect(() => summarizeDnsCheck([], expectation)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  )
})

describe('in simulated changes, with many caches behind an address and failures mixed in', () => {
  const changes = Number(process.env['DNS_CHANGES'] ?? 200)
  const outcomes = Array.from({ length: changes }, (_, seed) => simulate(seed))

  test('nothing has arrived before the last old copy that was seen has expired', () => {
    expect(outcomes.flatMap(({ early }) => early)).toEqual([])
  })

  test('everything arrives once the failures have ended and the old copies have expired', () => {
    expect(outcomes.flatMap(({ endless }) => endless)).toEqual([])
  })

  test('the changes are such that the first new answers of all are too early', () => {
    const sum = (of: (outcome: (typeof outcomes)[number]) => number): number =>
      outcomes.reduce((total, outcome) => total + of(outcome), 0)
    expect(sum(({ firstNew }) => firstNew)).toBeGreaterThan(changes / 10)
    expect(sum(({ failures }) => failures)).toBeGreaterThan(changes)
  })
})
