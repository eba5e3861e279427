import {
  UtilityApiError,
  type DnsAnswer,
  type DnsClient,
  type DnsQuestion,
  type DnsRecord,
  type ResolverLocation,
} from 'utility-api'
import { fixedClock } from 'utility-api/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { ampleBudget, callerNamed, callWith, valueOf } from './support/calls.ts'
import { checkDns, type CheckDnsInput, type CheckDnsParts } from '../../src/operations/check-dns.ts'
import { harmlessLogger } from '../../src/http/log.ts'
import { createResultCache } from '../../src/bounds/result-cache.ts'
import { timedDnsClient } from '../../src/bounds/timed-clients.ts'
import type { OperationCall } from '../../src/operations/operation.ts'

afterEach(() => void vi.useRealTimers())

const clock = fixedClock()
const record: DnsRecord = { type: 'A', host: 'example.com', ttl: 2, ip: '192.0.2.1' }
const found: DnsAnswer = {
  status: 'NOERROR',
  records: [record],
  cnameChain: [],
  transport: 'udp',
  latencyMs: 1.4,
}

const locations: ResolverLocation[] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((ip) => ({
  location: `At ${ip}`,
  ip,
  provider: 'Someone',
}))

const lasting: DnsAnswer = {
  ...found,
  records: [{ type: 'A', host: 'example.com', ttl: 3600, ip: '192.0.2.7' }],
  ttlSeconds: 3600,
}

type Answering = (question: DnsQuestion) => Promise<DnsAnswer>

/** The check over a client of the test's own, and what that client was asked. */
function check(answer: Answering, parts: Partial<CheckDnsParts> = {}) {
  const asked: DnsQuestion[] = []
  const client: DnsClient = {
    query(question) {
      asked.push(question)
      return answer(question)
    },
    close: async () => {},
  }
  const operation = checkDns({
    client,
    clock,
    logger: harmlessLogger(false),
    locations,
    timeoutMs: 1000,
    cacheTtlMs: 0,
    cache: createResultCache(clock),
    budget: ampleBudget(),
    maxConcurrentPerResolver: 10,
    ...parts,
  })
  const run = async (input: Partial<CheckDnsInput> = {}, call: Partial<OperationCall> = {}, caller = 'me') =>
    valueOf(
      operation.run(
        { domain: 'example.com', recordType: 'A', ...input },
        callerNamed(caller),
        callWith({ callerKey: caller, ...call }),
      ),
    )
  return { asked, run }
}

const after = (milliseconds: number, answer: DnsAnswer): Promise<DnsAnswer> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds, answer))

test('a client that breaks is told to the log, and a resolver that is slow is not', async () => {
  const warnings: object[] = []
  const logger = { ...harmlessLogger(false), warn: (_: string, fields: object = {}) => warnings.push(fields) }
  const cause = new TypeError('undefined is not a function')
  const late = new DOMException('late', 'TimeoutError')
  const { run } = check(({ server }) => Promise.reject(server.ip === '192.0.2.1' ? cause : late), { logger })
  expect((await run()).map(({ status }) => status).toSorted()).toContain('UNREACHABLE')
  expect(warnings).toEqual([{ server: '192.0.2.1', cause }])
})

/** What a firewall on this machine makes of a question. */
const forbidden: DnsAnswer = {
  ...found,
  status: 'UNREACHABLE',
  records: [],
  cause: Object.assign(new Error('send EPERM'), { code: 'EPERM' }),
}

test.for<[what: string, answer: Answering]>([
  [
    'has no descriptors left for one location',
    ({ server, signal }) =>
      server.ip === '192.0.2.2'
        ? Promise.reject(new UtilityApiError('unavailable', 'Nothing left.'))
        : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  ],
  ['may send to no location', async () => forbidden],
])('a machine that %s fails the check, is logged, and is not remembered', async ([, answer]) => {
  const errors: string[] = []
  const logger = { ...harmlessLogger(false), error: (message: string) => errors.push(message) }
  let isOver = false
  const { asked, run } = check((question) => (isOver ? Promise.resolve(found) : answer(question)), {
    logger,
    cacheTtlMs: 60_000,
  })
  await expect(run()).rejects.toMatchObject({ code: 'unavailable', status: 503, retryAfterSeconds: 1 })
  expect(errors).toEqual(['The DNS check failed on this machine.'])
  isOver = true
  expect((await run()).map(({ status }) => status)).toEqual(['NOERROR', 'NOERROR', 'NOERROR'])
  expect(asked).toHaveLength(6)
})

