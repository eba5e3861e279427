import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { ReadingBudget, sizeError } from '../../src/dns/wire/budget.ts'
import { encodeQuery } from '../../src/dns/wire/encoded-query.ts'
import { readReply, readSections, type ParsedReply } from '../../src/dns/wire/reply.ts'
import {
  limitAnswer,
  maxRecordsJsonBytes,
  recordJsonBytes,
  withinAnswerLimit,
} from '../../src/domain/dns-answer-limit.ts'
import type { DnsAnswer } from '../../src/domain/dns-answer.ts'
import { recordTypes, type DnsRecord, type RecordType } from '../../src/domain/dns-record.ts'
import { systemClock } from '../../src/index.ts'
import { harmlessLogger } from '../../src/http/log.ts'
import { checkDns } from '../../src/operations/check-dns.ts'
import { timedDnsClient } from '../../src/bounds/timed-clients.ts'
import { createResultCache } from '../../src/bounds/result-cache.ts'
import { words } from '../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { fakeDnsServer, type FakeDnsQuery } from '../../src/testing/dns-server.ts'
import { name, recordOf } from './support/arbitrary-records.ts'
import { aliasesOfPointers, recordsOfPointers, txtOfOctets } from './support/bombs.ts'
import { rawRecord, rawReply, rightRecord } from './support/messages.ts'
import { ampleBudget, callerNamed, callWith, valueOf } from '../operations/support/calls.ts'
import { codePoint } from '../support/code-point.ts'

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

function ask(type: RecordType) {
  const query = encodeQuery('example.com', type)
  return { query, asked: readFakeDnsQuery(query.message, 'udp', 0, {})! }
}

describe('the size of records as JSON', () => {
  /** The first and the last units of each length in UTF-8, and of the halves of pairs. */
  const edges = '\u0000\u007F\u0080\u07FF\u0800\uD7FF\uD800\uDBFF\uDC00\uDFFF\uE000\uFFFF'.split('')
  const anyText = fc.oneof(
    fc.string({ unit: codePoint }),
    fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }),
    fc.string({ unit: fc.constantFrom(...edges) }),
  )
  const anyTxt = fc
    .record({ txt: anyText, entries: fc.array(anyText), host: anyText, ttl: fc.nat() })
    .map((fields): DnsRecord => ({ type: 'TXT', ...fields }))

  test('is that of JSON.stringify, to the byte', () => {
    const anyRecord = fc.oneof(
      anyTxt,
      ...recordTypes.map((type) => name.chain((host) => recordOf(type, host))),
    )
    fc.assert(
      fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 5 }), (records) => {
        expect(records.reduce((sum, record) => sum + recordJsonBytes(record), 1)).toBe(jsonBytes(records))
      }),
      { numRuns: 1000 },
    )
  })

  test('may be the limit, but not more', () => {
    const recordsOf = (bytes: number): DnsRecord[] => {
      const record: DnsRecord = { type: 'CAA', host: 'a.test', ttl: 1, flags: 0, tag: 'issue', value: '' }
      return [rightRecord, { ...record, value: 'x'.repeat(bytes - jsonBytes([rightRecord, record])) }]
    }
    expect(jsonBytes(recordsOf(maxRecordsJsonBytes))).toBe(256 * 1024)
    expect(withinAnswerLimit(recordsOf(maxRecordsJsonBytes))).toBe(true)
    expect(withinAnswerLimit(recordsOf(maxRecordsJsonBytes + 1))).toBe(false)
    expect(withinAnswerLimit([])).toBe(true)
  })

  test('is not measured beyond the first record over the limit', () => {
    let read = 0
    const records = Array.from({ length: 1000 }, () => ({
      ...rightRecord,
      get host() {
        read += 1
        return 'x'.repeat(64 * 1024)
      },
    })) as DnsRecord[]
    expect(withinAnswerLimit(records)).toBe(false)
    expect(read).toBe(4)
  })
})

