import { Resolver } from 'node:dns/promises'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import type { DnsRecord } from '../../src/domain/dns-record.ts'
import { fakeDnsServer, type FakeDnsServer } from '../../src/testing/dns-server.ts'
import { loopbacks } from '../support/loopback.ts'
import { eventually } from '../support/eventually.ts'

const at = (host: string) => ({ host, ttl: 60 })
const records: readonly DnsRecord[] = [
  { ...at('a.test'), type: 'A', ip: '192.0.2.1' },
  { ...at('a.test'), type: 'AAAA', ip: '2001:db8::1', ipv6: '2001:db8::1' },
  { ...at('a.test'), type: 'MX', pri: 10, target: 'mail.a.test' },
  { ...at('a.test'), type: 'NS', target: 'ns.a.test' },
  { ...at('1.a.test'), type: 'PTR', target: 'host.a.test' },
  { ...at('www.a.test'), type: 'CNAME', target: 'a.test' },
  {
    ...at('a.test'),
    type: 'SOA',
    mname: 'ns.a.test',
    rname: 'host.a.test',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    'minimum-ttl': 4_000_000_000,
  },
  { ...at('a.test'), type: 'TXT', txt: 'onetwo', entries: ['one', 'two'] },
  { ...at('a.test'), type: 'SRV', pri: 1, weight: 2, port: 3, target: 'srv.a.test' },
  { ...at('a.test'), type: 'CAA', flags: 128, tag: 'issue', value: 'ca.test' },
  {
    ...at('long.a.test'),
    type: 'TXT',
    txt: 'x'.repeat(2000),
    entries: Array<string>(10).fill('x'.repeat(200)),
  },
]

