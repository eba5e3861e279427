import type { DnsReferral, ExtendedDnsError } from '../../domain/dns-answer.ts'
import type { DnsRecord, RecordOf } from '../../domain/dns-record.ts'
import { cutError, formatError, ReadingBudget, sizeError } from './budget.ts'
import {
  headerFlags,
  headerLength,
  inClass,
  optType,
  pointerMark,
  rcodes,
  recordFixedLength,
  typeNumbers,
} from './constants.ts'
import { NameReader, skipName } from './name.ts'
import { readOpt, withoutOpt, type Opt } from './reply-opt.ts'
import { sentSubnet, type EncodedQuery } from './encoded-query.ts'
import { readRecord, type RawRecord } from './record-data.ts'

/** What a message says, once it is known to be a reply. */
export interface ParsedReply {
  /** The whole RCODE: 4 bits of the header and 8 of OPT. */
  readonly rcode: number
  /** The records of the requested type at the end of the alias chain. */
  readonly records: readonly DnsRecord[]
  /** The canonical names passed through. */
  readonly cnameChain: readonly string[]
  /** The smallest TTL of the aliases and the records, or of the aliases and the negative answer if there are none. */
  readonly ttlSeconds: number | undefined
  /** The TTL that the zone's SOA record gives to an answer without records. */
  readonly negativeTtlSeconds: number | undefined
  /** The largest TTL of the aliases. */
  readonly cnameTtlSeconds: number | undefined
  /** Extended errors, if any. */
  readonly ede: readonly ExtendedDnsError[]
  /** The prefix length the answer is valid for, if the resolver used the client subnet. */
  readonly clientSubnetScope: number | undefined
  /** Whether the resolver says that it validated the whole answer. */
  readonly authenticated: boolean
  /** Whether it only says who else may know, or where an alias leads: nothing about the name (RFC 1034 section 4.3.2). */
  readonly isReferral: boolean
  /** Where it points to, if not by an alias. */
  readonly referral: DnsReferral | undefined
  /** Whether it is a header without a question. */
  readonly isBare: boolean
}

/** A reply that says nothing. */
export const noReply: ParsedReply = {
  rcode: rcodes.NOERROR,
  records: [],
  cnameChain: [],
  ttlSeconds: undefined,
  negativeTtlSeconds: undefined,
  cnameTtlSeconds: undefined,
  ede: [],
  clientSubnetScope: undefined,
  authenticated: false,
  isReferral: false,
  referral: undefined,
  isBare: false,
}

/** The two octets of a pointer to the question's name. */
const questionPointer = (pointerMark << 8) | headerLength
/** The shortest chain after which a resolver is known to stop. */
const maxChainOfResolvers = 10
/** Two names of one octet and five numbers. */
const leastSoaLength = 22
const maxTtl = 0x7fff_ffff
/** As many as fit into a datagram of 512 octets. */
const maxReferredTo = 13
/**
 * The records of a message up to this length are never too large, because with a pointer to a long name, 14 octets
 * become 2.6 KB of JSON, and nothing grows more than that.
 */
const unmeasuredLength = 1232

/** The result of reading a message as a reply. */
export type ReplyVerdict = ParsedReply | 'unrelated' | 'malformed' | 'truncated' | 'cut' | 'too large'

/**
 * Reads a message as the reply to a query. The message's id has already been compared.
 *
 * `unrelated` is a reply to something else, and `malformed` breaks the format. Ignore both, because anybody can send
 * them. `truncated` means that the rest is incomplete and that nothing in it may be used. `cut` is the same of a
 * message that does not say so, because it ends inside a record, or before the last, unless nothing is missed of what
 * is missing. `too large` means that the reading stopped because the records exceed the limit of an answer.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5452#section-9.1 | RFC 5452 section 9.1}
 */
export function readReply(message: Buffer, query: EncodedQuery): ReplyVerdict {
  if (!isReplyTo(message, query))
    return isBareError(message) ? { ...noReply, rcode: rcodeOf(message), isBare: true } : 'unrelated'
  // Checked before the records, because the last of them may be cut anywhere.
  if ((flagsOf(message) & headerFlags.truncated) !== 0) return 'truncated'
  try {
    return readSections(message, query)
  } catch (error) {
    if (error === sizeError) return 'too large'
    return error === cutError ? 'cut' : 'malformed'
  }
}

