import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import type { DnsAnswer } from '../../src/domain/dns-answer.ts'
import type { DnsRecord } from '../../src/domain/dns-record.ts'
import { encodeName, words } from '../../src/testing/dns-encoding.ts'
import {
  fakeDnsServer,
  type FakeDnsQuery,
  type FakeDnsReply,
  type FakeDnsServerOptions,
} from '../../src/testing/dns-server.ts'
import { endsBefore } from '../support/ends-before.ts'
import {
  labelLattice,
  patched,
  pointerChain,
  pointerToQuestion,
  rawRecord,
  rawReply,
  rightRecord,
} from './support/messages.ts'

const ip = Buffer.of(192, 0, 2, 66)

async function ask(options: FakeDnsServerOptions, timeoutMs: number, clientSubnet?: string) {
  await using server = await fakeDnsServer({ records: [rightRecord], ...options })
  const client = createDnsClient()
  const started = performance.now()
  const network = clientSubnet === undefined ? {} : { clientSubnet }
  const query = client.query({ name: 'example.com', type: 'A', server, timeoutMs, ...network })
  expect(await endsBefore(timeoutMs + 2000, query)).toBe(true)
  const answer = await query
  const elapsed = performance.now() - started
  await client.close()
  return { answer, queries: server.queries, elapsed }
}

type Forge = (query: FakeDnsQuery) => Buffer
const answerWith =
  (...answers: Buffer[]): Forge =>
  (query) =>
    rawReply(query, { answers })
const dataOf = (type: number, data: Buffer, length?: number): Forge =>
  answerWith(rawRecord({ type, data, ...(length !== undefined && { length }) }))
const opt = (data: Buffer, owner: Buffer = Buffer.of(0)): Buffer =>
  rawRecord({ owner, type: 41, class: 1232, ttl: 0, data })

const withForgedAddress = answerWith(rawRecord({ data: ip }))

/** Anybody can send these: no reply of ours. */
const unrelated: Record<string, Forge> = {
  'another id': (query) => patched(query.answer(), { 0: ((query.id >> 8) + 1) & 0xff }),
  'the query itself': (query) => Buffer.from(query.message),
  'an answer without the QR bit': (query) => patched(query.answer(), { 2: 0x01 }),
  'opcode NOTIFY': (query) => patched(query.answer(), { 2: 0xa0 }),
  'no question': (query) => rawReply(query, { counts: [0, 1, 0, 0], answers: [rawRecord({ data: ip })] }),
  'two questions': (query) => patched(query.answer(), { 5: 2 }),
  'the question for another name': (query) => patched(query.answer(), { 13: 'f'.charCodeAt(0) }),
  'the question for a shorter name': (query) => patched(query.answer(), { 12: 0 }),
  'the question for another type': (query) => patched(query.answer(), { 26: 28 }),
  'the question for another class': (query) => patched(query.answer(), { 28: 3 }),
  'a message cut in the question': (query) => query.answer().subarray(0, 20),
  'an empty datagram': () => Buffer.alloc(0),
  'a single octet': (query) => query.answer().subarray(0, 1),
  'eleven octets': (query) => query.answer().subarray(0, 11),
  'a bare header that says NOERROR': (query) => words(query.id, 0x8180, 0, 0, 0, 0),
  'a bare header that says NXDOMAIN': (query) => words(query.id, 0x8183, 0, 0, 0, 0),
  'an error that announces 256 questions': (query) => errorOf(query, 0x100, 0),
  'an error that announces 256 answers': (query) => errorOf(query, 0, 0x100),
  'noise behind the right id': (query) => Buffer.concat([words(query.id), Buffer.alloc(200, 0xa7)]),
}

/** A SERVFAIL with these counts, and an octet after its header. */
function errorOf(query: FakeDnsQuery, questions: number, answers: number): Buffer {
  return Buffer.concat([words(query.id, 0x8182, questions, answers, 0, 0), Buffer.of(0)])
}