test('a firewall that forbids one location is that location’s status', async () => {
  const { run } = check(async ({ server }) => (server.ip === '192.0.2.1' ? forbidden : found))
  expect((await run()).map(({ status }) => status)).toEqual(['UNREACHABLE', 'NOERROR', 'NOERROR'])
})

test('what is behind a failure or a referral is told', async () => {
  const told: Record<string, readonly [DnsAnswer['status'], withoutValidation: DnsAnswer['status'] | null]> =
    {
      '192.0.2.1': ['SERVFAIL', 'NXDOMAIN'],
      '192.0.2.2': ['SERVFAIL', 'SERVFAIL'],
      '192.0.2.3': ['SERVFAIL', null],
      '192.0.2.4': ['REFERRAL', 'NOERROR'],
    }
  const referral = { zone: 'example.com', nameServers: ['ns1.example.com'] }
  const { asked, run } = check(
    async ({ server, checkingDisabled }) => {
      const status = told[server.ip]?.[checkingDisabled === true ? 1 : 0]
      if (typeof status !== 'string') throw new TypeError('This client knows no such question.')
      return { ...found, records: [], status, latencyMs: checkingDisabled === true ? 70 : 5, referral }
    },
    { locations: Object.keys(told).map((ip) => ({ location: ip, ip, provider: 'Someone' })) },
  )
  const results = await run()
  const name_servers = ['ns1.example.com']
  expect(results.map(({ status, bogus }) => [status, bogus])).toEqual([
    ['SERVFAIL', true],
    ['SERVFAIL', undefined],
    ['SERVFAIL', undefined],
    ['REFERRAL', undefined],
  ])
  expect(results.at(-1)?.referral).toEqual({ zone: 'example.com', name_servers })
  expect(results.map(({ latency_ms: ms }) => ms)).toEqual([5, 5, 5, 5])
  expect(asked).toHaveLength(7)
})

test('elements stand in configured order, whoever answers first', async () => {
  const { run } = check(({ server }) => after(server.ip === '192.0.2.1' ? 30 : 1, found))
  expect((await run()).map(({ ip }) => ip)).toStrictEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3'])
})

test('every location is asked its own question, with the time that is left', async () => {
  const { asked, run } = check(async () => found, {
    locations: [
      { location: 'A', ip: '192.0.2.9', provider: 'P', port: 5353, clientSubnet: '198.51.100.0/24' },
    ],
  })
  await run({ domain: 'Example.COM.', recordType: 'MX' })
  expect(asked).toMatchObject([
    {
      name: 'example.com',
      type: 'MX',
      server: { ip: '192.0.2.9', port: 5353 },
      clientSubnet: '198.51.100.0/24',
    },
  ])
  expect(asked[0]?.timeoutMs).toBeLessThanOrEqual(1000)
  expect(asked[0]?.timeoutMs).toBeGreaterThan(900)
})

test('a resolver that fails is an element like the others', async () => {
  const { run } = check(async ({ server }) => {
    if (server.ip === '192.0.2.2') throw new Error('broken client')
    return found
  })
  expect((await run()).map(({ status, resolved }) => [status, resolved])).toStrictEqual([
    ['NOERROR', true],
    ['UNREACHABLE', false],
    ['NOERROR', true],
  ])
})

test('an element says what came of it, and no more', async () => {
  const { run } = check(
    async () => ({
      ...found,
      status: 'NODATA',
      records: [],
      cnameChain: ['www.example.com'],
      negativeTtlSeconds: 300,
      cnameTtlSeconds: 60,
      transport: 'tcp',
      ede: [{ code: 18, text: '' }],
      clientSubnetScope: 24,
      authenticated: true,
    }),
    { locations: locations.slice(0, 1) },
  )
  expect(await run()).toStrictEqual([
    {
      location: 'At 192.0.2.1',
      ip: '192.0.2.1',
      provider: 'Someone',
      dns_results: [],
      resolved: false,
      status: 'NODATA',
      latency_ms: 1,
      negative_ttl: 300,
      cname_chain: ['www.example.com'],
      cname_ttl: 60,
      transport: 'tcp',
      ede: [{ code: 18, text: '' }],
      client_subnet_scope: 24,
      authenticated: true,
    },
  ])
})

test('equal checks in flight ask once, others ask for themselves', async () => {
  const { asked, run } = check(() => after(10, found))
  await Promise.all([run(), run({ domain: 'EXAMPLE.com' }), run({ recordType: 'MX' })])
  expect(asked).toHaveLength(2 * locations.length)
})