function flagsOf(message: Buffer): number {
  return message.readUInt16BE(2)
}

function rcodeOf(message: Buffer): number {
  return flagsOf(message) & headerFlags.rcode
}

function isResponse(message: Buffer): boolean {
  const kind = headerFlags.response | headerFlags.opcode
  return message.length >= headerLength && (flagsOf(message) & kind) === headerFlags.response
}

/** Tells whether a message is a reply to the query, whatever else is in it. */
export function isReplyTo(message: Buffer, query: EncodedQuery): boolean {
  return (
    isResponse(message) &&
    message.length >= query.questionEnd &&
    message.readUInt16BE(4) === 1 &&
    echoesQuestion(message, query)
  )
}

function echoesQuestion(message: Buffer, { message: asked, questionEnd }: EncodedQuery): boolean {
  for (let at = headerLength; at < questionEnd; at += 1) {
    const octet = message[at] ?? 0
    if (octet !== asked[at] && !(isUpperCase(octet) && octet + 0x20 === asked[at])) return false
  }
  return true
}

function isUpperCase(octet: number): boolean {
  return octet >= 0x41 && octet <= 0x5a
}

/** The codes of servers that could not read the question, or would not answer it. */
const bareErrors: ReadonlySet<number> = new Set([
  rcodes.FORMERR,
  rcodes.SERVFAIL,
  rcodes.NOTIMP,
  rcodes.REFUSED,
])

/** Returns whether a message is an error without question and records, as simple servers send; some add an OPT record. */
function isBareError(message: Buffer): boolean {
  if (!isResponse(message) || !bareErrors.has(rcodeOf(message))) return false
  if (message.length === headerLength) return true
  const [questions, answers, authorities] = [4, 6, 8].map((at) => message.readUInt16BE(at))
  return questions === 0 && answers === 0 && authorities === 0
}

/**
 * Reads all sections of a reply with the right header and question. Throws {@link formatError}, {@link cutError} or
 * {@link sizeError}.
 */
export function readSections(
  message: Buffer,
  query: EncodedQuery,
  budget: ReadingBudget = new ReadingBudget(),
): ParsedReply {
  const answers = message.readUInt16BE(6)
  const authorities = message.readUInt16BE(8)
  const record = new RecordCursor(message, query.questionEnd, budget)
  const answer = new AnswerSection(query)
  for (let index = 0; index < answers; index += 1) answer.add(record.next())
  const authorityStart = record.end
  let negativeTtl: number | undefined
  let hasServers = false
  let hasSoa = false
  for (let index = 0; index < authorities; index += 1) {
    record.next()
    if (record.type === optType) throw formatError
    if (record.type === typeNumbers.SOA) {
      hasSoa = true
      negativeTtl = negativeTtlOf(record)
    } else if (record.type === typeNumbers.NS) hasServers = true
  }
  // Its OPT record may be the rest of the code of a reply without records, or say whom the reply is for.
  const mayEndEarly = answers + authorities > 0 && sentSubnet(query).length === 0
  const { extendedRcode, ede, clientSubnetScope } = optOf(record, query, mayEndEarly)
  const rcode = (extendedRcode << 4) | rcodeOf(message)
  const { records, cnameChain, isCircle, aliasTtl, cnameTtlSeconds } = answer.resolve()
  const positive = rcode === rcodes.NOERROR && records.length > 0
  const ttl = positive ? leastTtl(records) : negativeTtl
  const ttlSeconds = ttl === undefined ? undefined : Math.min(ttl, aliasTtl)
  const flags = flagsOf(message)
  const authenticated = (flags & headerFlags.authenticData) !== 0
  const isReferral = !hasSoa && !isCircle && pointsElsewhere(flags, hasServers, cnameChain.length)
  return {
    rcode,
    records,
    cnameChain,
    ttlSeconds,
    negativeTtlSeconds: negativeTtl,
    cnameTtlSeconds,
    ede,
    clientSubnetScope,
    authenticated,
    isReferral,
    referral:
      isReferral && cnameChain.length === 0
        ? referralAt(new RecordCursor(message, authorityStart, budget), authorities)
        : undefined,
    isBare: false,
  }
}

