import type { DnsRecord, RecordType } from '../domain/dns-check.ts'
import { parseIpAddress } from '../domain/ip-address.ts'
import { typeNumbers } from '../dns/query.ts'

/** What {@link encodeDnsReply} puts into a message. */
export interface ReplyContent {
  readonly id: number
  readonly flags: number
  /** The question section, octet for octet. */
  readonly question: Uint8Array
  readonly answers?: readonly DnsRecord[]
  readonly authorities?: readonly DnsRecord[]
  /** Whether to end with an OPT record, and what it says. */
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

function encodeRecord(record: DnsRecord, questionName: Uint8Array): Buffer {
  const owner = encodeName(record.host)
  const isQuestion = Buffer.from(questionName).toString('latin1').toLowerCase() === owner.toString('latin1')
  const data = encodeData(record)
  return Buffer.concat([
    isQuestion ? words(0xc00c) : owner,
    words(typeNumbers[record.type], 1, record.ttl >>> 16, record.ttl & 0xffff, data.length),
    data,
  ])
}

function encodeOpt({ extendedRcode = 0, options = [] }: OptContent): Buffer {
  const data = Buffer.concat(
    options.map((option) => Buffer.concat([words(option.code, option.data.length), option.data])),
  )
  return Buffer.concat([Buffer.of(0), words(41, 1232, extendedRcode << 8, 0, data.length), data])
}

/** The data of a record, without its length. */
export function encodeData(record: DnsRecord): Buffer {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return Buffer.from(parseIpAddress(record.ip) ?? [])
    case 'MX':
      return Buffer.concat([words(record.pri), encodeName(record.target)])
    case 'NS':
    case 'PTR':
    case 'CNAME':
      return encodeName(record.target)
    case 'SOA':
      return Buffer.concat([
        encodeName(record.mname),
        encodeName(record.rname),
        ...[record.serial, record.refresh, record.retry, record.expire, record['minimum-ttl']].map(
          doubleWord,
        ),
      ])
    case 'TXT':
      return Buffer.concat(stringsOf(record).map((string) => characterString(string)))
    case 'SRV':
      return Buffer.concat([words(record.pri, record.weight, record.port), encodeName(record.target)])
    case 'CAA':
      return Buffer.concat([
        Buffer.of(record.flags),
        characterString(Buffer.from(record.tag)),
        Buffer.from(record.value),
      ])
    case 'DS':
      return Buffer.concat([
        words(record.key_tag),
        Buffer.of(record.algorithm, record.digest_type),
        Buffer.from(record.digest, 'hex'),
      ])
    case 'DNSKEY':
      return Buffer.concat([
        words(record.flags),
        Buffer.of(record.protocol, record.algorithm),
        Buffer.from(record.public_key, 'base64'),
      ])
  }
}

function stringsOf(record: Extract<DnsRecord, { type: 'TXT' }>): Buffer[] {
  if (record.base64 !== undefined) return record.base64.map((string) => Buffer.from(string, 'base64'))
  return record.entries.map((string) => Buffer.from(string))
}

function characterString(octets: Buffer): Buffer {
  return Buffer.concat([Buffer.of(octets.length), octets])
}

/** A name on the wire; `\.` is a dot inside a label, `\DDD` any octet. */
export function encodeName(name: string): Buffer {
  if (name === '.' || name === '') return Buffer.of(0)
  const labels = name.match(/(?:\\.|[^.\\])+/gs) ?? []
  return Buffer.concat([...labels.map((label) => characterString(unescapeLabel(label))), Buffer.of(0)])
}

function unescapeLabel(label: string): Buffer {
  const latin1 = label.replace(/\\(?:(\d{3})|(.))/gs, (_all, decimal?: string, character?: string) =>
    decimal === undefined ? (character ?? '') : String.fromCharCode(Number(decimal)),
  )
  return Buffer.from(latin1, 'latin1')
}

/** The type of a number on the wire; undefined for those that are no {@link RecordType}. */
export function typeOfNumber(number: number): RecordType | undefined {
  return (Object.keys(typeNumbers) as RecordType[]).find((type) => typeNumbers[type] === number)
}

export function words(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(2 * values.length)
  values.forEach((value, index) => buffer.writeUInt16BE(value, 2 * index))
  return buffer
}

function doubleWord(value: number): Buffer {
  return words(value >>> 16, value & 0xffff)
}
