import { isUtf8 } from 'node:buffer'
import { typeNumbers } from '../../../src/dns/wire/constants.ts'
import type { EncodedQuery } from '../../../src/dns/wire/encoded-query.ts'
import type { DnsAnswer } from '../../../src/domain/dns-answer.ts'
import type { DnsRecord, RecordType } from '../../../src/domain/dns-record.ts'
import { encodeData } from '../../../src/testing/dns-encoding.ts'
import { wireName } from '../engines/dig-answer.ts'

/** What a reply says, in octets as hexadecimal digits. */
export interface PlainReply {
  readonly status: string
  readonly chain: readonly string[]
  /** Owner and data of each record. */
  readonly records: readonly string[]
  readonly ttl: number | undefined
  readonly ede: readonly number[]
  readonly authenticated: boolean
}

interface PlainRecord {
  readonly owner: number
  readonly type: number
  readonly class: number
  readonly ttl: number
  readonly start: number
  readonly end: number
}

class Cut extends Error {}

const statuses = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'REFUSED', 'REFUSED']
const optType = 41

function requireThat(holds: boolean): void {
  if (!holds) throw new Error('malformed')
}

/** Reads a reply to a query the slow and simple way, without any code of the client. Throws for what breaks the format. */
export function readPlainly(message: Buffer, query: EncodedQuery): PlainReply {
  const [flags, ...counts] = [2, 6, 8, 10].map((at) => message.readUInt16BE(at)) as [
    number,
    number,
    number,
    number,
  ]
  let at = query.questionEnd
  const section = (count: number): PlainRecord[] =>
    Array.from({ length: count }, () => {
      const record = recordAt(message, at)
      at = record.end
      return record
    })
  const [answers, authorities] = [section(counts[0]), section(counts[1])]
  requireThat([...answers, ...authorities].every(({ type }) => type !== optType))
  const additionals: PlainRecord[] = []
  try {
    while (additionals.length < counts[2]) additionals.push(...section(1))
  } catch (error) {
    if (!(error instanceof Cut) || answers.length + authorities.length === 0) throw error
  }
  const { extended, ede } = optOf(message, additionals)

  const wanted = answers
    .filter((each) => each.class === 1 && [typeNumbers[query.type], typeNumbers.CNAME].includes(each.type))
    .map((each) => ({ ...each, owner: lower(nameAt(message, each.owner).hex), data: dataOf(message, each) }))
  const chain: string[] = []
  const ttls: number[] = []
  let end = wireName(query.name)
  let isCircle = false
  const alias = (): (typeof wanted)[number] | undefined =>
    query.type === 'CNAME'
      ? undefined
      : wanted.find((each) => each.type === typeNumbers.CNAME && each.owner === end)
  for (let next = alias(); next !== undefined && !isCircle; next = alias()) {
    ttls.push(next.ttl)
    isCircle = [wireName(query.name), ...chain].includes(lower(next.data))
    end = lower(next.data)
    chain.push(end)
  }
  const rcode = extended * 16 + (flags & 15)
  const own = wanted.filter(
    (each) => !isCircle && each.type === typeNumbers[query.type] && each.owner === end,
  )
  const unique = own.filter(({ data }, index) => own.findIndex((each) => each.data === data) === index)
  const soa = authorities.findLast(({ type }) => type === typeNumbers.SOA)
  const status = rcode === 16 ? 'FORMERR' : (statuses[rcode] ?? 'SERVFAIL')
  const records = status === 'NOERROR' ? unique : []
  const negative =
    soa === undefined || soa.end - soa.start < 22
      ? undefined
      : Math.min(soa.ttl, message.readUInt32BE(soa.end - 4))
  const least = records.length > 0 ? Math.min(...records.map(({ ttl }) => ttl)) : negative
  const isReferral =
    soa === undefined &&
    !isCircle &&
    ((flags & 0x80) !== 0 ? chain.length >= 10 : chain.length > 0 || isReferredTo(authorities, flags))
  const none = isReferral ? 'REFERRAL' : 'NODATA'
  const finalStatus = status === 'NOERROR' && records.length === 0 ? none : status
  // The first name server's zone is read, and its servers.
  if (isReferral && chain.length === 0) readServers(message, authorities)
  return {
    status: finalStatus,
    chain,
    records: records.map(({ owner, data }) => `${owner} ${data}`),
    ttl:
      least === undefined || !(['NOERROR', 'NXDOMAIN'] as string[]).includes(status)
        ? undefined
        : Math.min(least, ...ttls),
    ede,
    authenticated: (flags & 0x20) !== 0 && ['NOERROR', 'NODATA', 'NXDOMAIN'].includes(finalStatus),
  }
}

/** Returns an answer of the client in the same form. */
export function plainOf({
  status,
  cnameChain,
  records,
  ttlSeconds,
  ede = [],
  authenticated: validated,
}: DnsAnswer): PlainReply {
  return {
    status,
    chain: cnameChain.map(wireName),
    records: records.map((each) => `${wireName(each.host)} ${contentOf(each)}`),
    ttl: ttlSeconds,
    ede: ede.map(({ code }) => code),
    authenticated: validated === true,
  }
}

function contentOf(record: DnsRecord): string {
  if (record.type !== 'CAA') return encodeData(record).toString('hex')
  const { flags, tag, value, base64 } = record
  return caa(
    flags,
    tag,
    (base64 === undefined ? Buffer.from(value) : Buffer.from(base64, 'base64')).toString('hex'),
  )
}

