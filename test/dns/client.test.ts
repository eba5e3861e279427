import { afterEach, describe, expect, test } from 'vitest'
import type { DnsRecord } from '../../src/domain/dns-record.ts'
import { createDnsClient } from '../../src/dns/client.ts'
import type { DnsQuestion } from '../../src/ports/dns-client.ts'
import { fakeDnsServer, type FakeDnsServerOptions } from '../../src/testing/dns-server.ts'

const records: DnsRecord[] = [
  { type: 'A', host: 'example.com', ttl: 60, ip: '192.0.2.1' },
  { type: 'A', host: 'example.com', ttl: 60, ip: '192.0.2.2' },
  { type: 'AAAA', host: 'example.com', ttl: 60, ip: '2001:db8::1:0:0:1', ipv6: '2001:db8::1:0:0:1' },
  { type: 'MX', host: 'example.com', ttl: 300, pri: 10, target: 'mail.example.com' },
  { type: 'CNAME', host: 'www.example.com', ttl: 5, target: 'example.com' },
  {
    type: 'TXT',
    host: 'big.example.com',
    ttl: 5,
    txt: 'x'.repeat(4000),
    entries: Array(20).fill('x'.repeat(200)),
  },
]

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()))
})

async function setUp(options: FakeDnsServerOptions = { records }) {
  const server = await fakeDnsServer(options)
  const client = createDnsClient()
  open.push(client, server)
  return { server, client }
}

describe('the client', () => {
  test('returns the records of the type', async () => {
    const { server, client } = await setUp()
    const answer = await client.query({ name: 'example.com', type: 'A', server })
    expect(answer).toEqual({
      status: 'NOERROR',
      records: records.slice(0, 2),
      cnameChain: [],
      transport: 'udp',
      latencyMs: expect.any(Number),
      ttlSeconds: 60,
    })
  })

  test('follows an alias', async () => {
    const { server, client } = await setUp()
    const answer = await client.query({ name: 'WWW.example.com.', type: 'AAAA', server })
    expect(answer).toMatchObject({ status: 'NOERROR', records: [records[2]], cnameChain: ['example.com'] })
  })

  test('reports that the resolver validated the answer if it says so, of a failure not', async () => {
    const { server, client } = await setUp({
      records,
      // Simple servers send the question's flags back with a failure.
      reply: ({ name, answer }) =>
        answer({ authenticated: name !== 'example.com', rcode: name[0] === 'f' ? 'SERVFAIL' : 'NXDOMAIN' }),
    })
    const ask = (name: string) => client.query({ name, type: 'A', server })
    expect(await ask('signed.example.com')).toMatchObject({ status: 'NXDOMAIN', authenticated: true })
    expect(await ask('example.com')).not.toHaveProperty('authenticated')
    expect(await ask('fail.example.com')).not.toHaveProperty('authenticated')
    // It says so to those who ask for it (RFC 6840 section 5.7).
    expect(server.queries.map(({ message }) => (message[3] ?? 0) & 0x20)).toEqual([0x20, 0x20, 0x20])
  })

  test('repeats the query over TCP if the answer does not fit into a datagram', async () => {
    const { server, client } = await setUp()
    const answer = await client.query({ name: 'big.example.com', type: 'TXT', server })
    expect(answer).toMatchObject({ status: 'NOERROR', records: [records[5]], transport: 'tcp' })
    expect(server.queries.map((query) => query.transport)).toEqual(['udp', 'tcp'])
  })

  test('asks anew when only the network changes, the type, the recursion or the validation', async () => {
    const { server, client } = await setUp()
    const ask = (type: 'A' | 'MX', more?: Partial<DnsQuestion>) =>
      client.query({ name: 'example.com', type, server, ...more })
    await ask('A', { clientSubnet: '192.0.2.0/24' })
    await ask('A', { clientSubnet: '198.51.100.0/24' })
    await ask('A')
    await ask('MX')
    await ask('MX', { recursionDesired: false })
    await ask('MX', { recursionDesired: false, checkingDisabled: true })
    const options = server.queries.map(({ message }) => Buffer.from(message).toString('hex', 12 + 17 + 11))
    expect(options).toEqual(['0008000700011800c00002', '0008000700011800c63364', '', '', '', ''])
    expect(server.queries.map(({ message }) => (message[2] ?? 0) & 1)).toEqual([1, 1, 1, 1, 0, 0])
    expect(server.queries.map(({ message }) => (message[3] ?? 0) & 0x10)).toEqual([0, 0, 0, 0, 0, 0x10])
    expect(server.queries.map(({ type }) => type)).toEqual(['A', 'A', 'A', 'MX', 'MX', 'MX'])
  })

  test('repeats to one resolver what it asked, whatever another refuses meanwhile', async () => {
    const refusing = await setUp({
      records,
      reply: (query) => (query.message[11] === 0 ? undefined : query.answer({ rcode: 'FORMERR' })),
    })
    const { server, client } = await setUp({ records, drop: 1 })
    const ask = (where: typeof server) =>
      client.query({ name: 'example.com', type: 'A', server: where, timeoutMs: 1000 })
    const answers = await Promise.all([ask(server), ask(refusing.server)])
    expect(answers).toMatchObject([{ status: 'NOERROR' }, { status: 'NOERROR' }])
    const [first, again] = server.queries.map(({ message }) => Buffer.from(message).toString('hex', 2))
    expect(again).toBe(first)
  })

  test.each([
    ['no.example.com', 'NXDOMAIN'],
    ['example.com', 'NODATA'],
  ] as const)('tells %s from missing data', async (name, status) => {
    const { server, client } = await setUp()
    expect(await client.query({ name, type: 'SRV', server })).toMatchObject({ status, records: [] })
  })

  test('gives up at its deadline', async () => {
    const { server, client } = await setUp({ drop: Infinity })
    const answer = await client.query({ name: 'example.com', type: 'A', server, timeoutMs: 900 })
    expect(answer).toEqual({
      status: 'TIMEOUT',
      records: [],
      cnameChain: [],
      transport: 'udp',
      latencyMs: expect.any(Number),
    })
    expect(server.queries).toHaveLength(3)
  })
})