describe('a reply that is too large', () => {
  test('of octets that are not text is refused before its text is made', () => {
    const { query, asked } = ask('TXT')
    const budget = new ReadingBudget()
    expect(() => readSections(txtOfOctets(asked), query, budget)).toThrow(sizeError)
    // Its joined text, in which JSON doubles each backslash.
    expect(budget.textBytes).toBe(5 * 250 * 255)
    expect(budget.jsonBytes).toBe(1)
  })

  test('is recognized by the exact bytes that its texts will take', () => {
    const { query, asked } = ask('TXT')
    const octets = fc.uint8Array({ maxLength: 255 })
    const text = fc.string({ unit: 'grapheme', maxLength: 60 }).map((each) => Buffer.from(each))
    const string = fc.oneof(octets, text).map((each) => Buffer.concat([Buffer.of(each.length), each]))
    fc.assert(
      fc.property(fc.array(string, { minLength: 1, maxLength: 20 }), (strings) => {
        const budget = new ReadingBudget()
        const message = rawReply(asked, { answers: [rawRecord({ type: 16, data: Buffer.concat(strings) })] })
        const [record] = readSections(message, query, budget).records
        const { txt, entries, base64 } = record as Extract<DnsRecord, { type: 'TXT' }>
        const beside = base64 === undefined ? 0 : jsonBytes(base64) - 1
        expect(budget.textBytes).toBe(jsonBytes(txt) - 2 + jsonBytes(entries) - 1 + beside)
        expect(budget.steps).toBe(1 + strings.length)
      }),
      { numRuns: 500 },
    )
  })

  test('is one byte over the limit', () => {
    const spent = (bytes: number) =>
      Object.assign(new ReadingBudget(), { textBytes: bytes, jsonBytes: bytes })
    const most = maxRecordsJsonBytes - recordJsonBytes(rightRecord)
    expect(() => spent(most).spendRecord(rightRecord)).not.toThrow()
    expect(() => spent(most + 1).spendRecord(rightRecord)).toThrow(sizeError)
    expect(() => spent(0).spendText(maxRecordsJsonBytes)).not.toThrow()
    expect(() => spent(1).spendText(maxRecordsJsonBytes)).toThrow(sizeError)
  })

  test.each(['NS', 'MX', 'SRV', 'SOA'] as const)(
    'of %s records with long names is left at the limit',
    (type) => {
      const { query, asked } = ask(type)
      const budget = new ReadingBudget()
      const message = recordsOfPointers(asked, type, 65_000)
      expect(message.length).toBeLessThan(65_536)
      expect(readReply(message, query)).toBe('too large')
      expect(() => readSections(message, query, budget)).toThrow(sizeError)
      expect(budget.jsonBytes).toBeLessThanOrEqual(maxRecordsJsonBytes + 4000)
      // Two or three names each for about a hundred records, not for thousands.
      expect(budget.steps).toBeLessThan(400)
    },
  )

  test('of characters that JSON escapes is refused, although its text is not long', () => {
    const { query, asked } = ask('TXT')
    const string = Buffer.concat([Buffer.of(255), Buffer.alloc(255)])
    const data = Buffer.concat(Array<Buffer>(100).fill(string))
    const message = rawReply(asked, { answers: [rawRecord({ type: 16, data })] })
    const budget = new ReadingBudget()
    expect(() => readSections(message, query, budget)).toThrow(sizeError)
    // Six octets for each, joined and in entries, and two quotes and a comma for each entry.
    expect(budget.textBytes).toBe(2 * 6 * 100 * 255 + 3 * 100)
    expect(budget.jsonBytes).toBe(1)
  })

  test('of very many addresses is read only up to the one too many', () => {
    const { query, asked } = ask('A')
    const record = rawRecord({ ttl: 86_400, data: Buffer.of(255, 255, 255, 255) })
    const each = recordJsonBytes({ type: 'A', host: 'example.com', ttl: 86_400, ip: '255.255.255.255' })
    const most = Math.floor((maxRecordsJsonBytes - 1) / each)
    const read = (count: number) =>
      readReply(rawReply(asked, { answers: Array<Buffer>(count).fill(record) }), query)
    expect(read(most)).toMatchObject({ rcode: 0 })
    expect(read(most + 1)).toBe('too large')
  })

  test('of aliases is read only until their names exceed the limit', () => {
    const { query, asked } = ask('A')
    const budget = new ReadingBudget()
    const message = aliasesOfPointers(asked)
    expect(message.length).toBeLessThan(65_536)
    expect(() => readSections(message, query, budget)).toThrow(sizeError)
    expect(budget.textBytes).toBeLessThanOrEqual(maxRecordsJsonBytes + 1020)
  })

  test('is distinguished from one of the same length that is not', () => {
    const { query, asked } = ask('TXT')
    const strings = Array<string>(250).fill('x'.repeat(255))
    const record: DnsRecord = {
      ...rightRecord,
      type: 'TXT',
      txt: strings.join(''),
      entries: strings,
    } as DnsRecord
    const reply = readReply(asked.answer({ records: [record] }), query)
    expect(reply).toBe('truncated')
    const whole = readFakeDnsQuery(query.message, 'tcp', 0, {})!.answer({ records: [record] })
    expect((readReply(whole, query) as ParsedReply).records).toHaveLength(1)
  })

  test.each([
    ['udp', false, ['udp']],
    ['tcp', true, ['udp', 'tcp']],
  ] as const)('over %s is not asked for again', async (transport, truncate, transports) => {
    await using server = await fakeDnsServer({
      truncate,
      reply: (query) => (query.transport === transport ? recordsOfPointers(query, 'NS', 9000) : undefined),
    })
    const client = createDnsClient()
    const answer = await client.query({ name: 'example.com', type: 'NS', server, timeoutMs: 10_000 })
    await client.close()
    expect(answer).toMatchObject({ status: 'TOO_LARGE', records: [], cnameChain: [], transport })
    expect(server.queries.map((query) => query.transport)).toEqual(transports)
  })
})

