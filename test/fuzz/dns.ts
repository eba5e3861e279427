import assert from 'node:assert/strict'
import { FrameReader } from '../../src/dns/tcp.ts'
import { recordText, summarizeDnsCheck } from 'utility-api'
import { createDohClient } from 'utility-api/dns'
import { printable } from '../../adapters/cli/terminal/terminal-text.ts'
import { typeNumbers } from '../../src/dns/wire/constants.ts'
import {
  contentOfPresentation,
  contentOfRecord,
  presentationExamples,
} from '../../src/domain/dns-record-content.ts'
import { readAnswer } from '../../src/dns/wire/answer.ts'
import { cutError, formatError, maxSteps, ReadingBudget, sizeError } from '../../src/dns/wire/budget.ts'
import { encodeQuery, type EncodedQuery } from '../../src/dns/wire/encoded-query.ts'
import { isReplyTo, readReply, readSections } from '../../src/dns/wire/reply.ts'
import { recordJsonBytes } from '../../src/domain/dns-answer-limit.ts'
import type { DnsAnswer } from '../../src/domain/dns-answer.ts'
import { recordTypes, type DnsRecord, type RecordType } from '../../src/domain/dns-record.ts'
import { encodeData, words } from '../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery, type FakeDnsQuery } from '../../src/testing/dns-query.ts'
import { recordsOfPointers, txtOfOctets } from '../dns/support/bombs.ts'
import { pointerChain, rawRecord, rawReply } from '../dns/support/messages.ts'
import { plainOf, readPlainly, type PlainReply } from '../dns/support/plain-reply.ts'
import { cut } from './mutate.ts'
import type { Random } from './random.ts'
import { unlessRefused, type FuzzTarget } from './target.ts'

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
  assert.equal(
    reply !== 'unrelated' && !(typeof reply === 'object' && reply.isBare),
    isReplyTo(message, query),
  )
  if (!isReplyTo(message, query) || reply === 'truncated') return
  const budget = new ReadingBudget()
  try {
    readSections(message, query, budget)
  } catch (error) {
    assert.equal(error, errors[reply as keyof typeof errors], 'refused once and read once')
  }
  // The strings of a record are counted together.
  assert(budget.steps <= maxSteps + message.length, `${budget.steps} steps`)
  const plain = plainly(message, query)
  if (typeof reply === 'string') {
    // Where both are true, it depends on what is read first.
    if (reply !== 'too large' && budget.steps <= maxSteps) assert.equal(plain, null)
    return
  }
  assert.deepEqual(plainOf(readAnswer(message, query, 'udp', 0) as DnsAnswer), plain)
  assert(reply.cnameChain.length <= message.length)
  const bytes = reply.records.reduce((sum, record) => sum + recordJsonBytes(record), 1)
  assert.equal(
    bytes,
    Math.max(1, Buffer.byteLength(JSON.stringify(reply.records)) - (reply.records.length ? 0 : 1)),
  )
  assert(message.length <= 1232 || bytes <= largestJson, `${bytes} bytes of JSON`)
  for (const record of reply.records) assert.equal(record.type, query.type)
}

const errors = { malformed: formatError, cut: cutError, 'too large': sizeError }

/** What a second reader makes of a reply; null for one that is malformed or cut. */
function plainly(message: Buffer, query: EncodedQuery): PlainReply | null {
  try {
    return readPlainly(message, query)
  } catch {
    return null
  }
}

function framed(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(messages.flatMap((message) => [words(message.length), message]))
}

function framesOf(chunks: readonly Buffer[]): Buffer[] {
  const reader = new FrameReader()
  return chunks.flatMap((chunk) => reader.add(chunk))
}