/** The right id and question, and then no DNS message. */
const malformed: Record<string, Forge> = {
  'A of 3 octets': dataOf(1, ip.subarray(1)),
  'A of no octets': dataOf(1, Buffer.alloc(0)),
  'A of 5 octets': dataOf(1, Buffer.alloc(5)),
  'data that passes the end of the message': dataOf(1, ip, 400),
  'data that passes the end by one octet': dataOf(1, ip, 5),
  'a record cut before its length': answerWith(rawRecord({ data: ip }).subarray(0, 11)),
  'more records announced than sent': (query) =>
    rawReply(query, { counts: [1, 0xffff, 0xffff, 0xffff], answers: [rawRecord({ data: ip })] }),
  'an owner that points forward': answerWith(rawRecord({ owner: words(0xc0ff), data: ip })),
  'an owner that points to itself': answerWith(rawRecord({ owner: words(0xc000 | 29), data: ip })),
  'an owner that points into the header': answerWith(rawRecord({ owner: words(0xc004), data: ip })),
  'a label and a pointer back to it': answerWith(
    rawRecord({ owner: Buffer.concat([Buffer.from('\x01a'), words(0xc000 | 29)]), data: ip }),
  ),
  'a label of an undefined kind': answerWith(rawRecord({ owner: Buffer.of(0x41, 0x41, 0), data: ip })),
  'a label of another undefined kind': answerWith(rawRecord({ owner: Buffer.of(0x81, 0x41, 0), data: ip })),
  'an owner of 258 octets': answerWith(
    rawRecord({ owner: encodeName(Array(4).fill('x'.repeat(63)).join('.')), data: ip }),
  ),
  'an owner that never ends': answerWith(Buffer.from('\x3fexample')),
  'pointers to pointers, 64 KB of them': (query) => pointerChain(query, 8000, 3000),
  'names within names, 64 KB of them': (query) => labelLattice(query),
  'two OPT records': (query) =>
    rawReply(query, {
      answers: [rawRecord({ data: ip })],
      additionals: [opt(Buffer.alloc(0)), opt(Buffer.alloc(0))],
    }),
  'OPT with a name': (query) =>
    rawReply(query, {
      answers: [rawRecord({ data: ip })],
      additionals: [opt(Buffer.alloc(0), pointerToQuestion)],
    }),
  'an option that passes its OPT record': (query) =>
    rawReply(query, { answers: [rawRecord({ data: ip })], additionals: [opt(words(15, 40, 1))] }),
  'half an option': (query) =>
    rawReply(query, { answers: [rawRecord({ data: ip })], additionals: [opt(Buffer.of(0, 15, 0))] }),
  'an authority section cut short': (query) =>
    rawReply(query, {
      counts: [1, 1, 1, 0],
      answers: [rawRecord({ data: ip })],
      authorities: [Buffer.of(0, 0)],
    }),
  'a label of an undefined kind in the authority section': (query) =>
    rawReply(query, {
      answers: [rawRecord({ data: ip })],
      authorities: [rawRecord({ owner: Buffer.concat([Buffer.of(0x41), Buffer.alloc(66)]), data: ip })],
    }),
  'an alias whose target passes its data': answerWith(
    rawRecord({ type: 5, data: Buffer.from('\x03abc\x00'), length: 3 }),
  ),
  'an alias with octets behind its target': dataOf(5, Buffer.from('\x01a\x00zz')),
}

const patience = 250

describe.concurrent('a reply that does not count', () => {
  test.each(Object.entries({ ...unrelated, ...malformed }))('%s, then the answer', async (_kind, forge) => {
    const { answer } = await ask({ reply: (query) => [forge(query), query.answer()] }, 5000)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord], transport: 'udp' })
  })

  test.each(Object.entries(unrelated))('%s, and nothing else', async (_kind, forge) => {
    const { answer, elapsed } = await ask({ reply: forge }, patience)
    expect(answer).toMatchObject({ status: 'TIMEOUT', records: [] })
    expect(elapsed).toBeGreaterThan(patience - 20)
  })

  test.each(Object.entries(malformed))('%s, and nothing else', async (_kind, forge) => {
    const { answer } = await ask({ reply: forge }, 60_000)
    expect(answer).toMatchObject({ status: 'MALFORMED', records: [] })
  })

  test('comes from another port', async () => {
    const forger = createSocket('udp4').bind(0, '127.0.0.1')
    await once(forger, 'listening')
    const { answer } = await ask(
      {
        async reply(query) {
          await new Promise((resolve) =>
            forger.send(withForgedAddress(query), query.clientPort, '127.0.0.1', resolve),
          )
          await new Promise((resolve) => setTimeout(resolve, 50))
          return undefined
        },
      },
      5000,
    )
    forger.close()
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
  })

  test('comes a hundred times before the answer', async () => {
    const { answer } = await ask(
      {
        reply: (query) => [...Array<Buffer>(100).fill(patched(query.answer(), { 13: 0x7a })), query.answer()],
      },
      5000,
    )
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
  })
})