describe('a reply of up to 1232 octets', () => {
  test.each(recordTypes)('of %s records stays within the limit at its worst', (type) => {
    const { query, asked } = ask(type)
    const message = recordsOfPointers(asked, type, 1232)
    const budget = new ReadingBudget()
    const [record] = readSections(message, query, budget).records
    // Alike, so only one of them is left: but it could be as many that are not.
    expect(recordJsonBytes(record!) * message.readUInt16BE(6)).toBeLessThan(maxRecordsJsonBytes)
    expect(budget.jsonBytes).toBe(1)
    expect(budget.textBytes).toBeLessThan(maxRecordsJsonBytes)
  })

  test('is the longest that is not measured', () => {
    const { query, asked } = ask('A')
    const budget = new ReadingBudget()
    const record = rawRecord({ data: Buffer.of(192, 0, 2, 1) })
    const message = rawReply(asked, { answers: Array<Buffer>(76).fill(record) })
    expect(message.length).toBe(12 + 17 + 76 * 16)
    readSections(message, query, budget)
    expect(budget.jsonBytes).toBe(jsonBytes(Array<DnsRecord>(76).fill(rightRecord)))
  })

  test('is never too large, whatever is in it', () => {
    const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
    fc.assert(
      fc.property(fc.constantFrom(...recordTypes), octets(1100), (type, noise) => {
        const { query, asked } = ask(type)
        const message = recordsOfPointers(asked, type, 1232)
        // Other data at the same places: mostly malformed, never too large.
        message.set(noise.subarray(0, 60), 60 + (noise[0] ?? 0))
        const reply = readReply(message, query)
        expect(reply).not.toBe('too large')
        if (typeof reply === 'object') expect(withinAnswerLimit(reply.records)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

describe('extended errors', () => {
  const option = (code: number, text: string | Buffer) => ({
    code: 15,
    data: Buffer.concat([words(code), Buffer.from(text)]),
  })
  const errorsIn = (options: readonly { code: number; data: Uint8Array }[]) => {
    const { query } = ask('A')
    const asked = readFakeDnsQuery(query.message, 'tcp', 0, {}) as FakeDnsQuery
    return (readReply(asked.answer({ options }), query) as ParsedReply).ede
  }

  test('are eight at most', () => {
    const codes = errorsIn(Array.from({ length: 9000 }, (_, index) => option(index, ''))).map(
      ({ code }) => code,
    )
    expect(codes).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('have texts of 255 octets at most', () => {
    expect(errorsIn([option(6, 'x'.repeat(60_000))])).toEqual([{ code: 6, text: 'x'.repeat(255) }])
  })

  test('lose the NUL that may terminate them, and no more', () => {
    const texts = ['late\0', '\0', 'late\0\0', 'x'.repeat(255) + '\0'].map((text) => option(6, text))
    expect(errorsIn(texts).map(({ text }) => text)).toEqual(['late', '', 'late\ufffd', 'x'.repeat(255)])
  })

  test('contain nothing that moves a cursor or reverses a line', () => {
    const text = 'a\u001b[2J\r\nb\u0000\u202ec\u2066d\u009be\u007f ü"\\'
    const shown = 'a\ufffd[2J\ufffd\ufffdb\ufffd\ufffdc\ufffdd\ufffde\ufffd ü"\\'
    expect(errorsIn([option(6, text)])).toEqual([{ code: 6, text: shown }])
  })
})

describe('the answer of a client of the host', () => {
  const answer: DnsAnswer = {
    status: 'NOERROR',
    records: [rightRecord],
    cnameChain: ['a.test'],
    transport: 'tcp',
    latencyMs: 7,
  }
  const many = Array<DnsRecord>(6000).fill(rightRecord)

  test('is itself within the limit', () => {
    expect(limitAnswer(answer)).toBe(answer)
  })

  test('loses its records beyond it', () => {
    expect(limitAnswer({ ...answer, records: many })).toEqual({ ...answer, status: 'TOO_LARGE', records: [] })
  })

  test.each([
    ['aliases', { cnameChain: Array<string>(100_000).fill('a.test') }],
    ['extended errors', { ede: [{ code: 1, text: 'x'.repeat(300_000) }] }],
  ])('loses %s without end', (_what, beside) => {
    expect(limitAnswer({ ...answer, ...beside })).toEqual({
      ...answer,
      status: 'TOO_LARGE',
      records: [],
      cnameChain: [],
    })
  })

  test('is limited in a check', async () => {
    const check = checkDns({
      client: timedDnsClient({ query: async () => ({ ...answer, records: many }), close: async () => {} }),
      clock: systemClock,
      logger: harmlessLogger(false),
      locations: [{ location: 'Here', ip: '192.0.2.53', provider: 'Us' }],
      timeoutMs: 1000,
      cacheTtlMs: 0,
      cache: createResultCache(systemClock),
      budget: ampleBudget(),
      maxConcurrentPerResolver: 1,
    })
    const results = await valueOf(
      check.run({ domain: 'a.test', recordType: 'A' }, callerNamed('me'), callWith()),
    )
    expect(results).toMatchObject([{ resolved: false, dns_results: [], status: 'TOO_LARGE' }])
  })
})
