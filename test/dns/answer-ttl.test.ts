/** For how long an answer holds, by what the reply says. */
import { afterAll, expect, test } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import type { DnsRecord } from '../../src/domain/dns-record.ts'
import { encodeName, words } from '../../src/testing/dns-encoding.ts'
import { fakeDnsServer, type FakeDnsQuery, type FakeDnsReply } from '../../src/testing/dns-server.ts'
import { rawRecord, rawReply } from './support/messages.ts'

const client = createDnsClient()
let reply: (query: FakeDnsQuery) => FakeDnsReply
const server = await fakeDnsServer({ rcode: 'NOERROR', reply: (query) => reply(query) })
afterAll(async () => {
  await client.close()
  await server.close()
})

const address = (host: string, ttl: number, last: number): DnsRecord => ({
  type: 'A',
  host,
  ttl,
  ip: `192.0.2.${last}`,
})
const alias = (host: string, target: string, ttl: number): DnsRecord => ({ type: 'CNAME', host, ttl, target })
const aliasOnWire = (target: string, ttl: number): Buffer =>
  rawRecord({ type: 5, ttl, data: encodeName(target) })
const soa = (ttl: number, minimum: number): Buffer =>
  rawRecord({
    type: 6,
    ttl,
    data: Buffer.concat([
      encodeName('ns.example.com'),
      encodeName('admin.example.com'),
      words(0, 1, 0, 7200, 0, 3600, 1, 0, minimum >>> 16, minimum & 0xffff),
    ]),
  })
const noError = 0x8180
const serverFailure = 0x8182
const nameError = 0x8183

const cases: Record<string, { reply: typeof reply; ttlSeconds: number | undefined }> = {
  'the smallest TTL of its records': {
    reply: (query) =>
      query.answer({ records: [300, 20, 60].map((ttl, index) => address('example.com', ttl, index)) }),
    ttlSeconds: 20,
  },
  'the smallest TTL of its aliases, if that is smaller': {
    reply: (query) =>
      query.answer({
        records: [
          alias('example.com', 'a.example.com', 30),
          alias('a.example.com', 'b.example.com', 1),
          address('b.example.com', 300, 1),
        ],
      }),
    ttlSeconds: 1,
  },
  'no time at all': {
    reply: (query) => query.answer({ records: [address('example.com', 0, 1)] }),
    ttlSeconds: 0,
  },
  'the MINIMUM of the SOA record, for a name that does not exist': {
    reply: (query) => rawReply(query, { flags: nameError, authorities: [soa(3600, 5)] }),
    ttlSeconds: 5,
  },
  'that of the name that does not exist, and not of its records': {
    reply: (query) =>
      rawReply(query, {
        flags: nameError,
        answers: [rawRecord({ type: 1, ttl: 60, data: Buffer.of(192, 0, 2, 1) })],
        authorities: [soa(3600, 5)],
      }),
    ttlSeconds: 5,
  },
  'the MINIMUM of the shortest SOA record, whose names are the root': {
    reply: (query) =>
      rawReply(query, {
        flags: nameError,
        authorities: [
          rawRecord({ type: 6, data: Buffer.concat([Buffer.alloc(2 + 16), Buffer.of(0, 0, 0, 7)]) }),
        ],
      }),
    ttlSeconds: 7,
  },
  'the TTL of the SOA record, if that is smaller': {
    reply: (query) => rawReply(query, { flags: noError, authorities: [soa(4, 3600)] }),
    ttlSeconds: 4,
  },
  'the TTL of an alias to a name that does not exist': {
    reply: (query) =>
      rawReply(query, {
        flags: nameError,
        answers: [aliasOnWire('gone.example.com', 2)],
        authorities: [soa(3600, 3600)],
      }),
    ttlSeconds: 2,
  },
  'no time that is known, without an SOA record': {
    reply: (query) => rawReply(query, { flags: nameError }),
    ttlSeconds: undefined,
  },
  'no time that is known, where the SOA record is too short to have a MINIMUM': {
    reply: (query) =>
      rawReply(query, { flags: nameError, authorities: [rawRecord({ type: 6, data: Buffer.alloc(21) })] }),
    ttlSeconds: undefined,
  },
  'no time that is known, where the SOA record is in another section': {
    reply: (query) => rawReply(query, { flags: nameError, additionals: [soa(60, 60)] }),
    ttlSeconds: undefined,
  },
  'no time that is known, for a failure': {
    reply: (query) => rawReply(query, { flags: serverFailure, authorities: [soa(60, 60)] }),
    ttlSeconds: undefined,
  },
}

test.each(Object.entries(cases))('an answer holds for %s', async (_, { reply: toSend, ttlSeconds }) => {
  reply = toSend
  const answer = await client.query({ name: 'example.com', type: 'A', server })
  expect(answer.ttlSeconds).toBe(ttlSeconds)
})

/** For how long resolvers may keep the parts of an answer, whatever else holds for less. */
const partCases: Record<string, { reply: typeof reply; negative?: number; cname?: number }> = {
  'of a name that does not exist, behind an alias that changes sooner': {
    reply: cases['the TTL of an alias to a name that does not exist']!.reply,
    negative: 3600,
    cname: 2,
  },
  'of records behind two aliases': {
    reply: cases['the smallest TTL of its aliases, if that is smaller']!.reply,
    cname: 30,
  },
  'of a name without such records': {
    reply: (query) => rawReply(query, { flags: noError, authorities: [soa(4, 3600)] }),
    negative: 4,
  },
  'of records, whatever SOA record stands beside them': {
    reply: (query) =>
      rawReply(query, {
        answers: [rawRecord({ data: Buffer.of(192, 0, 2, 1) })],
        authorities: [soa(60, 60)],
      }),
  },
  'of a failure': { reply: cases['no time that is known, for a failure']!.reply },
}

test.each(Object.entries(partCases))('the parts %s', async (_, { reply: toSend, negative, cname }) => {
  reply = toSend
  const answer = await client.query({ name: 'example.com', type: 'A', server })
  expect([answer.negativeTtlSeconds, answer.cnameTtlSeconds]).toEqual([negative, cname])
})