/** Another implementation: c-ares. */
function resolverFor({ ip, port }: FakeDnsServer): Resolver {
  const resolver = new Resolver({ timeout: 500, tries: 1 })
  resolver.setServers([ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`])
  return resolver
}

test.each(loopbacks)('is understood by others on %s', async (ip) => {
  await using server = await fakeDnsServer({ records, ip })
  const resolver = resolverFor(server)
  expect(await resolver.resolve4('a.test', { ttl: true })).toEqual([{ address: '192.0.2.1', ttl: 60 }])
  expect(await resolver.resolve4('WWW.a.test')).toEqual(['192.0.2.1'])
  expect(await resolver.resolve6('a.test')).toEqual(['2001:db8::1'])
  expect(await resolver.resolveMx('a.test')).toMatchObject([{ priority: 10, exchange: 'mail.a.test' }])
  expect(await resolver.resolveNs('a.test')).toEqual(['ns.a.test'])
  expect(await resolver.resolvePtr('1.a.test')).toEqual(['host.a.test'])
  expect(await resolver.resolveCname('www.a.test')).toEqual(['a.test'])
  expect(await resolver.resolveSoa('a.test')).toMatchObject({
    nsname: 'ns.a.test',
    hostmaster: 'host.a.test',
    serial: 1,
    minttl: 4_000_000_000,
  })
  expect(await resolver.resolveTxt('a.test')).toEqual([['one', 'two']])
  expect(await resolver.resolveSrv('a.test')).toMatchObject([
    { priority: 1, weight: 2, port: 3, name: 'srv.a.test' },
  ])
  expect(await resolver.resolveCaa('a.test')).toMatchObject([{ critical: 128, issue: 'ca.test' }])
  // By UDP first, then by TCP.
  expect(await resolver.resolveTxt('long.a.test')).toEqual([Array(10).fill('x'.repeat(200))])
  expect(server.queries.at(-1)).toMatchObject({ name: 'long.a.test', type: 'TXT', transport: 'tcp' })
})

test.each([
  ['no.a.test', 'ENOTFOUND'],
  ['other.test', 'ENOTFOUND'],
  // It exists, as there is a name below it.
  ['test', 'ENODATA'],
])('says that %s has no address: %s', async (name, code) => {
  await using server = await fakeDnsServer({ records })
  await expect(resolverFor(server).resolve4(name)).rejects.toMatchObject({ code })
})

test.each([
  ['SERVFAIL', 'ESERVFAIL'],
  ['REFUSED', 'EREFUSED'],
  ['NXDOMAIN', 'ENOTFOUND'],
] as const)('answers everything with %s if told so', async (rcode, code) => {
  await using server = await fakeDnsServer({ records, rcode })
  await expect(resolverFor(server).resolve4('a.test')).rejects.toMatchObject({ code })
})

test('waits before each answer if told so', async () => {
  await using server = await fakeDnsServer({ records, delayMs: 200 })
  const started = performance.now()
  await resolverFor(server).resolve4('a.test')
  expect(performance.now() - started).toBeGreaterThan(190)
})

test.each([
  [{ type: 'A', host: 'a.test', ttl: 1, ip: '10.0.0' }, '10.0.0 is no address of 4 octets'],
  [{ type: 'A', host: 'a.test', ttl: 1, ip: '::1' }, '::1 is no address of 4 octets'],
  [{ type: 'AAAA', host: 'a.test', ttl: 1, ip: '192.0.2.1' }, '192.0.2.1 is no address of 16 octets'],
  [{ type: 'TXT', host: 'a.test', ttl: 1, entries: ['x'.repeat(256)] }, 'a string has more than 255 octets'],
  [
    { type: 'CNAME', host: 'a.test', ttl: 1, target: `${'x'.repeat(64)}.test` },
    'a label has more than 63 octets',
  ],
  [{ type: 'NS', host: `${'x'.repeat(64)}.test`, ttl: 1, target: 'a.test' }, 'a label has more than'],
  [
    { type: 'DS', host: 'a.test', ttl: 1, key_tag: 1, algorithm: 8, digest_type: 2, digest: 'xyz' },
    'xyz is not hexadecimal',
  ],
  [
    { type: 'MX', host: 'a.test', ttl: 1, pri: 70_000, target: 'b.test' },
    'The value of "value" is out of range',
  ],
  [{ type: 'TXT', host: 'a.test', ttl: 1 }, 'Cannot read properties of undefined'],
  [{ type: 'LOC', host: 'a.test', ttl: 1 }, 'LOC is no known type'],
])('refuses the record %j, which no message can carry', async (record, problem) => {
  const message = expect.stringContaining(`records[1]: cannot be encoded: ${problem}`)
  const refused = fakeDnsServer({ records: [records[0], record] as never })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_options', message })
})

test('a delayed answer keeps no process alive once the server is closed', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const server = await fakeDnsServer({ records, delayMs: 60_000 })
  const before = timers()
  const client = createDnsClient()
  void client.query({ name: 'a.test', type: 'A', server })
  await eventually(() => expect(server.queries).toHaveLength(1))
  await client.close()
  await server.close()
  expect(timers()).toBeLessThanOrEqual(before)
})

test('refuses a port that is taken', async () => {
  await using server = await fakeDnsServer()
  await expect(fakeDnsServer({ port: server.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

test('can be closed twice, and its port is free then', async () => {
  const server = await fakeDnsServer({ records })
  await Promise.all([server.close(), server.close()])
  await using again = await fakeDnsServer({ records, port: server.port })
  expect(again.port).toBe(server.port)
  expect(await resolverFor(again).resolve4('a.test')).toEqual(['192.0.2.1'])
})

test('can be closed with an answer under way', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const server = await fakeDnsServer({ records, delayMs: 100 })
  const answer = resolverFor(server).resolve4('a.test')
  // oxlint-disable-next-line no-await-in-loop -- until the query has arrived
  while (server.queries.length === 0) await setImmediate()
  await server.close()
  await expect(answer).rejects.toBeDefined()
  // A rejection that nobody handles would end the test run.
  vi.advanceTimersByTime(100)
  await setImmediate()
})

test('answers with a response code by its number, and takes an undefined option for an absent one', async () => {
  await using server = await fakeDnsServer({ rcode: 5, delayMs: 0, port: undefined } as object)
  const client = createDnsClient()
  const question = { name: 'shop.example', type: 'A', server: { ip: server.ip, port: server.port } } as const
  expect(await client.query(question)).toMatchObject({ status: 'REFUSED' })
  await client.close()
})
