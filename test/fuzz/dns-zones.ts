// Answers that the owner of a zone could make a resolver pass on: well formed, and costly to read in many ways.
import { typeNumbers } from '../../src/dns/wire/constants.ts'
import { encodeQuery, type EncodedQuery } from '../../src/dns/wire/encoded-query.ts'
import { recordTypes, type RecordType } from '../../src/domain/dns-record.ts'
import { words } from '../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { pointerToQuestion, rawRecord, rawReply } from '../dns/support/messages.ts'
import { pick, type Random } from './random.ts'

/** A question and a reply to it. */
export interface Exchange {
  readonly query: EncodedQuery
  readonly message: Buffer
}

const name = 'example.com'
const asked = Object.fromEntries(
  recordTypes.map((type) => {
    const query = encodeQuery(name, type)
    return [type, { query, fake: readFakeDnsQuery(query.message, 'tcp', 1, {})! }]
  }),
) as Record<RecordType, { query: EncodedQuery; fake: NonNullable<ReturnType<typeof readFakeDnsQuery>> }>
const longestMessage = 65_535
const unknownType = 65_280

/** Whose octets texts and labels are made of. */
const alphabets: readonly ((random: Random) => number)[] = [
  () => 0x61,
  () => 0xff,
  () => 0x00,
  () => 0x5c,
  () => 0x22,
  () => 0x2e,
  (random) => random(256),
  (random) => 0x20 + random(95),
  // Half of a character, and the other half.
  (random) => (random(2) === 0 ? 0xc3 : 0xbc),
]

function octetsOf(random: Random, length: number): Buffer {
  const octet = pick(random, alphabets)
  if (random(8) > 0) return Buffer.alloc(length, octet(random))
  return Buffer.from(Array.from({ length }, () => octet(random)))
}

/** A character-string, of any length or of one that costs much for its octets. */
function string(random: Random): Buffer {
  const length = pick(random, [0, 1, 1, 2, 3, 16, 255, random(256)])
  const octets =
    random(6) === 0 ? Buffer.from('ü€😀'.repeat(40)).subarray(0, length) : octetsOf(random, length)
  return Buffer.concat([Buffer.of(octets.length), octets])
}

/** Character-strings of one kind or of two, up to a length. */
function strings(random: Random, most: number): Buffer {
  const kinds = Array.from({ length: 1 + random(2) }, () => string(random))
  const round = Buffer.concat(kinds)
  const whole = Buffer.concat(Array<Buffer>(Math.max(1, Math.floor(most / round.length))).fill(round))
  return random(3) === 0 ? Buffer.concat([string(random), whole]).subarray(0, most) : whole
}

function label(random: Random): Buffer {
  const octets = octetsOf(random, 1 + random(pick(random, [1, 4, 63])))
  return Buffer.concat([Buffer.of(octets.length), octets])
}

/** A name of labels, with a pointer or the root at its end, of at most 255 octets. */
function nameOf(random: Random, pointers: readonly Buffer[]): Buffer {
  const tail = random(3) === 0 ? Buffer.of(0) : pick(random, pointers)
  const same = label(random)
  const count = random(pick(random, [1, 2, 8, 126]))
  const labels = Array<Buffer>(Math.min(count, Math.floor(200 / same.length))).fill(same)
  return Buffer.concat([...labels, tail])
}

function dataOf(type: RecordType, random: Random, names: () => Buffer, most: number): Buffer {
  switch (type) {
    case 'A':
      return octetsOf(random, 4)
    case 'AAAA':
      return octetsOf(random, 16)
    case 'MX':
      return Buffer.concat([words(10), names()])
    case 'SRV':
      return Buffer.concat([words(1, 2, 3), names()])
    case 'SOA':
      return Buffer.concat([names(), names(), Buffer.alloc(20, 1)])
    case 'TXT':
      return strings(random, most)
    case 'CAA':
      return Buffer.concat([Buffer.of(0), string(random), octetsOf(random, random(most))])
    case 'DS':
    case 'DNSKEY':
      return octetsOf(random, 5 + random(most))
    default:
      return names()
  }
}

