import fc from 'fast-check'
import {
  createUtilityApi,
  summarizeDnsCheck,
  type DnsCheckResult,
  type DnsCheckSummary,
  type DnsRecord,
  type DnsStatus,
  type RecordType,
} from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { describe, expect, test } from 'vitest'

function result(place: number, status: DnsStatus, records: readonly DnsRecord[] = []): DnsCheckResult {
  return {
    location: `Place ${place}`,
    ip: `192.0.2.${place}`,
    provider: 'Someone',
    dns_results: [...records],
    resolved: records.length > 0,
    status,
    latency_ms: 1,
  }
}

function a(ip: string, ttl = 60): DnsRecord {
  return { type: 'A', host: 'example.com', ttl, ip }
}

function mx(target: string, ttl = 60): DnsRecord {
  return { type: 'MX', host: 'example.com', ttl, pri: 10, target }
}

/** What one location says: its records, or how the question ended otherwise. */
type Said = readonly DnsRecord[] | DnsStatus

/** A check whose locations say these things. */
function summaryOf(...answers: readonly Said[]): DnsCheckSummary {
  return summarizeDnsCheck(
    answers.map((answer, place) =>
      typeof answer === 'string' ? result(place, answer) : result(place, 'NOERROR', answer),
    ),
  )
}

const places = (results: readonly DnsCheckResult[]): string[] =>
  results.map(({ location }) => location.slice(6))

describe('the verdict', () => {
  const cases: Record<string, readonly [DnsCheckSummary['verdict'], ...Said[]]> = {
    'all have the same': ['agree', [a('192.0.2.1')], [a('192.0.2.1', 5)]],
    'all have the same in another order': [
      'agree',
      [a('192.0.2.1'), a('192.0.2.2')],
      [a('192.0.2.2'), a('192.0.2.1')],
    ],
    'all have none, for different reasons': ['nowhere', 'NXDOMAIN', 'NODATA'],
    'some failed, and the others agree': ['agree', [a('192.0.2.1')], 'TIMEOUT', [a('192.0.2.1')], 'SERVFAIL'],
    'parts of a set in rotation': [
      'agree',
      [a('192.0.2.1'), a('192.0.2.2')],
      [a('192.0.2.3'), a('192.0.2.4')],
      [a('192.0.2.2'), a('192.0.2.3')],
    ],
    'another address': ['differ', [a('192.0.2.1')], [a('192.0.2.2')]],
    'another address here, none there': ['differ', [a('192.0.2.1')], 'NXDOMAIN', [a('192.0.2.2')]],
    'one address less': ['differ', [a('192.0.2.1'), a('192.0.2.2')], [a('192.0.2.1')]],
    'a mail server more': ['differ', [mx('a.example')], [mx('a.example'), mx('b.example')]],
    'another of two mail servers': [
      'differ',
      [mx('a.example'), mx('b.example')],
      [mx('a.example'), mx('c.example')],
    ],
    'here and not there': ['not_everywhere', [a('192.0.2.1')], 'NXDOMAIN'],
    'here, not there, and silent elsewhere': ['not_everywhere', [a('192.0.2.1')], 'NODATA', 'TIMEOUT'],
    'all failed': ['unanswered', 'TIMEOUT', 'SERVFAIL', 'REFUSED', 'TOO_LARGE'],
    'nobody was asked': ['unanswered'],
  }
  test.each(Object.entries(cases))('%s', (_, [verdict, ...answers]) => {
    expect(summaryOf(...answers).verdict).toBe(verdict)
  })

  test('ignores case in names, but not in texts', () => {
    expect(summaryOf([mx('Mail.example')], [mx('mail.EXAMPLE')]).verdict).toBe('agree')
    const text = (txt: string): DnsRecord => ({
      type: 'TXT',
      host: 'example.com',
      ttl: 1,
      txt,
      entries: [txt],
    })
    expect(summaryOf([text('a')], [text('A')]).verdict).toBe('differ')
  })
})