/** Reads the zone of the first NS record, and the servers of that zone. */
function referralAt(record: RecordCursor, count: number): DnsReferral {
  let zone: string | undefined
  const nameServers: string[] = []
  for (let left = count; left > 0 && nameServers.length < maxReferredTo; left -= 1) {
    record.next()
    if (record.type !== typeNumbers.NS) continue
    const owner = record.names.read(record.ownerStart).toLowerCase()
    zone ??= owner
    if (owner === zone) nameServers.push(readRecord('NS', record).target)
  }
  return { zone: zone ?? '.', nameServers }
}

/** Reads the additional section, of which only an OPT record counts. */
function optOf(record: RecordCursor, query: EncodedQuery, mayEndEarly: boolean): Opt {
  const { message } = record
  let opt: Opt | undefined
  try {
    for (let left = message.readUInt16BE(10); left > 0; left -= 1) {
      record.next()
      if (record.type !== optType) continue
      // At most one is allowed, only here, and the root must own it (RFC 6891 section 6.1.1).
      if (opt !== undefined || message[record.ownerStart] !== 0) throw formatError
      opt = readOpt(record, query)
    }
  } catch (error) {
    if (error !== cutError || !mayEndEarly) throw error
  }
  return opt ?? withoutOpt
}

/** Tells whether a reply without records and without an SOA record leaves the answer to others. */
function pointsElsewhere(flags: number, hasServers: boolean, aliases: number): boolean {
  // A resolver that recurses follows aliases, up to a limit of its own.
  if ((flags & headerFlags.recursionAvailable) !== 0) return aliases >= maxChainOfResolvers
  return aliases > 0 || (hasServers && (flags & headerFlags.authoritative) === 0)
}

function leastTtl(records: readonly DnsRecord[]): number {
  let least = maxTtl
  for (const { ttl } of records) least = Math.min(least, ttl)
  return least
}

/** Returns the smaller of an SOA record's TTL and its MINIMUM, the end of its data (RFC 2308 section 5). */
function negativeTtlOf({ message, ttl, start, end }: RecordCursor): number | undefined {
  return end - start < leastSoaLength ? undefined : Math.min(ttl, message.readUInt32BE(end - 4))
}

/** Goes through the records of a message. The fields describe the record it is at. */
class RecordCursor implements RawRecord {
  readonly message: Buffer
  readonly budget: ReadingBudget
  /** The owner's name, once it is needed. */
  host = ''
  ownerStart = 0
  type = 0
  class = 0
  ttl = 0
  start = 0
  end: number
  #names: NameReader | undefined

  /** Starts before the record at `offset`. */
  constructor(message: Buffer, offset: number, budget: ReadingBudget) {
    this.message = message
    this.budget = budget
    this.end = offset
  }

  /** Created on first use, because the names of most answers are all pointers to the question. */
  get names(): NameReader {
    return (this.#names ??= new NameReader(this.message, this.budget))
  }

  /** Moves to the next record. Throws {@link formatError}. */
  next(): this {
    const { message } = this
    this.budget.spendSteps(1)
    const at = skipName(message, this.end)
    const start = at + recordFixedLength
    if (start > message.length) throw cutError
    const end = start + message.readUInt16BE(at + 8)
    if (end > message.length) throw cutError
    const ttl = message.readUInt32BE(at + 4)
    this.ownerStart = this.end
    this.type = message.readUInt16BE(at)
    this.class = message.readUInt16BE(at + 2)
    // RFC 2181 section 8: a TTL with the top bit set counts as zero.
    this.ttl = ttl > maxTtl ? 0 : ttl
    this.start = start
    this.end = end
    return this
  }
}

/** Collects the records that may belong to the question, in whatever order they come. */
class AnswerSection {
  readonly #query: EncodedQuery
  readonly #wanted: number
  #records: DnsRecord[] | undefined
  #aliases: Map<string, RecordOf<'CNAME'>> | undefined