/** Names and pointers that stand somewhere in the message, for others to point to. */
function holderOf(random: Random, start: number): { holder: Buffer; pointers: readonly Buffer[] } {
  const pointers: Buffer[] = [pointerToQuestion]
  const parts: Buffer[] = []
  let at = start + 11
  for (let left = random(pick(random, [2, 10, 3000])); left > 0 && at < 0x3f00; left -= 1) {
    const part = random(2) === 0 ? (pointers.at(-1) as Buffer) : nameOf(random, pointers)
    parts.push(part)
    pointers.push(words(0xc000 | at))
    if (part.length > 3 && random(4) === 0) pointers.push(words(0xc000 | (at + 1 + (part[0] ?? 0))))
    at += part.length
  }
  const data = Buffer.concat(parts)
  return { holder: rawRecord({ owner: Buffer.of(0), type: unknownType, data }), pointers }
}

/** Aliases from the question on, each pointing to the owner of the next one. */
function chain(random: Random, start: number, most: number): Buffer[] {
  const aliases: Buffer[] = []
  const wide = random(3)
  let owner = pointerToQuestion
  let at = start
  for (let index = 0; at < start + most && at < 0x3fd0; index += 1) {
    const target = Buffer.concat([Buffer.of(2 + wide), words(index), Buffer.alloc(wide, 0xff), Buffer.of(0)])
    const alias = rawRecord({ owner, type: typeNumbers.CNAME, data: target })
    aliases.push(alias)
    owner = words(0xc000 | (at + alias.length - target.length))
    at += alias.length
  }
  return aliases
}

/** OPT with options of one kind, as many as fit. */
function opt(random: Random, most: number): Buffer {
  const data = octetsOf(random, random(pick(random, [1, 4, 300])))
  const option = Buffer.concat([words(pick(random, [3, 8, 10, 15]), data.length), data])
  const count = random(Math.max(1, Math.floor(Math.min(most, 65_000) / option.length)))
  return rawRecord({
    owner: Buffer.of(0),
    type: 41,
    class: 1232,
    ttl: 0,
    data: Buffer.concat(Array<Buffer>(count).fill(option)),
  })
}

/** Records whose owners and data come from a few that are made once, as many as fit. */
function records(random: Random, type: RecordType, pointers: readonly Buffer[], room: number): Buffer[] {
  const names = (): Buffer => nameOf(random, pointers)
  const most = pick(random, [1, 20, 300, 5000, 60_000])
  const shared = Array.from({ length: 1 + random(40) }, () => {
    const klass = random(20) === 0 ? 3 : 1
    const owner = random(3) === 0 ? names() : pointerToQuestion
    const wanted = random(8) === 0 ? unknownType : typeNumbers[type]
    const data = dataOf(type, random, names, Math.min(most, room))
    return rawRecord({ owner, type: wanted, class: klass, ttl: random(3), data: data.subarray(0, 65_000) })
  })
  const result: Buffer[] = []
  let left = room
  for (let index = 0; ; index += 1) {
    const record = shared[index % shared.length] as Buffer
    left -= record.length
    if (left < 0) return result
    result.push(record)
  }
}

/** A reply to a question of any type, up to the longest message that there can be. */
export function hostileExchange(random: Random): Exchange {
  const type = pick(random, recordTypes)
  const { query, fake } = asked[type]
  let room = pick(random, [1200, 8000, 40_000, longestMessage]) - query.questionEnd
  const answers: Buffer[] = []
  const { holder, pointers } = holderOf(random, query.questionEnd)
  answers.push(holder)
  room -= holder.length
  const end = (): number => query.questionEnd + Buffer.concat(answers).length
  if (random(4) === 0) answers.push(...chain(random, end(), random(room)))
  room = longestMessage - end() < room ? longestMessage - end() : room
  const additional = random(6) === 0 ? [opt(random, room)] : []
  room -= Buffer.concat(additional).length
  if (room > 0 && random(8) > 0) answers.push(...records(random, type, pointers, room))
  const rest = longestMessage - end() - Buffer.concat(additional).length
  const authorities =
    rest > 40 && random(4) === 0 ? records(random, 'SOA', pointers, Math.min(rest, 9000)) : []
  const message = rawReply(fake, { answers, authorities, additionals: additional })
  return { query, message: message.subarray(0, longestMessage) }
}