function streamOf(chunks: readonly Buffer[]): ReadableStream {
  const left = chunks.values()
  return new ReadableStream({
    pull(controller) {
      const { done, value } = left.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

/** An endpoint that answers whatever is asked: with this status and media type, its body in pieces. */
function endpoint(status: number, type: string, body: Buffer, random: Random): typeof fetch {
  return async () => {
    const headers = type === '' ? {} : { 'Content-Type': type }
    return new Response(status === 204 ? null : streamOf(cut(body, random)), { status, headers })
  }
}

const mediaTypes = ['application/dns-message', 'Application/DNS-Message; charset=x', 'text/html', '']
const server = { ip: '192.0.2.1', doh: 'https://dns.example/' }

/** A record of any type with these octets as its data; null if they are none. */
function recordOf(query: EncodedQuery, data: Buffer): DnsRecord | null {
  const fake = readFakeDnsQuery(query.message, 'tcp', 1, {}) as FakeDnsQuery
  const answer = rawReply(fake, { answers: [rawRecord({ type: typeNumbers[query.type], data })] })
  return readAnswer(answer, query, 'tcp', 0)?.records[0] ?? null
}

/** What a record in presentation form looks like, at least. */
const forms: Readonly<Record<Exclude<RecordType, 'TXT'>, RegExp>> = {
  A: /^\d+(?:\.\d+){3}$/,
  AAAA: /^[\da-f]*:[\da-f:]*[\da-f:.]+$/i,
  NS: /^\S+$/,
  PTR: /^\S+$/,
  CNAME: /^\S+$/,
  MX: /^\d{1,10}\s+\S+$/,
  SRV: /^(?:\d{1,10}\s+){3}\S+$/,
  SOA: /^(?:\S+\s+){2}(?:\d{1,10}\s+){4}\d{1,10}$/,
  CAA: /^\d+\s+\S+\s+/,
  DS: /^(?:\d{1,10}\s+){3}[\da-f\s]+$/i,
  DNSKEY: /^(?:\d{1,10}\s+){3}[\w+/\s]+[=\s]*$/,
}

function questionOf(input: Buffer): EncodedQuery {
  return questions[(input[0] ?? 0) % questions.length] as EncodedQuery
}

export const dnsTargets: readonly FuzzTarget[] = [
  {
    name: 'a DNS reply over UDP',
    corpus,
    check: (input) => checkReply(input.subarray(1), questionOf(input)),
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
      const whole = framed(frames)
      assert(whole.equals(stream.subarray(0, whole.length)))
      const left = stream.length - whole.length
      assert(left < 2 || left < 2 + stream.readUInt16BE(whole.length), 'a whole message is left')
      for (const frame of frames) checkReply(frame, questionOf(input))
    },
  },
  {
    name: 'an answer over HTTPS',
    corpus: corpus.flatMap((entry, index) => [
      Buffer.concat([entry.subarray(0, 1), Buffer.of(index % 9 === 0 ? index : 0), entry.subarray(1)]),
    ]),
    async check(input, random) {
      const query = questionOf(input)
      const [, how = 0] = input
      const [status, type] = [[200, 203, 204, 404][how & 3] as number, mediaTypes[(how >> 2) & 3] as string]
      const body = input.subarray(2)
      const client = createDohClient({ fetch: endpoint(status, type, body, random) })
      const answer = await client.query({ name: host, type: query.type, server, timeoutMs: 10_000 })
      await client.close()
      const isMessage = status < 300 && /^application\/dns-message\b/i.test(type)
      const read = isMessage && status !== 204 ? readAnswer(body, query, 'https', 0) : null
      if (read === null) assert.equal(answer.status, 'UNREACHABLE')
      else assert.deepEqual(plainOf(answer), plainOf(read))
    },
  },
  {
    name: 'a DNS record as text',
    corpus: questions.map((query, index) =>
      Buffer.concat([
        Buffer.of(index),
        encodeData({ type: query.type, host, ttl: 1, ...rest[query.type] } as DnsRecord),
      ]),
    ),
    check(input) {
      const record = recordOf(questionOf(input), input.subarray(1))
      if (record === null) return
      const text = recordText(record)
      assert.equal(printable(text), text)
      assert.equal(contentOfPresentation(record.type, text), contentOfRecord(record))
      const result = { location: '', ip: '', provider: '', resolved: true, latency_ms: 1, ttl: 1 }
      const results = [{ ...result, status: 'NOERROR' as const, dns_results: [record] }]
      const { verdict } = summarizeDnsCheck(results, { recordType: record.type, expected: [text] })
      assert.equal(verdict, 'arrived')
    },
  },
  {
    name: 'an expected DNS record',
    corpus: recordTypes.flatMap((type, index) =>
      [presentationExamples[type], String.raw`0 a\032b "a\"b" "c\\\195"`, String.raw`"a\"b" "c\\\195"`].map(
        (text) => Buffer.concat([Buffer.of(index), Buffer.from(text)]),
      ),
    ),
    check(input) {
      const { type } = questionOf(input)
      const text = input.toString('utf8', 1)
      const content = contentOfPresentation(type, text)
      const summary = unlessRefused(
        () => summarizeDnsCheck([], { recordType: type, contains: [text] }),
        ['invalid_argument'],
      )
      assert.equal(summary === undefined, content === null)
      if (content === null || type === 'TXT') return
      assert.match(text.trim(), forms[type])
      if (type === 'CAA') return
      assert.equal(contentOfPresentation(type, content), content, 'the content of a record is one')
    },
  },
]