test('an answer is kept no longer than the shortest TTL in it', async () => {
  const { asked, run } = check(async () => found, { cacheTtlMs: 5000 })
  await run()
  clock.advance(1999)
  await run()
  expect(asked).toHaveLength(locations.length)
  clock.advance(1)
  await run()
  expect(asked).toHaveLength(2 * locations.length)
})

test('without a TTL of its own, an answer is kept as long as the shortest of its records', async () => {
  const records: DnsRecord[] = [3600, 2, 60].map((ttl) => ({ ...record, ttl }))
  const { asked, run } = check(async () => ({ ...found, records }), { cacheTtlMs: 60_000 })
  await run()
  clock.advance(2000)
  await run()
  expect(asked).toHaveLength(2 * locations.length)
})

test('locations with one address share its places; another port is another resolver', async () => {
  const open = new Map<number, number>()
  let most = 0
  let together = 0
  const answer: Answering = async ({ server: { port = 53 } }) => {
    open.set(port, (open.get(port) ?? 0) + 1)
    most = Math.max(most, ...open.values())
    together = Math.max(
      together,
      [...open.values()].reduce((sum, each) => sum + each, 0),
    )
    await after(5, found)
    open.set(port, (open.get(port) ?? 0) - 1)
    return found
  }
  const at = (port: number): ResolverLocation => ({
    location: `${port}`,
    ip: '192.0.2.1',
    port,
    provider: 'P',
  })
  // A location without a port has port 53.
  const { port: _, ...withoutPort } = at(53)
  const { run } = check(answer, { locations: [at(53), withoutPort, at(54)], maxConcurrentPerResolver: 2 })
  expect((await run()).map(({ status }) => status)).toEqual(['NOERROR', 'NOERROR', 'NOERROR'])
  expect({ most, together }).toEqual({ most: 1, together: 2 })
})

test('an answer ages while slower resolvers are waited for', async () => {
  const slow = Promise.withResolvers<DnsAnswer>()
  const { asked, run } = check(
    ({ server }) => (server.ip === '192.0.2.3' ? slow.promise : Promise.resolve(found)),
    {
      cacheTtlMs: 5000,
    },
  )
  const first = run()
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(1500)
  slow.resolve(lasting)
  await first
  clock.advance(499)
  await run()
  expect(asked).toHaveLength(locations.length)
  clock.advance(1)
  await run()
  expect(asked).toHaveLength(2 * locations.length)
})

test.each<[string, Partial<DnsAnswer>, keptMs: number]>([
  ['an alias with a TTL of one second', { ttlSeconds: 1 }, 1000],
  ['a name that does not exist for three', { status: 'NXDOMAIN', records: [], ttlSeconds: 3 }, 3000],
  ['a name that does not exist, for nobody knows how long', { status: 'NXDOMAIN', records: [] }, 5000],
  ['silence', { status: 'TIMEOUT', records: [] }, 5000],
  ['a failure', { status: 'SERVFAIL', records: [] }, 5000],
])('%s is not kept for longer, however long answers may be', async (_, answer, keptMs) => {
  const { asked, run } = check(
    async ({ server }) => (server.ip === '192.0.2.2' ? { ...found, ...answer } : lasting),
    { cacheTtlMs: 3_600_000 },
  )
  await run()
  const once = asked.length
  clock.advance(keptMs - 1)
  await run()
  expect(asked).toHaveLength(once)
  clock.advance(1)
  await run()
  expect(asked).toHaveLength(2 * once)
})

test('one resolver gets no more questions at once than allowed, and the others do not wait for it', async () => {
  const open = new Map<string, number>()
  let most = 0
  const { run } = check(
    async ({ server }) => {
      const now = (open.get(server.ip) ?? 0) + 1
      open.set(server.ip, now)
      most = Math.max(most, now)
      await after(5, found)
      open.set(server.ip, now - 1)
      return found
    },
    { maxConcurrentPerResolver: 2 },
  )
  await Promise.all(
    Array.from({ length: 10 }, (_, index) => run({ domain: `${index}.example.com` }, {}, `caller ${index}`)),
  )
  expect(most).toBe(2)
})

