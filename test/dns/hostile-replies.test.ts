import { describe, expect, test } from 'vitest'
import { cutError, formatError, maxSteps, ReadingBudget } from '../../src/dns/wire/budget.ts'
import { typeNumbers } from '../../src/dns/wire/constants.ts'
import { encodeQuery, type EncodedQuery } from '../../src/dns/wire/encoded-query.ts'
import { readReply, readSections, type ParsedReply } from '../../src/dns/wire/reply.ts'
import { recordTypes, type DnsRecord, type RecordType } from '../../src/domain/dns-answer.ts'
import { encodeData, encodeDnsReply, encodeName } from '../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { labelLattice, pointerChain, rawRecord, rawReply } from './support/messages.ts'

/** How many replies are tried; ten million take a few minutes. */
const count = Number(process.env['DNS_REPLIES'] ?? 8000)
const seed = Number(process.env['DNS_SEED'] ?? Date.now() & 0x7fff_ffff)

/** xorshift32: fast, and the same for the same seed. */
function randomFrom(start: number): (below: number) => number {
  let state = start | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const host = 'www.example.com'
const base = { host, ttl: 300 }
const dnskey = { flags: 257, protocol: 3, algorithm: 13, public_key: 'aGVsbG8gd29ybGQ=', key_tag: 0 }
const samples: Record<RecordType, DnsRecord[]> = {
  A: [
    { ...base, type: 'A', ip: '192.0.2.1' },
    { ...base, type: 'A', ip: '192.0.2.2' },
  ],
  AAAA: [{ ...base, type: 'AAAA', ip: '2001:db8::1', ipv6: '2001:db8::1' }],
  MX: [{ ...base, type: 'MX', pri: 10, target: 'mail.example.com' }],
  NS: [{ ...base, type: 'NS', target: 'ns.example.com' }],
  PTR: [{ ...base, type: 'PTR', target: 'host.example.com' }],
  CNAME: [{ ...base, type: 'CNAME', target: 'other.example.com' }],
  SOA: [
    {
      ...base,
      type: 'SOA',
      mname: 'ns.example.com',
      rname: 'a\\.b.example.com',
      serial: 1,
      refresh: 2,
      retry: 3,
      expire: 4,
      'minimum-ttl': 5,
    },
  ],
  TXT: [{ ...base, type: 'TXT', txt: 'v=spf1 -all', entries: ['v=spf1', ' -all'] }],
  SRV: [{ ...base, type: 'SRV', pri: 1, weight: 2, port: 3, target: 'srv.example.com' }],
  CAA: [{ ...base, type: 'CAA', flags: 128, tag: 'issue', value: 'ca.example' }],
  DS: [{ ...base, type: 'DS', key_tag: 1, algorithm: 13, digest_type: 2, digest: 'AB'.repeat(32) }],
  DNSKEY: [{ ...base, type: 'DNSKEY', ...dnskey }],
}

interface Sample {
  readonly query: EncodedQuery
  readonly reply: Buffer
}

/** Right replies to start from: of each type, direct and behind an alias, with names behind pointers. */
const corpus: readonly Sample[] = recordTypes.flatMap((type) => {
  const query = encodeQuery(host, type)
  const question = query.message.subarray(12, query.questionEnd)
  const records = samples[type]
  const alias: DnsRecord = { ...base, type: 'CNAME', target: 'real.example.com' }
  const content = { id: 0, flags: 0x8180, question }
  const opt = { options: [{ code: 15, data: Buffer.from('\0\x06why') }] }
  const compressed = rawRecord({ type: 5, data: Buffer.from('\x04real\xc0\x10', 'latin1') })
  const direct = encodeDnsReply({ ...content, answers: records, opt })
  return [
    { query, reply: direct },
    {
      query,
      reply: encodeDnsReply({
        ...content,
        answers: [alias, ...records.map((record) => ({ ...record, host: alias.target }))],
        authorities: samples.SOA,
        opt,
      }),
    },
    {
      query,
      reply: Buffer.concat([
        encodeDnsReply({ ...content, answers: [] }).fill(2, 7, 8),
        compressed,
        rawRecord({
          owner: Buffer.of(0xc0, query.questionEnd + 12),
          type: typeNumbers[type],
          data: encodeData(records[0]!),
        }),
      ]),
    },
  ]
})

function mutate(sample: Sample, random: (below: number) => number): Buffer {
  let message = Buffer.from(sample.reply)
  if (random(20) === 0) message[2]! |= 0x02
  // Mostly behind the question: what fails before it is soon thrown away.
  const start = random(10) === 0 ? 0 : random(20) === 0 ? 6 : sample.query.questionEnd
  for (let left = 1 + random(4); left > 0; left -= 1) {
    const at = start + random(Math.max(1, message.length - start))
    switch (random(8)) {
      case 0:
        message = message.subarray(0, at)
        break
      case 1:
        message[at]! ^= 1 << random(8)
        break
      case 2:
        message[at] = random(256)
        break
      case 3:
        message[at] = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff][random(8)]!
        break
      case 4:
        message = Buffer.concat([message.subarray(0, at), message.subarray(at + 1 + random(8))])
        break
      case 5:
        message = Buffer.concat([
          message.subarray(0, at),
          randomOctets(1 + random(8), random),
          message.subarray(at),
        ])
        break
      case 6:
        if (at + 1 < message.length) message.writeUInt16BE(0xc000 | random(message.length + 4), at)
        break
      default:
        message = Buffer.concat([message.subarray(0, at), message.subarray(start + random(at - start + 1))])
    }
  }
  return message
}