test('the majority is more than half of the answers, and the others differ', () => {
  const [old, moved] = [[a('192.0.2.1', 300)], [a('192.0.2.2', 40)]]
  const summary = summaryOf(moved, old, 'TIMEOUT', old, 'NXDOMAIN', old)
  expect(summary.groups.map(({ results }) => places(results))).toEqual([['1', '3', '5'], ['0'], ['4']])
  expect(summary.majority).toBe(summary.groups[0])
  expect(places(summary.differing)).toEqual(['0', '4'])
  expect(places(summary.unanswered)).toEqual(['2'])
  expect(summary.groups.map(({ longestTtlSeconds }) => longestTtlSeconds)).toEqual([300, 40, null])
  expect(summary.longestTtlSeconds).toBe(300)
})

test('without a majority all answers differ, and a single answer does not', () => {
  const half = summaryOf([a('192.0.2.1')], [a('192.0.2.2')])
  expect(half.majority).toBeNull()
  expect(places(half.differing)).toEqual(['0', '1'])
  const alone = summaryOf([a('192.0.2.1')], 'TIMEOUT')
  expect(alone.majority).toBe(alone.groups[0])
  expect(alone.differing).toEqual([])
})

test('a group has every record once, with its longest TTL, and whether they rotate', () => {
  const rotating = summaryOf([a('192.0.2.1', 9), a('192.0.2.2', 8)], [a('192.0.2.2', 20), a('192.0.2.3', 7)])
  expect(rotating.groups).toMatchObject([
    {
      rotates: true,
      longestTtlSeconds: 20,
      records: [a('192.0.2.1', 9), a('192.0.2.2', 20), a('192.0.2.3', 7)],
    },
  ])
  expect(summaryOf([a('192.0.2.1')], [a('192.0.2.1')]).groups).toMatchObject([{ rotates: false }])
})

