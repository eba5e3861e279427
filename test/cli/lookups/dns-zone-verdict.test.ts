import { stripVTControlCharacters } from 'node:util'
import { summarizeDnsCheck, type DnsCheckResult, type DnsStatus } from 'utility-api'
import type { AuthoritativeServers } from 'utility-api/dns'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sectionLines } from '../../../adapters/cli/lookups/dns-table.ts'
import { widthOf } from '../../../adapters/cli/terminal/terminal-text.ts'

type Said = readonly [ip: string, ttl: number] | DnsStatus

function result(location: string, provider: string, said: Said): DnsCheckResult {
  const [status, records] =
    typeof said === 'string'
      ? ([said, []] as const)
      : (['NOERROR', [{ type: 'A', host: 'shop.example', ttl: said[1], ip: said[0] }]] as const)
  const answer = { dns_results: [...records], resolved: records.length > 0, status, latency_ms: 5 }
  const negative = { negative_ttl: status === 'NXDOMAIN' ? 55 : undefined }
  return { location, provider, ip: '192.0.2.1', ...answer, ...negative }
}

/** So many servers of a zone. */
function ofZone(count: number): AuthoritativeServers {
  const servers = Array.from({ length: count }, (_, at) => ({ name: `ns${at + 1}`, ip: '192.0.2.1' }))
  return { name: 'shop.example', zone: 'shop.example', delegation: servers.map(({ name }) => name), servers }
}

/** The verdict on what the zone's servers and the resolvers say. */
function verdictOf(own: readonly Said[], resolvers: readonly Said[], expected?: readonly string[]): string {
  const results = [
    ...own.map((said, at) => result('zone shop.example', `ns${at + 1}`, said)),
    ...resolvers.map((said, at) => result('', `r${at + 1}`, said)),
  ]
  const summary =
    expected === undefined
      ? summarizeDnsCheck(results)
      : summarizeDnsCheck(results, { recordType: 'A', expected })
  const lines = sectionLines({
    type: 'A',
    locations: results,
    authority: ofZone(own.length),
    seen: results,
    summary,
  })
  return stripVTControlCharacters(lines.slice(lines.indexOf('') + 1).join('\n'))
}

const [old, recent] = [['198.51.100.7', 41] as const, ['203.0.113.20', 300] as const]
const time = expect.stringMatching(/^The last old answer expires within 41 s, by \d\d:\d\d:\d\d UTC\.$/)

describe('beside what the zone says', () => {
  test('those who still say something else are listed, and for how long they may', () => {
    const lines = verdictOf([recent, recent], [old, recent]).split('\n')
    expect(lines).toEqual([
      'The zone says 203.0.113.20; 1 of 2 resolvers says something else.',
      '  1 has 198.51.100.7',
      '    r1',
      time,
    ])
  })

  test('the time is a whole second that is not too early', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1, 0, 0, 0, 1) })
    onTestFinished(() => void vi.useRealTimers())
    expect(verdictOf([recent], [old])).toContain('by 00:00:42 UTC.')
  })

  test('the time is that of the resolvers: a server of the zone keeps nothing', () => {
    const lines = verdictOf([recent], [old, 'NXDOMAIN'], ['203.0.113.20']).split('\n')
    expect(lines[0]).toBe('Partly: the zone says 203.0.113.20; 2 of 2 resolvers say something else.')
    expect(lines.at(-1)).toMatch(/^The last old answer expires within 55 s, by .* UTC\.$/)
  })

  test.each<[string, readonly Said[], readonly Said[], string[] | undefined]>([
    [
      'Arrived: the zone says 203.0.113.20, and so does the resolver that answered.',
      [recent],
      [recent],
      ['203.0.113.20'],
    ],
    [
      'The zone says 203.0.113.20, and so do both resolvers that answered.',
      [recent],
      [recent, recent],
      undefined,
    ],
    [
      'Arrived: the zone has no record, and so do all 3 resolvers that answered.',
      ['NXDOMAIN'],
      ['NODATA', 'NXDOMAIN', 'NODATA'],
      [],
    ],
    [
      'Arrived: the zone says 203.0.113.20; no resolver answered.\nNo answer: r1 (TIMEOUT).',
      [recent],
      ['TIMEOUT'],
      ['203.0.113.20'],
    ],
  ])('%s', (verdict, own, resolvers, expected) => {
    expect(verdictOf(own, resolvers, expected)).toBe(verdict)
  })

  test.each<[string, readonly Said[], readonly Said[], string[] | undefined]>([
    ['Not yet: the zone itself says 198.51.100.7, not what is expected.', [old], [old], ['203.0.113.20']],
    [
      'Partly: the zone itself has no record, not what is expected.',
      ['NXDOMAIN'],
      [recent],
      ['203.0.113.20'],
    ],
    ['The servers of the zone differ from each other.', [old, recent], [old], undefined],
    ['Partly: the servers of the zone differ from each other.', [old, recent], [old], ['203.0.113.20']],
  ])('where the zone is not done, all are listed: %s', (verdict, own, resolvers, expected) => {
    const lines = verdictOf(own, resolvers, expected).split('\n')
    expect(lines[0]).toBe(verdict)
    const listed = lines.slice(1, -1).join()
    for (const name of [...own.map((_, at) => `ns${at + 1}`), ...resolvers.map((_, at) => `r${at + 1}`)])
      expect(listed).toContain(name)
    expect(lines.at(-1)).toMatch(/^Once the zone has changed, /)
  })

  test('where the zone is silent, resolvers are compared with each other', () => {
    expect(verdictOf(['TIMEOUT'], [recent, recent])).toBe(
      '2 of 3 resolvers answered, and agree.\nNo answer: ns1 (TIMEOUT).',
    )
  })
})

test.each([
  [1, 'Partly: the zone says 203.0.113.20, and so does the resolver that answered.'],
  [0, 'Partly: 1 of 1 resolvers has what is expected.'],
])('who may still have an old copy is named, with %i servers of the zone', (own, sentence) => {
  const terms = { recordType: 'A', expected: ['203.0.113.20'] } as const
  const previous = summarizeDnsCheck([result('', 'r1', old)], terms)
  const results = [...(own > 0 ? [result('zone', 'ns1', recent)] : []), result('', 'r1', recent)]
  const summary = summarizeDnsCheck(results, { ...terms, previous })
  const lines = sectionLines({
    type: 'A',
    locations: results,
    authority: ofZone(own),
    seen: results,
    summary,
  })
  expect(lines.slice(lines.indexOf('') + 1).map(stripVTControlCharacters)).toEqual([
    sentence,
    expect.stringMatching(/^(?:Once .*, t|T)he last old answer expires within 4[01] s/),
    'May still have an old copy: r1.',
  ])
})

test.each([40, 80, 120])('on %i columns no line is wider', (columns) => {
  const { stdout } = process
  const before = Object.getOwnPropertyDescriptors(stdout)
  Object.assign(stdout, { isTTY: true, columns })
  try {
    const lines = verdictOf([recent, 'TIMEOUT'], [old, 'NXDOMAIN', 'SERVFAIL'], ['203.0.113.20']).split('\n')
    expect(lines.length).toBeGreaterThan(6)
    expect(lines.filter((line) => widthOf(line) > columns)).toEqual([])
  } finally {
    for (const name of ['isTTY', 'columns'] as const) {
      const descriptor = before[name]
      if (descriptor === undefined) Reflect.deleteProperty(stdout, name)
      else Object.defineProperty(stdout, name, descriptor)
    }
  }
})