function randomOctets(length: number, random: (below: number) => number): Buffer {
  return Buffer.from(Array.from({ length }, () => random(256)))
}

/** A name read the slow and simple way; null when it is none. */
function plainName(message: Buffer, start: number): { text: string; end: number } | null {
  const labels: string[] = []
  let length = 1
  let end = -1
  for (let at = start; ;) {
    const octet = message[at]
    if (octet === undefined) return null
    if (octet === 0) return length > 255 ? null : { text: labels.join('.'), end: end < 0 ? at + 1 : end }
    if (octet >= 0xc0) {
      if (end < 0) end = at + 2
      const target = message.readUInt16BE(at) & 0x3fff
      if (target >= at || target < 12) return null
      at = target
    } else {
      if (octet >= 0x40) return null
      labels.push(message.toString('hex', at + 1, at + 1 + octet))
      length += octet + 1
      at += octet + 1
    }
  }
}

function sameName(text: string, hex: string): boolean {
  const whole = plainName(Buffer.concat([Buffer.alloc(12), encodeName(text)]), 12)
  const lower = (value: string): string =>
    value.replace(/4[1-9a-f]|5[0-9a]/g, (pair) => `${Number(pair[0]) + 2}${pair[1]}`)
  // In steps of two digits, as a pair may begin in the middle of an octet otherwise.
  const octetwise = (value: string): string =>
    value.replace(/\.|../g, (pair) => (pair === '.' ? pair : lower(pair)))
  return octetwise(whole?.text ?? '') === octetwise(hex)
}

/** Checks an accepted reply against a reading of the message that shares no code with the client. */
function justify(message: Buffer, query: EncodedQuery, reply: ParsedReply): void {
  expect(message.readUInt16BE(2) & 0xfa00).toBe(0x8000)
  expect(message.readUInt16BE(4)).toBe(1)
  expect(message.toString('latin1', 12, query.questionEnd).toLowerCase()).toBe(
    query.message.toString('latin1', 12, query.questionEnd).toLowerCase(),
  )
  const wanted = reply.records.map((record) => ({ record, found: false }))
  const end = reply.cnameChain.at(-1) ?? query.name
  let at = query.questionEnd
  for (let index = message.readUInt16BE(6); index > 0; index -= 1) {
    let after = at
    while (message[after]! > 0 && message[after]! < 0x40) after += message[after]! + 1
    after += message[after] === 0 ? 1 : 2
    const [type, klass] = [message.readUInt16BE(after), message.readUInt16BE(after + 2)]
    const dataEnd = after + 10 + message.readUInt16BE(after + 8)
    expect(dataEnd).toBeLessThanOrEqual(message.length)
    if (klass === 1 && type === typeNumbers[query.type]) {
      const owner = plainName(message, at)
      for (const each of wanted) {
        if (!sameName(each.record.host, owner!.text)) continue
        if (sameData(message, after + 10, dataEnd, each.record)) each.found = true
      }
    }
    at = dataEnd
  }
  for (const { record, found } of wanted) {
    if (!found) throw new Error(`Made up: ${JSON.stringify(record)} from ${message.toString('hex')}`)
    expect(record.host).toBe(end.toLowerCase())
    expect(record.type).toBe(query.type)
    expect(record.ttl).toBeLessThanOrEqual(0x7fff_ffff)
  }
}