describe('whatever the answers', () => {
  const record = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 9 }))
  const set = fc.uniqueArray(record, { maxLength: 3, selector: ([last]) => last })
  const failure = fc.constantFrom<DnsStatus>('TIMEOUT', 'SERVFAIL', 'MALFORMED')
  const answers = fc.array(fc.oneof(set, failure), { maxLength: 8 })
  type Answers = typeof answers extends fc.Arbitrary<infer Value> ? Value : never

  function check(given: Answers, make: (last: number, ttl: number) => DnsRecord): DnsCheckResult[] {
    return given.map((answer, place) => {
      if (typeof answer === 'string') return result(place, answer)
      const status = answer.length > 0 ? 'NOERROR' : place % 2 === 0 ? 'NXDOMAIN' : 'NODATA'
      return result(
        place,
        status,
        answer.map(([last, ttl]) => make(last, ttl)),
      )
    })
  }
  const addresses = (last: number, ttl: number): DnsRecord => a(`192.0.2.${last}`, ttl)
  const mail = (last: number, ttl: number): DnsRecord => mx(`mail-${last}.example`, ttl)

  test('every result is in one group, or gave no answer', () => {
    fc.assert(
      fc.property(answers, (given) => {
        const results = check(given, addresses)
        const { groups, unanswered } = summarizeDnsCheck(results)
        const all = [...groups.flatMap((group) => group.results), ...unanswered]
        expect(new Set(all)).toEqual(new Set(results))
        expect(all).toHaveLength(results.length)
      }),
    )
  })

  test('their order, the order of their records and the TTLs change nothing', () => {
    const partition = ({ groups }: DnsCheckSummary): string[] =>
      groups.map(({ results }) => places(results).toSorted().join()).toSorted()
    fc.assert(
      fc.property(answers, fc.infiniteStream(fc.nat()), (given, random) => {
        const results = check(given, addresses)
        const next = (): number => random.next().value ?? 0
        const shuffled = results
          .map((each) => ({
            ...each,
            dns_results: each.dns_results.toReversed().map((one) => ({ ...one, ttl: next() })),
          }))
          .map((each) => ({ each, at: next() }))
          .toSorted((one, other) => one.at - other.at)
          .map(({ each }) => each)
        const [before, after] = [summarizeDnsCheck(results), summarizeDnsCheck(shuffled)]
        expect(after.verdict).toBe(before.verdict)
        expect(partition(after)).toEqual(partition(before))
      }),
    )
  })

  test('if records do not rotate, answers agree only if their sets are equal', () => {
    fc.assert(
      fc.property(answers, (given) => {
        const sets = given
          .filter((answer) => typeof answer !== 'string')
          .map((answer) =>
            answer
              .map(([last]) => last)
              .toSorted()
              .join(),
          )
        const kinds = new Set(sets)
        const { verdict, groups } = summarizeDnsCheck(check(given, mail))
        expect(groups).toHaveLength(kinds.size)
        const expected = (): string => {
          if (kinds.size === 0) return 'unanswered'
          if (kinds.size === 1) return kinds.has('') ? 'nowhere' : 'agree'
          return kinds.size === 2 && kinds.has('') ? 'not_everywhere' : 'differ'
        }
        expect(verdict).toBe(expected())
      }),
    )
  })

  test('windows on one ring of addresses agree, as long as each overlaps the next', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 12 }), fc.integer({ min: 2, max: 6 }), (size, width) => {
        const ring = Array.from({ length: size }, (_, at) => a(`192.0.2.${at}`))
        const windows = ring.map((_, from) =>
          Array.from(
            { length: Math.min(width, size) },
            (__, step) => ring[(from + step) % size] as DnsRecord,
          ),
        )
        const { verdict, groups } = summaryOf(...windows)
        expect(verdict).toBe('agree')
        expect(groups[0]?.records).toHaveLength(size)
      }),
    )
  })

  test('two answers are in one group if others connect them, each as large as the next and sharing an address', () => {
    fc.assert(
      fc.property(fc.array(set, { maxLength: 8 }), (given) => {
        const results = check(given, addresses)
        const sharesWith = (one: number, other: number): boolean => {
          const [some, others] = [given[one] ?? [], given[other] ?? []]
          const isShared = some.length === 0 || some.some(([last]) => others.some(([each]) => each === last))
          return some.length === others.length && isShared
        }
        const connected = (from: number): Set<number> => {
          const reached = new Set([from])
          for (const at of reached)
            for (const other of given.keys()) if (sharesWith(at, other)) reached.add(other)
          return reached
        }
        const { groups } = summarizeDnsCheck(results)
        for (const [at, one] of results.entries()) {
          const group = groups.find((each) => each.results.includes(one))
          expect(group?.results).toEqual(results.filter((_, other) => connected(at).has(other)))
        }
      }),
    )
  })

  test('the longest TTL is the longest of all, and of each group its own', () => {
    const ttls = (results: readonly DnsCheckResult[]): number[] =>
      results.flatMap((each) => each.dns_results.map(({ ttl }) => ttl))
    const longest = (all: number[]): number | null => (all.length === 0 ? null : Math.max(...all))
    fc.assert(
      fc.property(answers, (given) => {
        const results = check(given, addresses)
        const summary = summarizeDnsCheck(results)
        expect(summary.longestTtlSeconds).toBe(longest(ttls(results)))
        for (const group of summary.groups) expect(group.longestTtlSeconds).toBe(longest(ttls(group.results)))
      }),
    )
  })
})

