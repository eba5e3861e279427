import { recordTypes, type DnsRecord, type RecordOf, type RecordType } from '../domain/dns-record.ts'
import { parseIpAddress } from '../domain/ip-address.ts'
import { headerLength, inClass, optType, pointerMark, typeNumbers } from '../dns/wire/constants.ts'

/** The contents of a message that {@link encodeDnsReply} encodes. */
export interface ReplyContent {
  readonly id: number
  readonly flags: number
  /** The question section, octet for octet. */
  readonly question: Uint8Array
  readonly answers?: readonly DnsRecord[]
  readonly authorities?: readonly DnsRecord[]
  /** The OPT record to end with, if there is to be one. */
  readonly opt?: OptContent
}

interface OptContent {
  readonly extendedRcode?: number
  readonly options?: readonly { readonly code: number; readonly data: Uint8Array }[]
}

/** Encodes a reply. Owners that equal the question's name become a pointer to it; no other name is compressed. */
export function encodeDnsReply(content: ReplyContent): Buffer {
  const { answers = [], authorities = [], opt } = content
  const header = words(
    content.id,
    content.flags,
    content.question.length > 0 ? 1 : 0,
    answers.length,
    authorities.length,
    opt === undefined ? 0 : 1,
  )
  const questionName = content.question.subarray(0, -4)
  const records = [...answers, ...authorities].map((record) => encodeRecord(record, questionName))
  return Buffer.concat([header, content.question, ...records, ...(opt === undefined ? [] : [encodeOpt(opt)])])
}

/** Throws a `RangeError` or `TypeError` that says what is wrong with a record that cannot be encoded. */
export function requireEncodable(record: DnsRecord): void {
  if (!recordTypes.includes(record.type)) throw new TypeError(`${String(record.type)} is no known type`)
  encodeRecord(record, Buffer.alloc(0))
}

function encodeRecord(record: DnsRecord, questionName: Uint8Array): Buffer {
  const owner = encodeName(record.host)
  const isQuestion = Buffer.from(questionName).toString('latin1').toLowerCase() === owner.toString('latin1')
  const data = encodeData(record)
  return Buffer.concat([
    isQuestion ? words((pointerMark << 8) | headerLength) : owner,
    words(typeNumbers[record.type], inClass, record.ttl >>> 16, record.ttl & 0xffff, data.length),
    data,
  ])
}

function encodeOpt({ extendedRcode = 0, options = [] }: OptContent): Buffer {
  const data = Buffer.concat(
    options.map((option) => Buffer.concat([words(option.code, option.data.length), option.data])),
  )
  return Buffer.concat([Buffer.of(0), words(optType, 1232, extendedRcode << 8, 0, data.length), data])
}

const pointerData = ({ target }: { readonly target: string }): Buffer => encodeName(target)

function addressData(ip: string, length: 4 | 16): Buffer {
  const octets = Buffer.from(parseIpAddress(ip) ?? [])
  if (octets.length !== length) throw new RangeError(`${ip} is no address of ${length} octets`)
  return octets
}

const dataEncoders: { readonly [Type in RecordType]: (record: RecordOf<Type>) => Buffer } = {
  A: ({ ip }) => addressData(ip, 4),
  AAAA: ({ ip }) => addressData(ip, 16),
  MX: ({ pri, target }) => Buffer.concat([words(pri), encodeName(target)]),
  NS: pointerData,
  PTR: pointerData,
  CNAME: pointerData,
  SOA: ({ mname, rname, serial, refresh, retry, expire, 'minimum-ttl': minimumTtl }) =>
    Buffer.concat([
      encodeName(mname),
      encodeName(rname),
      ...[serial, refresh, retry, expire, minimumTtl].map(doubleWord),
    ]),
  TXT: (record) => Buffer.concat(stringsOf(record).map(characterString)),
  SRV: ({ pri, weight, port, target }) => Buffer.concat([words(pri, weight, port), encodeName(target)]),
  CAA: ({ flags, tag, value, base64 }) =>
    Buffer.concat([
      Buffer.of(flags),
      characterString(Buffer.from(tag)),
      base64 === undefined ? Buffer.from(value) : Buffer.from(base64, 'base64'),
    ]),
  DS: ({ key_tag, algorithm, digest_type, digest }) =>
    Buffer.concat([words(key_tag), Buffer.of(algorithm, digest_type), hexData(digest)]),
  DNSKEY: ({ flags, protocol, algorithm, public_key }) =>
    Buffer.concat([words(flags), Buffer.of(protocol, algorithm), Buffer.from(public_key, 'base64')]),
}

/** Encodes the data of a record, without its length. */
export function encodeData<Type extends RecordType>(record: RecordOf<Type>): Buffer {
  const type: Type = record.type
  return dataEncoders[type](record)
}

function stringsOf(record: Extract<DnsRecord, { type: 'TXT' }>): Buffer[] {
  if (record.base64 !== undefined) return record.base64.map((string) => Buffer.from(string, 'base64'))
  return record.entries.map((string) => Buffer.from(string))
}

function hexData(text: string): Buffer {
  const octets = Buffer.from(text, 'hex')
  if (2 * octets.length !== text.length) throw new RangeError(`${text} is not hexadecimal`)
  return octets
}

function characterString(octets: Buffer): Buffer {
  // Its length has one octet.
  if (octets.length > 255) throw new RangeError('a string has more than 255 octets')
  return Buffer.concat([Buffer.of(octets.length), octets])
}

const longestLabel = 63

/** Encodes a name for the wire. `\.` is a dot inside a label, `\DDD` any octet. */
export function encodeName(name: string): Buffer {
  if (name === '.' || name === '') return Buffer.of(0)
  const labels = name.match(/(?:\\.|[^.\\])+/gs) ?? []
  return Buffer.concat([...labels.map((label) => characterString(unescapeLabel(label))), Buffer.of(0)])
}

function unescapeLabel(label: string): Buffer {
  const latin1 = label.replace(/\\(?:(\d{3})|(.))/gs, (_all, decimal?: string, character?: string) =>
    decimal === undefined ? (character ?? '') : String.fromCharCode(Number(decimal)),
  )
  if (latin1.length > longestLabel) throw new RangeError('a label has more than 63 octets')
  return Buffer.from(latin1, 'latin1')
}

/** Returns the type for a number on the wire, or undefined if it is not a {@link RecordType}. */
export function typeOfNumber(number: number): RecordType | undefined {
  return recordTypes.find((type) => typeNumbers[type] === number)
}

export function words(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(2 * values.length)
  values.forEach((value, index) => buffer.writeUInt16BE(value, 2 * index))
  return buffer
}

function doubleWord(value: number): Buffer {
  return words(value >>> 16, value & 0xffff)
}