test('a question that never gets its turn is a TIMEOUT within the deadline', async () => {
  const { run } = check(({ server }) => after(server.ip === '192.0.2.1' ? 300 : 1, found), {
    maxConcurrentPerResolver: 1,
    timeoutMs: 60,
  })
  const [, second] = await Promise.all([run({ domain: 'a.example' }), run({ domain: 'b.example' })])
  expect(second?.map(({ status }) => status)).toStrictEqual(['TIMEOUT', 'NOERROR', 'NOERROR'])
  // Nothing carried an answer, and only half of the time is waited for a turn.
  expect(second?.[0]).not.toHaveProperty('transport')
  expect(second?.[0]?.latency_ms).not.toBe(60)
})

test('when the caller leaves, the questions are aborted', async () => {
  const leaving = new AbortController()
  const { asked, run } = check(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  const result = run({}, { signal: leaving.signal })
  leaving.abort(new Error('gone'))
  await expect(result).rejects.toThrow('gone')
  expect(asked.map(({ signal }) => signal?.aborted)).toStrictEqual([true, true, true])
})

test('a check that everybody has left is not kept as one that found nothing', async () => {
  const leaving = new AbortController()
  const { run } = check(
    ({ signal }) =>
      leaving.signal.aborted
        ? Promise.resolve(found)
        : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    { cacheTtlMs: 60_000 },
  )
  const left = run({}, { signal: leaving.signal })
  leaving.abort()
  await expect(left).rejects.toThrow()
  await new Promise((resolve) => setImmediate(resolve))
  expect((await run()).map(({ status }) => status)).toStrictEqual(['NOERROR', 'NOERROR', 'NOERROR'])
})

test('a check is joined during the first half of its time only', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { asked, run } = check(() => new Promise(() => {}), { timeoutMs: 1000 })
  void run()
  vi.advanceTimersByTime(499)
  void run({}, {}, 'other')
  expect(asked).toHaveLength(locations.length)
  vi.advanceTimersByTime(1)
  void run({}, {}, 'third')
  expect(asked).toHaveLength(2 * locations.length)
})

test.each([
  ['whole milliseconds of what is left of its time', 400.5, 599],
  ['a moment, even if the process stood still meanwhile', 1000, 1],
])('a question that had to wait for its turn gets %s', async (_, waitedMs, leftMs) => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const first = Promise.withResolvers<DnsAnswer>()
  const { asked, run } = check(() => first.promise, {
    locations: locations.slice(0, 1),
    maxConcurrentPerResolver: 1,
    timeoutMs: 1000,
  })
  const answers = [run({ domain: 'a.example' }), run({ domain: 'b.example' }, {}, 'other')]
  vi.advanceTimersByTime(waitedMs)
  first.resolve(found)
  await Promise.all(answers)
  expect(asked.map(({ timeoutMs }) => timeoutMs)).toStrictEqual([1000, leftMs])
})