/** Where the names of each type stand in its data: after so many octets, how many, and so many octets behind them. */
const nameLayout: Partial<Record<RecordType, readonly [number, number, number]>> = {
  NS: [0, 1, 0],
  PTR: [0, 1, 0],
  CNAME: [0, 1, 0],
  MX: [2, 1, 0],
  SRV: [6, 1, 0],
  SOA: [0, 2, 20],
}

function sameData(message: Buffer, start: number, end: number, record: DnsRecord): boolean {
  const encoded = encodeData(record)
  const layout = nameLayout[record.type]
  const data = message.subarray(start, end)
  if (record.type === 'CAA') return sameCaa(data, record)
  if (layout === undefined) return encoded.equals(data)
  const [before, names, behind] = layout
  if (!encoded.subarray(0, before).equals(data.subarray(0, before))) return false
  let [here, there] = [start + before, before + 12]
  const padded = Buffer.concat([Buffer.alloc(12), encoded])
  for (let left = names; left > 0; left -= 1) {
    const [one, other] = [plainName(message, here), plainName(padded, there)]
    if (one === null || one.text !== other?.text) return false
    here = one.end
    there = other.end
  }
  if (here + behind !== end) return false
  return message.subarray(here, end).equals(padded.subarray(there))
}

function sameCaa(data: Buffer, { flags, tag, value }: Extract<DnsRecord, { type: 'CAA' }>): boolean {
  const valueStart = 2 + data[1]!
  const valueOctets = data.subarray(valueStart)
  return (
    flags === data[0] &&
    (tag === data.toString('utf8', 2, valueStart).toLowerCase() || /[^a-z0-9]/.test(tag) || tag === '') &&
    // Octets that are no text come escaped.
    (value === valueOctets.toString() || value.includes('\\'))
  )
}

describe(`replies of any octets (DNS_SEED=${seed})`, () => {
  test(
    `${count} of them neither throw, nor deceive, nor cost more than the budget`,
    { timeout: 3_600_000 },
    () => {
      const random = randomFrom(seed)
      const seen = { answer: 0, records: 0, malformed: 0, cut: 0, unrelated: 0, truncated: 0 }
      let mostSteps = 0
      for (let left = count; left > 0; left -= 1) {
        const sample = corpus[random(corpus.length)]!
        const { query } = sample
        const noise = random(50) === 0
        const message = noise
          ? Buffer.concat([sample.reply.subarray(0, query.questionEnd), randomOctets(random(200), random)])
          : mutate(sample, random)
        const reply = readReply(message, query)
        if (typeof reply === 'object') {
          seen.answer += 1
          if (reply.records.length > 0) seen.records += 1
          if (message.length > 12) justify(message, query, reply)
        } else {
          // Messages of a few hundred octets never are.
          expect(reply).not.toBe('too large')
          if (reply !== 'too large') seen[reply] += 1
        }
        if (reply === 'unrelated' || reply === 'truncated') continue
        if (message.length === 12) continue
        const budget = new ReadingBudget()
        try {
          readSections(message, query, budget)
          expect(typeof reply).toBe('object')
        } catch (error) {
          if (error !== (reply === 'cut' ? cutError : formatError))
            throw new Error(message.toString('hex'), { cause: error })
        }
        mostSteps = Math.max(mostSteps, budget.steps)
      }
      // All roads were taken.
      for (const times of Object.values(seen)) expect(times).toBeGreaterThan(count / 200)
      expect(mostSteps).toBeLessThanOrEqual(maxSteps)
    },
  )
})

const name = '016100'