  constructor(query: EncodedQuery) {
    this.#query = query
    this.#wanted = typeNumbers[query.type]
  }

  add(record: RecordCursor): void {
    if (record.type === optType) throw formatError
    if (record.class !== inClass) return
    if (record.type === this.#wanted) this.#addRecord(record)
    else if (record.type === typeNumbers.CNAME) this.#addAlias(record)
  }

  #addRecord(raw: RecordCursor): void {
    raw.host = this.#ownerOf(raw)
    const record: DnsRecord = readRecord(this.#query.type, raw)
    // Counted as soon as it is read, because what follows may be a thousand times as much.
    if (raw.message.length > unmeasuredLength) raw.budget.spendRecord(record)
    // Most answers are one record, and an empty array makes room for 17 at the first push.
    if (this.#records === undefined) this.#records = [record]
    else this.#records.push(record)
  }

  #addAlias(raw: RecordCursor): void {
    raw.host = this.#ownerOf(raw)
    const alias = readRecord('CNAME', raw)
    this.#aliases ??= new Map()
    // Two aliases of one name are not allowed; the first one counts.
    if (!this.#aliases.has(alias.host)) this.#aliases.set(alias.host, alias)
  }

  #ownerOf(raw: RecordCursor): string {
    // Nearly every owner is a pointer to the question.
    if (raw.message.readUInt16BE(raw.ownerStart) === questionPointer) return this.#query.name
    return raw.names.read(raw.ownerStart).toLowerCase()
  }

  /** Follows the aliases from the question, and returns the records at their end. */
  resolve(): Resolved {
    const records = this.#records ?? []
    let host = this.#query.name
    if (this.#aliases === undefined)
      return {
        records: recordsOf(host, records),
        cnameChain: [],
        isCircle: false,
        aliasTtl: maxTtl,
        cnameTtlSeconds: undefined,
      }
    const cnameChain: string[] = []
    let [aliasTtl, longestTtl] = [maxTtl, 0]
    const passed = new Set<string>()
    for (let next = this.#aliases.get(host); next !== undefined; next = this.#aliases.get(host)) {
      const { target, ttl } = next
      passed.add(host)
      host = target.toLowerCase()
      cnameChain.push(target)
      aliasTtl = Math.min(aliasTtl, ttl)
      longestTtl = Math.max(longestTtl, ttl)
      if (passed.has(host))
        return { records: [], cnameChain, isCircle: true, aliasTtl, cnameTtlSeconds: longestTtl }
    }
    const cnameTtlSeconds = cnameChain.length > 0 ? longestTtl : undefined
    return { records: recordsOf(host, records), cnameChain, isCircle: false, aliasTtl, cnameTtlSeconds }
  }
}

interface Resolved extends Pick<ParsedReply, 'records' | 'cnameChain' | 'cnameTtlSeconds'> {
  /** Whether the last alias leads back to a name passed through: nowhere, whoever is asked. */
  readonly isCircle: boolean
  /** The smallest TTL of the aliases. */
  readonly aliasTtl: number
}

function recordsOf(host: string, records: readonly DnsRecord[]): readonly DnsRecord[] {
  // Most answers are one record, and a filtered copy makes room for 17.
  if (records.length === 1 && records[0]?.host === host) return records
  return withoutDuplicates(records.filter((record) => record.host === host))
}

/** Removes duplicates, whatever their TTL: a record set holds no record twice (RFC 2181 section 5). */
function withoutDuplicates(records: readonly DnsRecord[]): DnsRecord[] {
  const unique = new Map<string, DnsRecord>()
  for (const record of records) {
    const key = contentOf(record)
    if (!unique.has(key)) unique.set(key, record)
  }
  return [...unique.values()]
}

/** Returns what tells a record from others of its type and owner. Most have one field, and thousands may come. */
function contentOf(record: DnsRecord): string {
  if ('ip' in record) return record.ip
  if (record.type === 'NS' || record.type === 'PTR' || record.type === 'CNAME') return record.target
  return JSON.stringify({ ...record, ttl: 0 })
}