const cname = (host: string, target: string): DnsRecord => ({ type: 'CNAME', host, ttl: 60, target })
const chainOf = (length: number): DnsRecord[] =>
  Array.from({ length }, (_, index) =>
    cname(index === 0 ? 'example.com' : `c${index}.example.com`, `c${index + 1}.example.com`),
  )
const aOf = (host: string, address = '192.0.2.7'): DnsRecord => ({ type: 'A', host, ttl: 60, ip: address })
const longestLabel = 'x'.repeat(63)
const withoutOpt = (query: FakeDnsQuery): boolean => query.udpPayloadSize === null
/** The right answer with these options; silence to a query without EDNS, which would get them nowhere. */
const withOptions =
  (...options: { code: number; data: Uint8Array }[]) =>
  (query: FakeDnsQuery) =>
    withoutOpt(query) ? null : query.answer({ options })
const bare = (query: FakeDnsQuery, rcode: number): Buffer => words(query.id, 0x8180 | rcode, 0, 0, 0, 0)
const ede = (code: number, text: string) => ({
  code: 15,
  data: Buffer.concat([words(code), Buffer.from(text)]),
})

const nameServer = rawRecord({ type: 2, data: encodeName('ns.example.net') })

const odd: Record<string, { reply: (query: FakeDnsQuery) => FakeDnsReply; expected: Partial<DnsAnswer> }> = {
  'NXDOMAIN with records': {
    reply: (query) => query.answer({ rcode: 'NXDOMAIN', records: [rightRecord] }),
    expected: { status: 'NXDOMAIN', records: [] },
  },
  'NXDOMAIN at the end of an alias': {
    reply: (query) => query.answer({ rcode: 'NXDOMAIN', records: chainOf(1) }),
    expected: { status: 'NXDOMAIN', records: [], cnameChain: ['c1.example.com'] },
  },
  'NXDOMAIN and nothing behind the question': {
    reply: (query) => rawReply(query, { flags: 0x8183 }),
    expected: { status: 'NXDOMAIN', records: [] },
  },
  'SERVFAIL with records': {
    reply: (query) => query.answer({ rcode: 'SERVFAIL', records: [rightRecord] }),
    expected: { status: 'SERVFAIL', records: [] },
  },
  'SERVFAIL and why': {
    reply: (query) => query.answer({ rcode: 'SERVFAIL', options: [ede(6, 'no signature'), ede(22, '')] }),
    expected: {
      status: 'SERVFAIL',
      ede: [
        { code: 6, text: 'no signature' },
        { code: 22, text: '' },
      ],
    },
  },
  'an extended error of one octet': {
    reply: withOptions({ code: 15, data: Buffer.of(6) }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'an option without data': {
    reply: withOptions({ code: 12, data: Buffer.alloc(0) }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'a cookie nobody asked for': {
    reply: withOptions({ code: 10, data: Buffer.alloc(40) }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  REFUSED: {
    reply: (query) => query.answer({ rcode: 'REFUSED', records: [] }),
    expected: { status: 'REFUSED', records: [] },
  },
  YXDOMAIN: { reply: (query) => query.answer({ rcode: 6 }), expected: { status: 'SERVFAIL', records: [] } },
  'an extended code': {
    reply: (query) => query.answer({ rcode: 23 }),
    expected: { status: 'SERVFAIL', records: [] },
  },
  'FORMERR in a bare header, until EDNS is left out': {
    reply: (query) => (withoutOpt(query) ? undefined : bare(query, 1)),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'FORMERR with the question, until EDNS is left out': {
    reply: (query) => (withoutOpt(query) ? undefined : rawReply(query, { flags: 0x8181 })),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'NOTIMP, until EDNS is left out': {
    reply: (query) => (withoutOpt(query) ? undefined : bare(query, 4)),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'BADVERS, until EDNS is left out': {
    reply: (query) => (withoutOpt(query) ? undefined : query.answer({ rcode: 16, records: [] })),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'FORMERR twice over, to each try': {
    reply: (query) => (withoutOpt(query) ? undefined : [bare(query, 1), bare(query, 1)]),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'FORMERR to everything': { reply: (query) => bare(query, 1), expected: { status: 'FORMERR', records: [] } },
  'NOTIMP to everything': { reply: (query) => bare(query, 4), expected: { status: 'REFUSED', records: [] } },
  'a referral': {
    reply: (query) => rawReply(query, { flags: 0x8100, authorities: [nameServer] }),
    expected: { status: 'REFERRAL', records: [] },
  },
  'a referral of a server of the zone, which is none': {
    reply: (query) => rawReply(query, { flags: 0x8500, authorities: [nameServer] }),
    expected: { status: 'NODATA', records: [] },
  },
  'name servers from a resolver that recurses': {
    reply: (query) => rawReply(query, { authorities: [nameServer] }),
    expected: { status: 'NODATA', records: [] },
  },
  'name servers and an SOA record': {
    reply: (query) =>
      rawReply(query, {
        flags: 0x8100,
        authorities: [nameServer, rawRecord({ type: 6, data: Buffer.alloc(22) })],
      }),
    expected: { status: 'NODATA', records: [] },
  },
  'an alias that leads out of the zone of its server': {
    reply: (query) => patched(query.answer({ records: chainOf(1) }), { 2: 0x85, 3: 0 }),
    expected: { status: 'REFERRAL', records: [], cnameChain: ['c1.example.com'] },
  },
  'ten aliases after which a resolver stopped': {
    reply: (query) => query.answer({ records: chainOf(10) }),
    expected: { status: 'REFERRAL', records: [] },
  },
  'the address in the additional section only': {
    reply: (query) => rawReply(query, { additionals: [rawRecord({ data: ip })] }),
    expected: { status: 'NODATA', records: [] },
  },
  'a record of another owner': {
    reply: (query) => query.answer({ records: [aOf('evil.example')] }),
    expected: { status: 'NODATA', records: [] },
  },
  'a record of another owner among the right ones': {
    reply: (query) => query.answer({ records: [aOf('evil.example'), rightRecord, aOf('www.example.com')] }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'a record of another class': {
    reply: (query) => rawReply(query, { answers: [rawRecord({ class: 3, data: ip })] }),
    expected: { status: 'NODATA', records: [] },
  },
  'a record with the mDNS flush bit': {
    reply: (query) => rawReply(query, { answers: [rawRecord({ class: 0x8001, data: ip })] }),
    expected: { status: 'NODATA', records: [] },
  },
  'records of other types': {
    reply: (query) =>
      query.answer({
        records: [{ type: 'MX', host: 'example.com', ttl: 60, pri: 1, target: 'example.com' }],
      }),
    expected: { status: 'NODATA', records: [] },
  },
  'records of an unknown type beside the right one': {
    reply: (query) =>
      rawReply(query, {
        answers: [rawRecord({ type: 65, data: ip }), rawRecord({ data: Buffer.of(192, 0, 2, 1) })],
      }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'an alias to itself': {
    reply: (query) => query.answer({ records: [cname('example.com', 'example.com'), rightRecord] }),
    expected: { status: 'NODATA', records: [], cnameChain: ['example.com'] },
  },
  'aliases in a circle': {
    reply: (query) => query.answer({ records: [...chainOf(2), cname('c2.example.com', 'c1.example.com')] }),
    expected: {
      status: 'NODATA',
      records: [],
      cnameChain: ['c1.example.com', 'c2.example.com', 'c1.example.com'],
    },
  },
  'a circle of twelve aliases': {
    reply: (query) => query.answer({ records: [...chainOf(11), cname('c11.example.com', 'example.com')] }),
    expected: { status: 'NODATA', records: [] },
  },
  "a circle within the server's own zone": {
    reply: (query) =>
      rawReply(query, { flags: 0x8400, answers: [rawRecord({ type: 5, data: pointerToQuestion })] }),
    expected: { status: 'NODATA', records: [], cnameChain: ['example.com'] },
  },
  'seventeen aliases in a row': {
    reply: (query) => query.answer({ records: [...chainOf(17), aOf('c17.example.com')] }),
    expected: { status: 'NOERROR', records: [aOf('c17.example.com')] },
  },
  'as many aliases as a message holds': {
    reply: (query) =>
      query.transport === 'tcp'
        ? query.answer({ records: [...chainOf(1200), aOf('c1200.example.com')] })
        : query.answer({ records: chainOf(1200) }),
    expected: { status: 'NOERROR', records: [aOf('c1200.example.com')], transport: 'tcp' },
  },
  'records before their aliases': {
    reply: (query) => query.answer({ records: [aOf('c2.example.com'), ...chainOf(2).toReversed()] }),
    expected: {
      status: 'NOERROR',
      records: [aOf('c2.example.com')],
      cnameChain: ['c1.example.com', 'c2.example.com'],
    },
  },
  'aliases in capitals': {
    reply: (query) =>
      query.answer({ records: [cname('EXAMPLE.com', 'C1.example.COM'), aOf('c1.EXAMPLE.com')] }),
    expected: { status: 'NOERROR', records: [aOf('c1.example.com')], cnameChain: ['C1.example.COM'] },
  },
  'an alias to the longest label': {
    reply: (query) => query.answer({ records: [cname('example.com', longestLabel), aOf(longestLabel)] }),
    expected: { status: 'NOERROR', records: [aOf(longestLabel)] },
  },
  'an alias and no more': {
    reply: (query) => query.answer({ records: chainOf(1) }),
    expected: { status: 'NODATA', records: [], cnameChain: ['c1.example.com'] },
  },
  'two aliases of one name': {
    reply: (query) =>
      query.answer({
        records: [...chainOf(1), cname('example.com', 'b.example.com'), aOf('c1.example.com')],
      }),
    expected: { status: 'NOERROR', records: [aOf('c1.example.com')] },
  },
  'a record beside an alias': {
    reply: (query) => query.answer({ records: [rightRecord, ...chainOf(1)] }),
    expected: { status: 'NODATA', records: [] },
  },
  'the same record thrice': {
    reply: (query) => query.answer({ records: [rightRecord, { ...rightRecord, ttl: 5 }, rightRecord] }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'a TTL with the top bit': {
    reply: (query) => query.answer({ records: [{ ...rightRecord, ttl: 0x8000_0000 }] }),
    expected: { status: 'NOERROR', records: [{ ...rightRecord, ttl: 0 }] },
  },
  'the longest TTL': {
    reply: (query) => query.answer({ records: [{ ...rightRecord, ttl: 0x7fff_ffff }] }),
    expected: { status: 'NOERROR', records: [{ ...rightRecord, ttl: 0x7fff_ffff }] },
  },
  'the question in capitals': {
    reply: (query) => patched(query.answer(), { 13: 'E'.charCodeAt(0), 19: 'E'.charCodeAt(0) }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'octets behind the message': {
    reply: (query) => Buffer.concat([query.answer(), Buffer.alloc(99, 0xff)]),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'a bare SERVFAIL to everything': {
    reply: (query) => bare(query, 2),
    expected: { status: 'SERVFAIL', records: [] },
  },
  'a bare REFUSED to everything': {
    reply: (query) => bare(query, 5),
    expected: { status: 'REFUSED', records: [] },
  },
  'a bare REFUSED, until EDNS is left out': {
    reply: (query) => (withoutOpt(query) ? undefined : bare(query, 5)),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'a bare error and then the answer': {
    reply: (query) => (withoutOpt(query) ? null : [bare(query, 5), bare(query, 5), query.answer()]),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'OPT in the answer section, until EDNS is left out': {
    reply: (query) =>
      withoutOpt(query)
        ? undefined
        : rawReply(query, { answers: [opt(Buffer.alloc(0)), rawRecord({ data: ip })] }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'OPT in the authority section, until EDNS is left out': {
    reply: (query) =>
      withoutOpt(query)
        ? undefined
        : rawReply(query, { answers: [rawRecord({ data: ip })], authorities: [opt(Buffer.alloc(0))] }),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
  'a datagram cut without TC': {
    reply: (query) => (query.transport === 'udp' ? query.answer().subarray(0, 40) : undefined),
    expected: { status: 'NOERROR', records: [rightRecord], transport: 'tcp' },
  },
  'a datagram cut between two records': {
    reply: (query) =>
      query.transport === 'udp'
        ? rawReply(query, { counts: [1, 2, 0, 0], answers: [rawRecord({ data: ip })] })
        : undefined,
    expected: { status: 'NOERROR', records: [rightRecord], transport: 'tcp' },
  },
  'the answer five times': {
    reply: (query) => Array(5).fill(query.answer()),
    expected: { status: 'NOERROR', records: [rightRecord] },
  },
}

describe.concurrent('an odd reply', () => {
  test.each(Object.entries(odd))('%s', async (_kind, { reply, expected }) => {
    const { answer } = await ask({ reply }, 5000)
    expect(answer).toMatchObject(expected)
  })
})

const cookie = { code: 10, data: Buffer.alloc(40, 0xff) }

describe.concurrent('a client subnet in a reply', () => {
  test.each<[string, sent: string | undefined, received: number[], scope: number | undefined]>([
    ['that was sent, with a scope', '192.0.2.0/24', [0, 1, 24, 16, 192, 0, 2], 16],
    ['that was sent, for everybody', '192.0.2.0/24', [0, 1, 24, 0, 192, 0, 2], 0],
    ['of IPv6', '2001:db8::/32', [0, 2, 32, 48, 0x20, 1, 0x0d, 0xb8], 48],
    ['of no bits', '0.0.0.0/0', [0, 1, 0, 0], 0],
    ['that nobody sent', undefined, [0, 1, 24, 24, 192, 0, 2], undefined],
  ])('%s', async (_, sent, received, scope) => {
    const reply = withOptions({ code: 8, data: Buffer.from(received) }, cookie)
    const { answer } = await ask({ reply }, 2000, sent)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
    expect(answer.clientSubnetScope).toBe(scope)
  })

  test.each([
    ['of another network', [0, 1, 24, 24, 192, 0, 3]],
    ['of another length', [0, 1, 16, 16, 192, 0]],
    ['of another family', [0, 2, 24, 24, 192, 0, 2]],
    ['of a family that there is not', [1, 1, 24, 24, 192, 0, 2]],
    ['with more of the address', [0, 1, 24, 24, 192, 0, 2, 1]],
    ['without its scope', [0, 1, 24]],
    ['with a scope longer than an address', [0, 1, 24, 33, 192, 0, 2]],
  ])('%s is none of ours (RFC 7871 section 7.3)', async (_, received) => {
    const reply = withOptions({ code: 8, data: Buffer.from(received) })
    const { answer } = await ask({ reply }, patience, '192.0.2.0/24')
    expect(answer).toMatchObject({ status: 'MALFORMED', records: [] })
  })
})

/** Asks on a clock that moves on only when the try before has come and been answered: nothing is late on it. */
async function askByTries(options: FakeDnsServerOptions, tries: number, clientSubnet?: string) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  await using server = await fakeDnsServer({ records: [rightRecord], ...options })
  const client = createDnsClient()
  const network = clientSubnet === undefined ? {} : { clientSubnet }
  const query = client.query({ name: 'example.com', type: 'A', server, timeoutMs: 1000, ...network })
  const aTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
  for (const [before, waitMs] of [300, 350, 350].slice(0, tries).entries()) {
    while (server.queries.length <= before) await aTurn()
    // An answer that was sent is there at the next turn.
    for (let turns = 0; turns < 20; turns += 1) await aTurn()
    vi.advanceTimersByTime(waitMs)
  }
  const answer = await query
  await client.close()
  return { answer, queries: server.queries }
}

/** Answers the first try once this many have come, and no other. */
function firstAfter(tries: number, message?: Forge): FakeDnsServerOptions {
  const enough = Promise.withResolvers<void>()
  let come = 0
  return {
    async reply(query) {
      come += 1
      if (come === tries) enough.resolve()
      if (come > 1) return null
      await enough.promise
      return message?.(query)
    },
  }
}

describe.concurrent('the outcome is known before the deadline', () => {
  test.each<[string, FakeDnsServerOptions['reply'], string, number]>([
    ['a bare SERVFAIL', (query) => bare(query, 2), 'SERVFAIL', 2],
    ['a bare REFUSED', (query) => bare(query, 5), 'REFUSED', 2],
    ['a bare FORMERR', (query) => bare(query, 1), 'FORMERR', 2],
    ['A of 3 octets', dataOf(1, ip.subarray(1)), 'MALFORMED', 2],
    ['a message that is cut over TCP too', (query) => query.answer().subarray(0, 40), 'MALFORMED', 3],
  ])('%s, from each port', async (_, reply, status, count) => {
    const { answer, queries } = await ask({ reply: reply! }, 60_000)
    expect(answer.status).toBe(status)
    expect(queries).toHaveLength(count)
    expect(new Set(queries.map(({ clientPort }) => clientPort)).size).toBe(count)
  })
})

test('a bare error that comes from one port only, however often, is not believed', async () => {
  const first = new Set<number>()
  const { answer } = await ask(
    {
      reply(query) {
        if (first.size === 0) first.add(query.clientPort)
        return first.has(query.clientPort) ? Array<Buffer>(50).fill(bare(query, 5)) : null
      },
    },
    patience,
  )
  expect(answer).toMatchObject({ status: 'TIMEOUT', records: [] })
})

describe('a lazy server', () => {
  test.each([
    // What cannot be read is asked for once more.
    ['of another network', [0, 1, 24, 24, 192, 0, 3], { status: 'MALFORMED', records: [] }, 4],
    ['that was sent', [0, 1, 24, 16, 192, 0, 2], { status: 'NOERROR', clientSubnetScope: 16 }, 3],
  ])(
    'answers the first try, with a subnet %s, when the last without EDNS is out',
    async (_, data, expected, tries) => {
      const late = firstAfter(3, (query) => query.answer({ options: [{ code: 8, data: Buffer.from(data) }] }))
      const { answer, queries } = await askByTries(late, 3, '192.0.2.0/24')
      expect(answer).toMatchObject(expected)
      expect(queries.length).toBe(tries)
    },
  )

  test('answers the first try when the second is out', async () => {
    const { answer, queries } = await askByTries(firstAfter(2), 2)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
    expect(queries.length).toBe(2)
  })

  test.each([
    ['FORMERR', (query: FakeDnsQuery) => bare(query, 1)],
    ['what cannot be read', dataOf(1, ip.subarray(1))],
  ])('answers both tries with %s when the second is out, and the one without EDNS', async (_, refuse) => {
    const second = Promise.withResolvers<void>()
    let come = 0
    const reply = async (query: FakeDnsQuery) => {
      if (withoutOpt(query)) return undefined
      come += 1
      if (come === 2) second.resolve()
      await second.promise
      return refuse(query)
    }
    const { answer } = await askByTries({ reply }, 2)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
  })

  test('answers the third query only', async () => {
    const { answer, queries } = await askByTries({ drop: 2 }, 3)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
    expect(new Set(queries.map((query) => query.id)).size).toBe(3)
    expect(new Set(queries.map((query) => query.clientPort)).size).toBe(3)
    expect(queries.map((query) => query.udpPayloadSize)).toEqual([1232, 1232, null])
  })

  test('answers nothing with EDNS', async () => {
    const { answer } = await askByTries({ reply: (query) => (withoutOpt(query) ? undefined : null) }, 3)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
  })
})
