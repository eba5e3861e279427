import assert from 'node:assert/strict'
import { FrameReader } from '../../../src/dns/tcp.ts'
import { maxSteps, ReadingBudget } from '../../../src/dns/wire/budget.ts'
import { headerLength } from '../../../src/dns/wire/constants.ts'
import { encodeQuery, type EncodedQuery } from '../../../src/dns/wire/encoded-query.ts'
import { readReply, readSections } from '../../../src/dns/wire/reply.ts'
import { recordJsonBytes } from '../../../src/domain/dns-answer-limit.ts'
import { recordTypes, type DnsRecord, type RecordType } from '../../../src/domain/dns-answer.ts'
import { words } from '../../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery, type FakeDnsQuery } from '../../../src/testing/dns-query.ts'
import { recordsOfPointers, txtOfOctets } from '../../dns/support/bombs.ts'
import { pointerChain } from '../../dns/support/messages.ts'
import { cut } from './mutate.ts'
import type { Random } from './random.ts'
import type { FuzzTarget } from './target.ts'

const host = 'example.com'
const rest: Record<RecordType, object> = {
  A: { ip: '192.0.2.1' },
  AAAA: { ip: '2001:db8::1', ipv6: '2001:db8::1' },
  MX: { pri: 10, target: 'mail.example.com' },
  NS: { target: 'ns.example.com' },
  PTR: { target: 'host.example.com' },
  CNAME: { target: 'www.example.com' },
  SOA: {
    mname: 'ns.example.com',
    rname: 'hostmaster.example.com',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    'minimum-ttl': 5,
  },
  TXT: { txt: 'v=spf1 -all', entries: ['v=spf1', ' -all'] },
  SRV: { pri: 1, weight: 2, port: 3, target: 'srv.example.com' },
  CAA: { flags: 0, tag: 'issue', value: 'ca.example' },
  DS: { key_tag: 1, algorithm: 8, digest_type: 2, digest: 'AB'.repeat(32) },
  DNSKEY: { flags: 257, protocol: 3, algorithm: 13, public_key: 'AAEC', key_tag: 1 },
}

/** Each question with its right answers, and with those that are small on the wire and large once read. */
const questions: readonly EncodedQuery[] = recordTypes.map((type) => encodeQuery(host, type))
const largest = 800

function repliesTo(query: EncodedQuery): Buffer[] {
  const alias = { type: 'CNAME', host, ttl: 60, target: 'www.example.com' }
  const record = { type: query.type, host, ttl: 60, ...rest[query.type] }
  const fake = readFakeDnsQuery(query.message, 'udp', 1, {}) as FakeDnsQuery
  const ede = { code: 15, data: Buffer.from('\0\x16no reachable authority', 'latin1') }
  return [
    fake.answer({ records: [record] as DnsRecord[], options: [ede] }),
    fake.answer({ records: [alias, { ...record, host: 'www.example.com' }] as DnsRecord[] }),
    fake.answer({ records: [], rcode: 3 }),
    recordsOfPointers(fake, query.type, largest),
  ]
}

/** The first octet says which question the rest is an answer to. */
const corpus: readonly Buffer[] = questions.flatMap((query, index) => {
  const fake = readFakeDnsQuery(query.message, 'udp', 1, {}) as FakeDnsQuery
  const bombs = [pointerChain(fake, 60, 60), txtOfOctets(fake, 6)]
  return [...repliesTo(query), ...(index === 0 ? bombs : [])].map((reply) =>
    Buffer.concat([Buffer.of(index), reply]),
  )
})

const largestJson = 256 * 1024

function checkReply(message: Buffer, query: EncodedQuery): void {
  const reply = readReply(message, query)
  if (reply === 'unrelated' || reply === 'truncated') return
  // Of an error without a question there is nothing to read.
  if (message.length === headerLength || message.readUInt16BE(4) === 0) return
  const budget = new ReadingBudget()
  try {
    readSections(message, query, budget)
  } catch (error) {
    assert.equal(typeof reply, 'string', `refused once and read once: ${String(error)}`)
  }
  // The strings of a record are counted together.
  assert(budget.steps <= maxSteps + message.length, `${budget.steps} steps`)
  if (typeof reply === 'string') return
  assert(reply.cnameChain.length <= 16)
  const bytes = reply.records.reduce((sum, record) => sum + recordJsonBytes(record), 1)
  assert.equal(
    bytes,
    Math.max(1, Buffer.byteLength(JSON.stringify(reply.records)) - (reply.records.length ? 0 : 1)),
  )
  assert(message.length <= 1232 || bytes <= largestJson, `${bytes} bytes of JSON`)
  for (const record of reply.records) assert.equal(record.type, query.type)
}

function framed(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(messages.flatMap((message) => [words(message.length), message]))
}

function framesOf(chunks: readonly Buffer[]): Buffer[] {
  const reader = new FrameReader()
  return chunks.flatMap((chunk) => reader.add(chunk))
}

export const dnsTargets: readonly FuzzTarget[] = [
  {
    name: 'a DNS reply over UDP',
    corpus,
    check(input) {
      checkReply(input.subarray(1), questions[(input[0] ?? 0) % questions.length] as EncodedQuery)
    },
  },
  {
    name: 'DNS replies over TCP',
    corpus: corpus
      .filter(({ length }) => length < 500)
      .map((entry) => Buffer.concat([entry.subarray(0, 1), framed([entry.subarray(1), entry.subarray(1)])])),
    check(input, random: Random) {
      const stream = input.subarray(1)
      const frames = framesOf([stream])
      assert.deepEqual(framesOf(cut(stream, random)), frames, 'a stream means the same however it is cut')
      assert(framed(frames).equals(stream.subarray(0, framed(frames).length)))
      for (const frame of frames)
        checkReply(frame, questions[(input[0] ?? 0) % questions.length] as EncodedQuery)
    },
  },
]
