/** Three more answers of each odd kind, with what dig or an RFC makes of them. */
import { createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { describe, expect, test } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import type { DnsRecord, RecordType } from '../../src/domain/dns-record.ts'
import { encodeName, words } from '../../src/testing/dns-encoding.ts'
import { fakeDnsServer, type FakeDnsQuery } from '../../src/testing/dns-server.ts'
import { rawRecord, rawReply, rightRecord } from './support/messages.ts'

interface Case {
  readonly type?: RecordType
  readonly clientSubnet?: string
  reply(query: FakeDnsQuery): Uint8Array | undefined
  readonly expected: object
}

const ip = Buffer.of(192, 0, 2, 1)
const right = { status: 'NOERROR', records: [rightRecord] }
const withoutEdns = ({ udpPayloadSize }: FakeDnsQuery): boolean => udpPayloadSize === null
const opt = rawRecord({ owner: Buffer.of(0), type: 41, class: 1232, ttl: 0, data: Buffer.alloc(0) })
const soa = rawRecord({ type: 6, data: Buffer.alloc(22) })
const string = (octets: Buffer): Buffer => Buffer.concat([Buffer.of(octets.length), octets])
const ns = (owner: string, target: string): Buffer =>
  rawRecord({ owner: encodeName(owner), type: 2, data: encodeName(target) })
/** Neither AA nor RA. */
const notRecursive = 0x8100
const bare = (query: FakeDnsQuery, flags: number, counts: number[], rest: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([words(query.id, flags, ...counts), rest])

/** So many aliases from `example.com` on, and the address at their end. */
function chain(count: number): DnsRecord[] {
  const names = Array.from({ length: count + 1 }, (_, at) => (at === 0 ? 'example.com' : `n${at}.example`))
  const aliases = names.slice(0, -1).map((host, at): DnsRecord => {
    return { type: 'CNAME', host, ttl: 60, target: names[at + 1] ?? '' }
  })
  return [...aliases, { ...rightRecord, host: names.at(-1) ?? '' }]
}

const kinds: Record<string, Record<string, Case>> = {
  'one odd record does not hide its set': {
    'a text of octets beside a plain one': {
      type: 'TXT',
      reply: (query) =>
        rawReply(query, {
          answers: [string(Buffer.of(0xff, 0x00)), string(Buffer.from('plain'))].map((data) =>
            rawRecord({ type: 16, data }),
          ),
        }),
      expected: { status: 'NOERROR', records: [{ txt: '\\255\\000', base64: ['/wA='] }, { txt: 'plain' }] },
    },
    'a CAA tag of 255 octets beside a plain one': {
      type: 'CAA',
      reply: (query) =>
        rawReply(query, {
          answers: [Buffer.alloc(255, 'x'), Buffer.from('issue')].map((tag) =>
            rawRecord({ type: 257, data: Buffer.concat([Buffer.of(0), string(tag), Buffer.from('ca')]) }),
          ),
        }),
      expected: { status: 'NOERROR', records: [{ tag: 'x'.repeat(255) }, { tag: 'issue', value: 'ca' }] },
    },
    'a mail server with a zero and a dot in its label beside a plain one': {
      type: 'MX',
      reply: (query) =>
        rawReply(query, {
          answers: [Buffer.from('\x03a\0.\x00', 'latin1'), encodeName('mail.example')].map((name) =>
            rawRecord({ type: 15, data: Buffer.concat([words(10), name]) }),
          ),
        }),
      expected: { status: 'NOERROR', records: [{ target: 'a\\000\\.' }, { target: 'mail.example' }] },
    },
  },
  'a referral says nothing of the name': {
    'to the root, as servers send it for zones that they do not serve': {
      reply: (query) =>
        rawReply(query, { flags: notRecursive, authorities: [ns('.', 'a.root-servers.net')] }),
      expected: {
        status: 'REFERRAL',
        records: [],
        referral: { zone: '.', nameServers: ['a.root-servers.net'] },
      },
    },
    'with the address of the very name as glue': {
      reply: (query) =>
        rawReply(query, {
          flags: notRecursive,
          authorities: [ns('example.com', 'example.com')],
          additionals: [rawRecord({ data: ip })],
        }),
      expected: { referral: { zone: 'example.com', nameServers: ['example.com'] }, records: [] },
    },
    'to a signed zone': {
      reply: (query) =>
        rawReply(query, {
          flags: notRecursive,
          authorities: [
            ns('example.com', 'ns.example'),
            rawRecord({ type: 43, data: Buffer.concat([words(1), Buffer.of(13, 2), Buffer.alloc(32)]) }),
          ],
        }),
      expected: { referral: { zone: 'example.com', nameServers: ['ns.example'] }, records: [] },
    },
    'to thirteen servers at most, and to one zone': {
      reply: (query) =>
        rawReply(query, {
          flags: notRecursive,
          authorities: [
            ns('Example.com', 'NS0.example'),
            ns('example.net', 'elsewhere.example'),
            ...Array.from({ length: 20 }, (_, at) => ns('example.com', `ns${at + 1}.example`)),
          ],
        }),
      expected: {
        referral: {
          zone: 'example.com',
          nameServers: ['NS0.example', ...Array.from({ length: 12 }, (_, at) => `ns${at + 1}.example`)],
        },
      },
    },
  },
  'aliases are followed as far as the message goes': {
    'forty, the last one first': {
      reply: (query) => query.answer({ records: chain(40).toReversed() }),
      expected: { status: 'NOERROR', cnameChain: { length: 40 }, records: [{ host: 'n40.example' }] },
    },
    'with the DNAME that they are made from': {
      reply: (query) =>
        rawReply(query, {
          answers: [
            rawRecord({ owner: encodeName('com'), type: 39, data: encodeName('net') }),
            rawRecord({ type: 5, data: encodeName('example.net') }),
            rawRecord({ owner: encodeName('example.net'), data: ip }),
          ],
        }),
      expected: { status: 'NOERROR', cnameChain: ['example.net'], records: [{ host: 'example.net' }] },
    },
    'nine, and nothing behind them from a resolver that follows more': {
      reply: (query) => query.answer({ records: chain(9).slice(0, -1), rcode: 'NOERROR' }),
      expected: { status: 'NODATA', cnameChain: { length: 9 }, records: [] },
    },
  },
  'an error without a question is believed from two ports': {
    'SERVFAIL that counts a question which is not there': {
      reply: (query) => bare(query, 0x8182, [1, 0, 0, 0]),
      expected: { status: 'SERVFAIL', records: [] },
    },
    'REFUSED with every other bit set': {
      reply: (query) => bare(query, 0x85f5, [0, 0, 0, 0]),
      expected: { status: 'REFUSED', records: [] },
    },
    'REFUSED with an OPT record': {
      reply: (query) => bare(query, 0x8185, [0, 0, 0, 1], opt),
      expected: { status: 'REFUSED', records: [] },
    },
  },
  'an OPT record out of place is a format error, and the question goes without EDNS': {
    'alone in the answer section': {
      reply: (query) => (withoutEdns(query) ? undefined : rawReply(query, { answers: [opt] })),
      expected: right,
    },
    'in the authority section and at its place': {
      reply: (query) =>
        withoutEdns(query) ? undefined : rawReply(query, { authorities: [opt], additionals: [opt] }),
      expected: right,
    },
    'behind the answer, over TCP': {
      reply(query) {
        if (query.transport === 'udp') return rawReply(query, { flags: 0x8380 })
        return withoutEdns(query) ? undefined : rawReply(query, { answers: [rawRecord({ data: ip }), opt] })
      },
      expected: { ...right, transport: 'tcp' },
    },
  },
  'a datagram cut without saying so goes to TCP': {
    'at 512 octets': {
      reply: (query) =>
        query.transport === 'tcp'
          ? undefined
          : rawReply(query, { answers: Array<Buffer>(40).fill(rawRecord({ data: ip })) }).subarray(0, 512),
      expected: { ...right, transport: 'tcp' },
    },
    'in the owner of a record': {
      reply: (query) =>
        query.transport === 'tcp'
          ? undefined
          : rawReply(query, { answers: [rawRecord({ owner: Buffer.of(0xc0), data: ip }).subarray(0, 1)] }),
      expected: { ...right, transport: 'tcp' },
    },
    'in the OPT record, which may hold the code, behind nothing': {
      reply: (query) =>
        query.transport === 'tcp' ? undefined : rawReply(query, { additionals: [opt] }).subarray(0, -4),
      expected: { ...right, transport: 'tcp' },
    },
    'in the OPT record that a client subnet would be in': {
      clientSubnet: '192.0.2.0/24',
      reply: (query) => (query.transport === 'tcp' ? undefined : query.answer().subarray(0, -4)),
      expected: { ...right, transport: 'tcp' },
    },
  },
  'what is cut behind the answer': {
    'is not missed': {
      reply: (query) => query.answer().subarray(0, -4),
      expected: { ...right, transport: 'udp' },
    },
    'is not missed over TCP either': {
      reply: (query) =>
        query.transport === 'tcp'
          ? rawReply(query, { counts: [1, 1, 0, 2], answers: [rawRecord({ data: ip })], additionals: [opt] })
          : rawReply(query, { flags: 0x8380 }),
      expected: { ...right, transport: 'tcp' },
    },
    'is not missed behind an SOA record': {
      reply: (query) => rawReply(query, { counts: [1, 0, 1, 1], authorities: [soa] }),
      expected: { status: 'NODATA', negativeTtlSeconds: 0, transport: 'udp' },
    },
  },
}

describe.concurrent.each(Object.entries(kinds))('%s', (_kind, cases) => {
  test.each(Object.entries(cases))('%s', async (_, { type = 'A', reply, expected, ...asked }) => {
    await using server = await fakeDnsServer({ records: [rightRecord], reply })
    const client = createDnsClient()
    const answer = await client.query({ name: 'example.com', type, server, ...asked })
    await client.close()
    expect(answer).toMatchObject(expected)
  })
})

test.each<[string, RecordType]>([
  ['1.128/26.2.0.192.in-addr.arpa', 'PTR'],
  ['a\\000b\\.c.-x-.example', 'A'],
  ['.', 'MX'],
])('%s can be asked, and so can what is shown of it: %s', async (name, type) => {
  const names: string[] = []
  await using server = await fakeDnsServer({
    reply(query) {
      names.push(query.name)
      const target = encodeName('target.example')
      const data = { PTR: target, MX: Buffer.concat([words(10), target]), A: ip }[
        query.type as 'PTR' | 'MX' | 'A'
      ]
      const number = { PTR: 12, MX: 15, A: 1 }[query.type as 'PTR' | 'MX' | 'A']
      return rawReply(query, { answers: [rawRecord({ type: number, data })] })
    },
  })
  const location = { location: 'Here', provider: 'Us', ip: server.ip, port: server.port }
  const api = createUtilityApi({ storage: memoryStorage(), dns: { locations: [location], cacheTtlMs: 0 } })
  const [first] = await api.checkDns({ domain: name, recordType: type })
  const host = first?.dns_results[0]?.host ?? ''
  expect(first).toMatchObject({ status: 'NOERROR', resolved: true })
  const [second] = await api.checkDns({ domain: host, recordType: type })
  await api.close()
  expect([host, second?.dns_results[0]?.host]).toEqual([name, name])
  expect(new Set(names).size).toBe(1)
})