function recordAt(message: Buffer, owner: number): PlainRecord {
  let at = owner
  for (; message[at] !== 0; at += (message[at] as number) + 1) {
    if (at >= message.length) throw new Cut()
    if ((message[at] as number) >= 0xc0) break
    requireThat((message[at] as number) < 0x40)
  }
  at += message[at] === 0 ? 1 : 2
  if (at + 10 > message.length) throw new Cut()
  const [type, klass, length] = [at, at + 2, at + 8].map((each) => message.readUInt16BE(each)) as [
    number,
    number,
    number,
  ]
  const [ttl, end] = [message.readUInt32BE(at + 4), at + 10 + length]
  if (end > message.length) throw new Cut()
  return { owner, type, class: klass, ttl: ttl > 0x7fff_ffff ? 0 : ttl, start: at + 10, end }
}

/** A name without pointers, as digits, and where it ends. */
function nameAt(message: Buffer, start: number): { hex: string; end: number } {
  let [hex, end, from] = ['', -1, start]
  for (let at = start; ;) {
    const octet = message[at]
    requireThat(octet !== undefined && hex.length <= 2 * 254)
    if (octet === 0) return { hex: `${hex}00`, end: end < 0 ? at + 1 : end }
    if ((octet as number) < 0xc0) {
      requireThat((octet as number) < 0x40 && at + 1 + (octet as number) <= message.length)
      hex += message.toString('hex', at, at + 1 + (octet as number))
      at += 1 + (octet as number)
    } else {
      requireThat(at + 1 < message.length)
      const to = message.readUInt16BE(at) & 0x3fff
      requireThat(to < from && to >= 12)
      if (end < 0) end = at + 2
      at = from = to
    }
  }
}

/** Small letters for capitals. Lengths of labels are never letters. */
function lower(hex: string): string {
  return hex.replace(/../g, (octet) =>
    /^(?:4[1-9a-f]|5[0-9a])$/.test(octet) ? `${Number(octet[0]) + 2}${octet[1]}` : octet,
  )
}

/** How many octets are before the names in data, how many names, and the least and most that may be behind them. */
const layouts: Readonly<Record<RecordType, readonly [number, number, number, number]>> = {
  A: [4, 0, 0, 0],
  AAAA: [16, 0, 0, 0],
  NS: [0, 1, 0, 0],
  PTR: [0, 1, 0, 0],
  CNAME: [0, 1, 0, 0],
  MX: [2, 1, 0, 0],
  SRV: [6, 1, 0, 0],
  SOA: [0, 2, 20, 20],
  DS: [4, 0, 1, 65_535],
  DNSKEY: [4, 0, 1, 65_535],
  TXT: [0, 0, 1, 65_535],
  CAA: [2, 0, 0, 65_535],
}

function dataOf(message: Buffer, { type, start, end }: PlainRecord): string {
  const name = (Object.keys(typeNumbers) as RecordType[]).find(
    (each) => typeNumbers[each] === type,
  ) as RecordType
  const [before, names, least, most] = layouts[name]
  let [at, hex] = [start + before, message.toString('hex', start, start + before)]
  requireThat(at <= end)
  for (let left = names; left > 0; left -= 1) {
    const read = nameAt(message, at)
    ;[hex, at] = [hex + read.hex, read.end]
  }
  requireThat(end - at >= least && end - at <= most)
  if (name === 'TXT') {
    for (let string = start; string !== end; string += 1 + (message[string] as number))
      requireThat(string < end)
  }
  if (name !== 'CAA') return hex + message.toString('hex', at, end)
  const tagEnd = at + (message[at - 1] as number)
  requireThat(tagEnd <= end)
  return caa(
    message[start] as number,
    textOf(message.subarray(at, tagEnd)),
    message.toString('hex', tagEnd, end),
  )
}

function caa(flags: number, tag: string, value: string): string {
  return `${flags} ${/^[a-z0-9]+$/i.test(tag) ? tag.toLowerCase() : tag} ${value}`
}

/** Octets that are no UTF-8 are shown with escapes. */
function textOf(octets: Buffer): string {
  if (isUtf8(octets)) return octets.toString()
  return octets
    .toString('latin1')
    .replace(/\\/g, '\\$&')
    .replace(/[^ -~]/g, (each) => `\\${each.charCodeAt(0).toString().padStart(3, '0')}`)
}

function optOf(message: Buffer, additionals: readonly PlainRecord[]): { extended: number; ede: number[] } {
  const [opt, ...more] = additionals.filter(({ type }) => type === optType)
  const ede: number[] = []
  if (opt === undefined) return { extended: 0, ede }
  requireThat(more.length === 0 && message[opt.owner] === 0)
  for (let at = opt.start; at < opt.end; at += 4 + message.readUInt16BE(at + 2)) {
    requireThat(at + 4 <= opt.end && at + 4 + message.readUInt16BE(at + 2) <= opt.end)
    if (message.readUInt16BE(at) === 15 && message.readUInt16BE(at + 2) >= 2 && ede.length < 8)
      ede.push(message.readUInt16BE(at + 4))
  }
  return { extended: message[opt.start - 6] as number, ede }
}

function isReferredTo(authorities: readonly PlainRecord[], flags: number): boolean {
  return (flags & 0x400) === 0 && authorities.some(({ type }) => type === typeNumbers.NS)
}

function readServers(message: Buffer, authorities: readonly PlainRecord[]): void {
  const servers = authorities.filter(({ type }) => type === typeNumbers.NS)
  let [zone, read] = ['', 0]
  for (const { owner, start, end } of servers) {
    if (read === 13) return
    const { hex } = nameAt(message, owner)
    if (zone === '') zone = lower(hex)
    if (lower(hex) !== zone) continue
    requireThat(nameAt(message, start).end === end)
    read += 1
  }
}