test.each([
  ['PTR', '192.0.2.1', '1.2.0.192.in-addr.arpa'],
  ['PTR', '2001:db8::1', `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`],
  ['PTR', '1.2.0.192.in-addr.arpa', '1.2.0.192.in-addr.arpa'],
  ['PTR', '0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
  ['NS', '.', '.'],
  ['A', '.', '.'],
  ['TXT', '.', '.'],
  ['A', '*.example.com', '*.example.com'],
  ['A', '-x-.example.com.', '-x-.example.com'],
  ['A', 'a\\.b\\255.example.com', 'a\\.b\\255.example.com'],
  ['A', '\u{1f4a9}.la', 'xn--ls8h.la'],
  ['TXT', '_dmarc.example.com', '_dmarc.example.com'],
  ['TXT', 'ada\\064a.example', 'ada\\@a.example'],
  ['TXT', 'ada\\@a.example', 'ada\\@a.example'],
  ['A', 'https\\058//a.example', 'https://a.example'],
  ['A', 'a\\\\\\@.example', 'a\\\\\\@.example'],
  ['A', 'b\u00fccher.example', 'xn--bcher-kva.example'],
] as const)('%s %s asks for %s', async (recordType, domain, name) => {
  const { asked, run } = check(async () => found)
  await run({ domain, recordType })
  expect(asked[0]?.name).toBe(name)
})

test.each([
  ['A', '192.0.2.1'],
  ['A', 'a..b'],
  ['A', `${'a'.repeat(64)}.example`],
  ['PTR', 'fe80::1%eth0'],
  ['AAAA', '2001:db8::1'],
  ['A', 'a\\256.example'],
  ['MX', 'a b'],
  ['A', 'https://a.example/'],
  ['TXT', 'ada@a.example'],
  ['A', 'a\\\\@.example'],
] as const)('%s %s is no domain', async (recordType, domain) => {
  const { asked, run } = check(async () => found)
  await expect(run({ domain, recordType })).rejects.toMatchObject({ code: 'invalid_request' })
  expect(asked).toHaveLength(0)
})

/** Answers for most names, and never for those of `hanging.example`. */
const answerMost = ({ name, signal }: DnsQuestion): Promise<DnsAnswer> =>
  name.endsWith('hanging.example')
    ? new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    : Promise.resolve(found)

/** A caller with as many questions open as they may have, until they leave. */
function holdHalf(run: ReturnType<typeof check>['run']): AbortController {
  const leaving = new AbortController()
  for (let count = 0; count < 6; count += 1) {
    const hanging = run({ domain: `${count}.hanging.example` }, { signal: leaving.signal }, 'other')
    hanging.catch(() => undefined)
  }
  return leaving
}

test('however many checks of one caller hang, those of another do not wait for them', async () => {
  const { asked, run } = check(answerMost, { maxConcurrentPerResolver: 4 })
  const leaving = holdHalf(run)
  expect(asked).toHaveLength(2 * locations.length)
  expect((await run()).map(({ status }) => status)).toStrictEqual(['NOERROR', 'NOERROR', 'NOERROR'])
  leaving.abort()
})

test('who asks for what another caller still waits for does not wait with them', async () => {
  const { asked, run } = check(answerMost, { maxConcurrentPerResolver: 4 })
  const leaving = holdHalf(run)
  const waiting = run({}, {}, 'other')
  expect(asked).toHaveLength(2 * locations.length)
  const [first, second] = await Promise.all([waiting, run()])
  expect(second).toEqual(first)
  expect(asked).toHaveLength(3 * locations.length)
  leaving.abort()
})

test('what one caller has asked is not kept for another, who would learn of it', async () => {
  const { asked, run } = check(async () => found, { cacheTtlMs: 60_000 })
  await run()
  await run({}, {}, 'other')
  expect(asked).toHaveLength(2 * locations.length)
  await run({}, {}, 'other')
  expect(asked).toHaveLength(2 * locations.length)
})

test('that a caller had too much open is not kept for others', async () => {
  const { run } = check(answerMost, { maxConcurrentPerResolver: 4, timeoutMs: 30, cacheTtlMs: 60_000 })
  const leaving = holdHalf(run)
  const starved = await run({}, {}, 'other')
  expect(starved.map(({ status, resolved }) => [status, resolved])).toStrictEqual(
    locations.map(() => ['TIMEOUT', false]),
  )
  expect((await run()).map(({ status }) => status)).toStrictEqual(['NOERROR', 'NOERROR', 'NOERROR'])
  leaving.abort()
})

test('a place that becomes free at the deadline of one question is not for another with the same deadline', async () => {
  const answer = ({ name, timeoutMs = 0 }: DnsQuestion): Promise<DnsAnswer> =>
    name.endsWith('hanging.example') || timeoutMs < 20
      ? after(timeoutMs, { ...found, status: 'TIMEOUT', records: [] })
      : Promise.resolve(found)
  const { run } = check(answer, { maxConcurrentPerResolver: 4, timeoutMs: 60, cacheTtlMs: 60_000 })
  for (const domain of ['a.hanging.example', 'b.hanging.example']) void run({ domain }, {}, 'other')
  await run({}, {}, 'other')
  expect((await run()).map(({ status }) => status)).toStrictEqual(['NOERROR', 'NOERROR', 'NOERROR'])
})

test.each([
  [4500, 'TOO_LARGE', 0],
  [3900, 'NOERROR', 3900],
] as const)('of a client of the host, %d records are %s', async (count, status, given) => {
  // 58 octets of JSON each, and a comma.
  const records = Array.from({ length: count }, () => record)
  const client = timedDnsClient({ query: async () => ({ ...found, records }), close: async () => {} })
  const { run } = check(async () => found, { client, locations: locations.slice(0, 1) })
  const [result] = await run()
  expect([result?.status, result?.resolved, result?.dns_results.length]).toStrictEqual([
    status,
    given > 0,
    given,
  ])
})

test('a large result is not kept', async () => {
  const records = Array.from({ length: 1000 }, () => record)
  const { asked, run } = check(async () => ({ ...found, records }), { cacheTtlMs: 5000 })
  await run()
  await run()
  expect(asked).toHaveLength(2 * locations.length)
})