describe('of many answers', () => {
  const answers = (count: number): DnsCheckResult[] =>
    Array.from({ length: count }, (_, at) =>
      result(at, 'NOERROR', [a(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`)]),
    )
  const expectations = [undefined, { recordType: 'A', expected: ['192.0.2.1'] }] as const

  test.each(expectations)('ten times as many do not take forty times the work: %j', (expectation) => {
    const costOf = (results: readonly DnsCheckResult[], times: number): number => {
      const before = process.cpuUsage()
      for (let time = 0; time < times; time += 1)
        expect(summarizeDnsCheck(results, expectation).groups.length).toBe(results.length)
      return process.cpuUsage(before).user / times
    }
    const few = answers(200)
    costOf(few, 5)
    const many = answers(2000)
    // The least of several: what shares the processor with others costs more each time it comes back.
    expect(Math.min(...[1, 2, 3].map(() => costOf(many, 1)))).toBeLessThan(40 * costOf(few, 10))
  })

  test.each(expectations)('there may be more than a call has room for arguments: %j', (expectation) => {
    const many = Array<DnsCheckResult>(150_000).fill(result(1, 'NOERROR', [a('192.0.2.7', 60)]))
    expect(summarizeDnsCheck(many, expectation)).toMatchObject({
      differing: { length: expectation ? 150_000 : 0 },
      longestTtlSeconds: 60,
    })
  })
})

describe('where records are expected', () => {
  const two = [a('192.0.2.1', 300), a('192.0.2.2', 300)]
  const both = ['192.0.2.1', '192.0.2.2']
  const arrivalOf = (expected: readonly string[], ...answers: readonly Said[]) =>
    summarizeDnsCheck(
      answers.map((answer, place) =>
        typeof answer === 'string' ? result(place, answer) : result(place, 'NOERROR', answer),
      ),
      { recordType: 'A', expected },
    )

  test.each<[string, string, readonly string[], ...Said[]]>([
    ['all have them, in any order', 'arrived', both, two, two.toReversed(), 'TIMEOUT'],
    ['all still have the old one', 'not_yet', ['192.0.2.9'], [a('192.0.2.1')], [a('192.0.2.1')]],
    ['one has the new one', 'partly', ['192.0.2.9'], [a('192.0.2.1')], [a('192.0.2.9')]],
    ['one of two was replaced', 'not_yet', both, [a('192.0.2.1'), a('192.0.2.3')]],
    ['one of two is missing', 'not_yet', both, [a('192.0.2.1')]],
    ['there is one too many', 'not_yet', ['192.0.2.1'], two],
    ['the name does not exist yet', 'not_yet', both, 'NXDOMAIN', 'NODATA'],
    ['it was deleted', 'arrived', [], 'NXDOMAIN', 'NODATA'],
    ['it was deleted here and not there', 'partly', [], 'NXDOMAIN', two],
    ['it is to be deleted', 'not_yet', [], two],
    ['a resolver fails', 'partly', both, two, two, 'SERVFAIL'],
    ['an answer cannot be read', 'partly', both, two, 'MALFORMED'],
    ['an answer cannot be seen in full', 'partly', both, two, 'TRUNCATED'],
    ['an answer is too large', 'partly', both, two, 'TOO_LARGE'],
    ['an alias leads elsewhere', 'partly', both, two, 'REFERRAL'],
    ['those who never served us do not count', 'arrived', both, two, 'REFUSED', 'FORMERR', 'UNREACHABLE'],
    ['a server only points elsewhere', 'unanswered', [], 'REFERRAL', 'SERVFAIL'],
    ['nobody was asked', 'unanswered', both],
  ])('%s: %s', (_, verdict, expected, ...answers) => {
    expect(arrivalOf(expected, ...answers).verdict).toBe(verdict)
  })

  test('they are listed by whether they have come, and parts of a set are other answers', () => {
    const summary = arrivalOf(both, [a('192.0.2.1'), a('192.0.2.3')], two, 'TIMEOUT', two)
    expect(places(summary.arrived)).toEqual(['1', '3'])
    expect(places(summary.differing)).toEqual(['0'])
    expect(places(summary.unanswered)).toEqual(['2'])
    expect(summary.groups.map(({ results }) => places(results))).toEqual([['1', '3'], ['0']])
    expect(summary.majority).toBe(summary.groups[0])
  })

  test('the longest time is that of the others: their records, aliases and what is not there', () => {
    const results = [
      result(0, 'NOERROR', two),
      { ...result(1, 'NOERROR', [a('192.0.2.7', 40)]), cname_ttl: 70 },
      { ...result(2, 'NXDOMAIN'), negative_ttl: 90 },
    ]
    const waiting = (some: readonly DnsCheckResult[], expected: readonly string[]) =>
      summarizeDnsCheck(some, { recordType: 'A', expected }).longestTtlSeconds
    expect(waiting(results, both)).toBe(90)
    expect(waiting(results.slice(0, 2), both)).toBe(70)
    expect(waiting(results.slice(0, 1), both)).toBeNull()
    // Some resolvers keep it that long.
    expect(waiting([result(0, 'NODATA')], both)).toBe(60)
    expect(summarizeDnsCheck(results).longestTtlSeconds).toBe(300)
    expect(summarizeDnsCheck(results.slice(1)).longestTtlSeconds).toBe(90)
  })

  test('of any type, in presentation form', () => {
    const results = [result(0, 'NOERROR', [mx('Mail.example')])]
    const ask = (expected: string) => summarizeDnsCheck(results, { recordType: 'MX', expected: [expected] })
    expect(ask('10 mail.EXAMPLE.').verdict).toBe('arrived')
    expect(ask('20 mail.example').verdict).toBe('not_yet')
  })

  const soa = {
    type: 'SOA',
    host: 'example.com',
    ttl: 60,
    mname: 'ns.example',
    rname: 'admin.example',
  } as const
  const times = { refresh: 1, retry: 2, expire: 3, 'minimum-ttl': 4 }
  test.each<[string, RecordType, DnsRecord[], expected: string, 'arrived' | 'not_yet']>([
    ['another preference of the same mail server', 'MX', [mx('a.example')], '20 a.example', 'not_yet'],
    [
      'the next serial of the zone',
      'SOA',
      [{ ...soa, serial: 7, ...times }],
      'ns.example admin.example 8 1 2 3 4',
      'not_yet',
    ],
    [
      'a critical flag',
      'CAA',
      [{ type: 'CAA', host: 'example.com', ttl: 60, flags: 0, tag: 'issue', value: 'ca.example' }],
      '128 issue "ca.example"',
      'not_yet',
    ],
    [
      'an address in another spelling',
      'AAAA',
      [{ type: 'AAAA', host: 'example.com', ttl: 60, ip: '2001:db8::1', ipv6: '2001:db8::1' }],
      '2001:DB8:0:0::0001',
      'arrived',
    ],
    [
      'a text cut elsewhere',
      'TXT',
      [{ type: 'TXT', host: 'example.com', ttl: 60, txt: 'v=spf1 -all', entries: ['v=spf1 -all'] }],
      '"v=spf1" " -all"',
      'arrived',
    ],
  ])('though all agree: %s', (_, recordType, records, expected, verdict) => {
    const results = [result(0, 'NOERROR', records), result(1, 'NOERROR', records)]
    expect(summarizeDnsCheck(results).verdict).toBe('agree')
    expect(summarizeDnsCheck(results, { recordType, expected: [expected] }).verdict).toBe(verdict)
  })

  test.each<[string, string, readonly string[], ...Said[]]>([
    ['among others', 'arrived', ['192.0.2.2'], two, [a('192.0.2.2')], 'TIMEOUT'],
    ['two of three, in any order', 'arrived', ['192.0.2.2', '192.0.2.1'], [...two, a('192.0.2.3')]],
    ['here and not there', 'partly', ['192.0.2.1'], two, [a('192.0.2.2')]],
    ['one of two', 'not_yet', ['192.0.2.1', '192.0.2.3'], two],
    ['a failure', 'partly', ['192.0.2.1'], two, 'SERVFAIL'],
  ])('records among others: %s', (_, verdict, contains, ...answers) => {
    const results = answers.map((answer, place) =>
      typeof answer === 'string' ? result(place, answer) : result(place, 'NOERROR', answer),
    )
    expect(summarizeDnsCheck(results, { recordType: 'A', contains }).verdict).toBe(verdict)
  })

  test('without any, answers are compared with each other', () => {
    const results = [result(0, 'NOERROR', two), result(1, 'NOERROR', two)]
    expect(summarizeDnsCheck(results, { recordType: 'A' })).toEqual(summarizeDnsCheck(results))
  })

  test('the type is taken as the check takes it', () => {
    const results = [result(0, 'NOERROR', two)]
    const verdictFor = (recordType: string) =>
      summarizeDnsCheck(results, { recordType: recordType as 'a', expected: both }).verdict
    expect(['A', 'a', ' a '].map(verdictFor)).toEqual(['arrived', 'arrived', 'arrived'])
    expect(() => verdictFor('\u{17f}rv')).toThrow('recordType must be one of A, AAAA, MX')
  })

  test.each([
    [{ recordType: 'A', expected: ['x'] }, 'expected: "x" is no A record such as 192.0.2.1.'],
    [{ recordType: 'A', expected: '192.0.2.1' }, 'expected must be a list of records in presentation form.'],
    [{ recordType: 'A', contains: ['x'] }, 'contains: "x" is no A record such as 192.0.2.1.'],
    [{ recordType: 'A', contains: '192.0.2.1' }, 'contains must be a list of records in presentation form.'],
    [{ recordType: 'A', contains: [] }, 'contains must name a record.'],
    [{ recordType: 'A', contains: ['192.0.2.1'], expected: [] }, 'expected and contains exclude each other.'],
    [{ recordType: 'A', expected: [7] }, 'expected must be a list of records in presentation form.'],
    [{ recordType: 'ANY', expected: [] }, 'recordType must be one of A, AAAA, MX'],
    [{ expected: [] }, 'expectation.recordType must be one of A, AAAA, MX'],
    [{ recordType: 'A', expect: [] }, 'expect is not known here; expected is.'],
  ])('%j is refused', (expectation, message) => {
    expect(() => summarizeDnsCheck([], expectation as never)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(message) }),
    )
  })
})

test('what is kept ages while slower resolvers are waited for', () => {
  const early = { ...result(0, 'NOERROR', [a('192.0.2.1', 300)]), latency_ms: 20 }
  const late = { ...result(1, 'NOERROR', [a('192.0.2.2', 290)]), latency_ms: 4020 }
  const never = { ...result(2, 'TIMEOUT'), latency_ms: 5000 }
  const expected = { recordType: 'A', expected: ['192.0.2.3'] } as const
  expect(summarizeDnsCheck([early]).longestTtlSeconds).toBe(300)
  expect(summarizeDnsCheck([early, never], expected).longestTtlSeconds).toBe(295.02)
  const { longestTtlSeconds, groups } = summarizeDnsCheck([early, late, never])
  expect([longestTtlSeconds, ...groups.map((group) => group.longestTtlSeconds)]).toEqual([
    295.02, 295.02, 289.02,
  ])
  expect(summarizeDnsCheck([{ ...early, dns_results: [a('192.0.2.1', 3)] }, never]).longestTtlSeconds).toBe(0)
})

test('the results of the operation can be summarized as they are', () => {
  const api = createUtilityApi({ storage: memoryStorage() })
  const example = (
    api.openapi().paths as Record<string, { get: { responses: Record<string, { content: object }> } }>
  )['/v3/tools/dnscheck']?.get.responses['200']?.content as {
    'application/json': { example: DnsCheckResult[] }
  }
  expect(summarizeDnsCheck(example['application/json'].example)).toMatchObject({
    verdict: 'agree',
    unanswered: [{ status: 'TIMEOUT' }],
  })
})

describe('anything but the answer of a check is refused', () => {
  const where = { location: 'Here', ip: '192.0.2.1', provider: 'Someone' }
  const wrong: readonly [name: string, value: unknown][] = [
    ['the body of an error', { error: 'invalid_token', message: 'The access token is invalid.' }],
    ['nothing', undefined],
    ['a text', 'NOERROR'],
    ['a list with null', [null]],
    ['a record that is null', [{ ...where, status: 'NOERROR', dns_results: [null], latency_ms: 1 }]],
    [
      'a record without its data',
      [{ ...where, status: 'NOERROR', dns_results: [{ type: 'NS' }], latency_ms: 1 }],
    ],
    [
      'a record without one of its fields',
      [
        {
          ...where,
          status: 'NOERROR',
          dns_results: [{ type: 'MX', host: 'a', ttl: 1, target: 'mail.example' }],
          latency_ms: 1,
        },
      ],
    ],
    ['an element without records', [{ ...where, status: 'NOERROR', latency_ms: 1 }]],
    ['an element without a status', [{ ...where, dns_results: [], latency_ms: 1 }]],
    ['an element without a time', [{ ...result(0, 'NODATA'), latency_ms: undefined }]],
    ['an element that does not say where it is', [{ ...result(0, 'NODATA'), location: undefined }]],
    ['an element with a TTL that is no number', [{ ...result(0, 'NODATA'), negative_ttl: 'x' }]],
  ]
  test.each(wrong)('%s', (_, value) => {
    expect(() => summarizeDnsCheck(value as DnsCheckResult[])).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: 'results must be what the DNS check answers with 200.',
      }),
    )
  })
})