/** Data that breaks the format of its type, in hexadecimal. */
const brokenData: readonly (readonly [RecordType, string, string])[] = [
  ['A', '3 octets', 'c00002'],
  ['A', '5 octets', 'c000020100'],
  ['AAAA', '4 octets', 'c0000201'],
  ['AAAA', '17 octets', '20010db8000000000000000000000000ff'],
  ['MX', 'no target', '000a'],
  ['MX', 'octets behind the target', `000a${name}00`],
  ['MX', 'a target that passes the end', '000a0561'],
  ['NS', 'nothing', ''],
  ['PTR', 'a pointer cut in half', 'c0'],
  ['CNAME', 'two names', `${name}${name}`],
  ['SOA', 'four numbers', `${name}${name}${'00000001'.repeat(4)}`],
  ['SOA', 'six numbers', `${name}${name}${'00000001'.repeat(6)}`],
  ['SOA', 'one name', `${name}${'00000001'.repeat(5)}`],
  ['TXT', 'nothing', ''],
  ['TXT', 'a string that passes the end', '0361'],
  ['TXT', 'a second string that passes the end', '01610261'],
  ['SRV', 'no target', '000100020003'],
  ['SRV', 'octets behind the target', `000100020003${name}00`],
  ['CAA', 'one octet', '00'],
  ['CAA', 'a tag that passes the end', '00056973737565'.slice(0, -2)],
  ['DS', 'no digest', '00010d02'],
  ['DNSKEY', 'no key', '0101030d'],
]

test.each(brokenData)('%s data with %s is malformed', (type, _what, hex) => {
  const query = encodeQuery('example.com', type)
  const asked = readFakeDnsQuery(query.message, 'udp', 0, {})!
  const record = rawRecord({ type: typeNumbers[type], data: Buffer.from(hex, 'hex') })
  // More octets follow, letters and digits, so that reading on would find some.
  const message = rawReply(asked, {
    answers: [record],
    authorities: [rawRecord({ owner: encodeName('a'.repeat(0x30)), data: Buffer.alloc(40, 0x61) })],
  })
  expect(readReply(message, query)).toBe('malformed')
  expect(() => readSections(message, query)).toThrow(formatError)
})

test.each([
  ['az.test', 'AZ.test', true],
  // These differ in the bit that tells capitals from small letters, but are no letters.
  ['`.test', '@.test', false],
  ['{.test', '[.test', false],
])('the question for %s comes back as %s: %s', (asked, echoed, same) => {
  const query = encodeQuery(asked, 'A')
  const message = rawReply(readFakeDnsQuery(query.message, 'udp', 0, {})!, {})
  message.set(encodeName(echoed), 12)
  expect(readReply(message, query) !== 'unrelated').toBe(same)
})

describe('replies made to be slow', () => {
  const query = encodeQuery('example.com', 'A')
  const asked = readFakeDnsQuery(query.message, 'udp', 0, {})!

  test('cost no more labels and pointers than the budget', () => {
    const message = labelLattice(asked)
    expect(message.length).toBeLessThan(65_536)
    const budget = new ReadingBudget()
    expect(() => readSections(message, query, budget)).toThrow(formatError)
    expect(budget.steps).toBe(maxSteps + 1)
  })

  test('pay for each option', () => {
    const empty = Buffer.alloc(4 * 16_000)
    const opt = rawRecord({ owner: Buffer.of(0), type: 41, class: 1232, ttl: 0, data: empty })
    const budget = new ReadingBudget()
    readSections(rawReply(asked, { additionals: [opt] }), query, budget)
    expect(budget.steps).toBe(1 + 16_000)
  })

  test('may have 127 pointers in a row, and no more', () => {
    const read = (links: number) => readSections(pointerChain(asked, links, 1), query)
    expect(read(126).records).toHaveLength(1)
    expect(() => read(127)).toThrow(formatError)
  })

  test('pay once for what many names share', () => {
    const message = pointerChain(asked, 126, 126)
    const budget = new ReadingBudget()
    expect(readSections(message, query, budget).records).toHaveLength(1)
    // 127 records, 126 links and the two labels and the end of the name, then one step for each further owner.
    expect(budget.steps).toBe(127 + 1 + 126 + 3 + 125)
  })
})
