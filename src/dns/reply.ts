import type { DnsRecord, ExtendedDnsError } from '../domain/dns-check.ts'
import { malformed, NameReader, skipName } from './names.ts'
import { readOpt, withoutOpt, type Opt } from './opt.ts'
import { typeNumbers, type Query } from './query.ts'
import { readRecord } from './records.ts'

/** What a reply says, once it is known to be one. */
export interface Reply {
  /** The whole RCODE: 4 bits of the header and 8 of OPT. */
  readonly rcode: number
  /** The records of the asked type at the end of the alias chain. */
  readonly records: readonly DnsRecord[]
  /** The canonical names passed through. */
  readonly cnameChain: readonly string[]
  /** Extended errors, if any. */
  readonly ede: readonly ExtendedDnsError[]
  /** The prefix length the answer holds for, where the resolver minded the client subnet. */
  readonly clientSubnetScope: number | undefined
}

const headerLength = 12
const cnameType = 5
const optType = 41
const inClass = 1
const formErr = 1
const notImp = 4
const maxChain = 16
const maxTtl = 0x7fff_ffff

/**
 * Reads a message as the reply to a query; its id has been compared already.
 *
 * `unrelated` is a reply to something else and `malformed` breaks the format: both are to be ignored, as anybody can send
 * them. `truncated` means that the rest came too short and that nothing in it may be used.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5452#section-9.1 | RFC 5452 section 9.1}
 */
export function readReply(message: Buffer, query: Query): Reply | 'unrelated' | 'malformed' | 'truncated' {
  if (!isReplyTo(message, query)) return isBareRefusal(message) ? bareReply(message) : 'unrelated'
  // Before the records: the last of them may be cut anywhere.
  if (((message[2] ?? 0) & 0x02) !== 0) return 'truncated'
  try {
    return readSections(message, query)
  } catch {
    return 'malformed'
  }
}

function isResponse(message: Buffer): boolean {
  // QR set, opcode 0.
  return message.length >= headerLength && ((message[2] ?? 0) & 0xf8) === 0x80
}

function isReplyTo(message: Buffer, query: Query): boolean {
  return (
    isResponse(message) &&
    message.length >= query.questionEnd &&
    message.readUInt16BE(4) === 1 &&
    echoesQuestion(message, query)
  )
}

function echoesQuestion(message: Buffer, { message: asked, questionEnd }: Query): boolean {
  for (let at = headerLength; at < questionEnd; at += 1) {
    const octet = message[at] ?? 0
    if (octet !== asked[at] && !(isUpperCase(octet) && octet + 0x20 === asked[at])) return false
  }
  return true
}

function isUpperCase(octet: number): boolean {
  return octet >= 0x41 && octet <= 0x5a
}

/** Servers that cannot read EDNS may answer with nothing but a header. */
function isBareRefusal(message: Buffer): boolean {
  const rcode = (message[3] ?? 0) & 0x0f
  return message.length === headerLength && isResponse(message) && (rcode === formErr || rcode === notImp)
}

function bareReply(message: Buffer): Reply {
  const rcode = (message[3] ?? 0) & 0x0f
  return { rcode, records: [], cnameChain: [], ede: [], clientSubnetScope: undefined }
}

/** The fixed part of a record, and where its data is. */
interface Walked {
  readonly type: number
  readonly class: number
  readonly ttl: number
  readonly start: number
  readonly end: number
}

/** Reads all sections of a reply whose header and question are right. Throws {@link malformed}. */
export function readSections(
  message: Buffer,
  query: Query,
  names: NameReader = new NameReader(message),
): Reply {
  const answers = message.readUInt16BE(6)
  const others = message.readUInt16BE(8) + message.readUInt16BE(10)
  const answer = new AnswerSection(message, query, names)
  let offset = query.questionEnd
  for (let index = 0; index < answers; index += 1) offset = answer.add(offset)
  let opt: Opt | undefined
  for (let index = 0; index < others; index += 1) {
    const record = walk(message, skipName(message, offset))
    if (record.type === optType) {
      // One at most, and owned by the root.
      if (opt !== undefined || message[offset] !== 0) throw malformed
      opt = readOpt(message, record.start, record.end)
    }
    offset = record.end
  }
  const { extendedRcode, ede, clientSubnetScope } = opt ?? withoutOpt
  const rcode = (extendedRcode << 4) | ((message[3] ?? 0) & 0x0f)
  const { records, cnameChain } = answer.resolve()
  return { rcode, records, cnameChain, ede, clientSubnetScope }
}

/** The record whose owner name ends at `at`. */
function walk(message: Buffer, at: number): Walked {
  const start = at + 10
  if (start > message.length) throw malformed
  const end = start + message.readUInt16BE(at + 8)
  if (end > message.length) throw malformed
  const ttl = message.readUInt32BE(at + 4)
  return {
    type: message.readUInt16BE(at),
    class: message.readUInt16BE(at + 2),
    // RFC 2181 section 8: a TTL with the top bit set counts as zero.
    ttl: ttl > maxTtl ? 0 : ttl,
    start,
    end,
  }
}

/** Collects the records that may belong to the question, in whatever order they come. */
class AnswerSection {
  private readonly message: Buffer
  private readonly query: Query
  private readonly names: NameReader
  private readonly wanted: number
  private readonly records: DnsRecord[] = []
  private aliases: Map<string, string> | undefined

  constructor(message: Buffer, query: Query, names: NameReader) {
    this.message = message
    this.query = query
    this.names = names
    this.wanted = typeNumbers[query.type]
  }

  /** Takes in the record at `offset` and returns where the next one starts. */
  add(offset: number): number {
    const record = walk(this.message, skipName(this.message, offset))
    const isWanted = record.type === this.wanted
    if (record.class !== inClass || !(isWanted || record.type === cnameType)) return record.end
    const { ttl, start, end } = record
    const raw = { host: this.ownerAt(offset), ttl, names: this.names, message: this.message, start, end }
    if (isWanted) this.records.push(readRecord(this.query.type, raw))
    else this.addAlias(readRecord('CNAME', raw))
    return end
  }

  private addAlias(record: DnsRecord): void {
    this.aliases ??= new Map()
    // Two aliases of one name are not allowed; the first one counts.
    if (record.type === 'CNAME' && !this.aliases.has(record.host))
      this.aliases.set(record.host, record.target)
  }

  private ownerAt(offset: number): string {
    // Nearly every owner is a pointer to the question.
    if (this.message.readUInt16BE(offset) === (0xc000 | headerLength)) return this.query.name
    return this.names.read(offset).toLowerCase()
  }

  /** Follows the aliases from the question, and keeps the records at their end. */
  resolve(): Pick<Reply, 'records' | 'cnameChain'> {
    const cnameChain: string[] = []
    let host = this.query.name
    for (let next = this.aliases?.get(host); next !== undefined; next = this.aliases?.get(host)) {
      if (cnameChain.length === maxChain || cnameChain.includes(next)) return { records: [], cnameChain }
      cnameChain.push(next)
      host = next.toLowerCase()
    }
    const records = this.records.filter((record) => record.host === host)
    return { records: records.length > 1 ? withoutDuplicates(records) : records, cnameChain }
  }
}

/** A set of records holds no record twice (RFC 2181 section 5), whatever its TTL. */
function withoutDuplicates(records: readonly DnsRecord[]): DnsRecord[] {
  const unique = new Map<string, DnsRecord>()
  for (const record of records) {
    const key = JSON.stringify({ ...record, ttl: 0 })
    if (!unique.has(key)) unique.set(key, record)
  }
  return [...unique.values()]
}
