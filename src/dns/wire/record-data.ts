import type { RecordOf, RecordType } from '../../domain/dns-record.ts'
import { formatIpAddress } from '../../domain/ip-address.ts'
import { formatError, type ReadingBudget } from './budget.ts'
import type { NameReader } from './name.ts'
import { isText, readStrings, readText } from './text.ts'

/** A record whose data has not been read yet: where it is in the message, and the reader for the names in it. */
export interface RawRecord {
  readonly host: string
  readonly ttl: number
  readonly names: NameReader
  readonly budget: ReadingBudget
  readonly message: Buffer
  /** First octet of the data. */
  readonly start: number
  /** First octet after the data; inside the message. */
  readonly end: number
}

/** RFC 8659 section 4.1. People put other things there, and one odd record must not hide the rest of its set. */
const caaTag = /^[a-z0-9]+$/i

/** Every reader throws {@link formatError} unless the data ends where its length says. */
const readers: { readonly [Type in RecordType]: (record: RawRecord) => RecordOf<Type> } = {
  A(record) {
    requireLength(record, 4)
    const { host, ttl, message, start } = record
    const ip = `${message[start]}.${message[start + 1]}.${message[start + 2]}.${message[start + 3]}`
    return { type: 'A', host, ttl, ip }
  },
  AAAA(record) {
    requireLength(record, 16)
    const { host, ttl } = record
    const ip = formatIpAddress(octets(record))
    return { type: 'AAAA', host, ttl, ip, ipv6: ip }
  },
  MX(record) {
    requireAtLeast(record, 3)
    const { host, ttl, message, start } = record
    return { type: 'MX', host, ttl, pri: message.readUInt16BE(start), target: lastName(record, start + 2) }
  },
  SOA(record) {
    const { host, ttl, names, message, start, end } = record
    const mname = names.read(start)
    const rname = names.read(names.offset)
    const at = names.offset
    if (at + 20 !== end) throw formatError
    return {
      type: 'SOA',
      host,
      ttl,
      mname,
      rname,
      serial: message.readUInt32BE(at),
      refresh: message.readUInt32BE(at + 4),
      retry: message.readUInt32BE(at + 8),
      expire: message.readUInt32BE(at + 12),
      'minimum-ttl': message.readUInt32BE(at + 16),
    }
  },
  TXT(record) {
    const { host, ttl, message, start, end, budget } = record
    return { type: 'TXT', host, ttl, ...readStrings(message, start, end, budget) }
  },
  SRV(record) {
    requireAtLeast(record, 7)
    const { host, ttl, message, start } = record
    return {
      type: 'SRV',
      host,
      ttl,
      pri: message.readUInt16BE(start),
      weight: message.readUInt16BE(start + 2),
      port: message.readUInt16BE(start + 4),
      target: lastName(record, start + 6),
    }
  },
  CAA(record) {
    requireAtLeast(record, 2)
    const { host, ttl, message, start, end, budget } = record
    const valueStart = start + 2 + message.readUInt8(start + 1)
    if (valueStart > end) throw formatError
    const tag = readText(message, start + 2, valueStart, budget)
    return {
      type: 'CAA',
      host,
      ttl,
      flags: message.readUInt8(start),
      tag: caaTag.test(tag) ? tag.toLowerCase() : tag,
      value: readText(message, valueStart, end, budget),
      ...(!isText(message, valueStart, end) && { base64: message.toString('base64', valueStart, end) }),
    }
  },
  DS(record) {
    requireAtLeast(record, 5)
    const { host, ttl, message, start, end } = record
    return {
      type: 'DS',
      host,
      ttl,
      key_tag: message.readUInt16BE(start),
      algorithm: message.readUInt8(start + 2),
      digest_type: message.readUInt8(start + 3),
      digest: message.toString('hex', start + 4, end).toUpperCase(),
    }
  },
  DNSKEY(record) {
    requireAtLeast(record, 5)
    const { host, ttl, message, start, end } = record
    return {
      type: 'DNSKEY',
      host,
      ttl,
      flags: message.readUInt16BE(start),
      protocol: message.readUInt8(start + 2),
      algorithm: message.readUInt8(start + 3),
      public_key: message.toString('base64', start + 4, end),
      key_tag: keyTagOf(octets(record)),
    }
  },
  NS: (record) => pointer('NS', record),
  PTR: (record) => pointer('PTR', record),
  CNAME: (record) => pointer('CNAME', record),
}

/** Reads a record of a known type. Throws {@link formatError}. */
export function readRecord<Type extends RecordType>(type: Type, record: RawRecord): RecordOf<Type> {
  return readers[type](record)
}

function pointer<Type extends 'NS' | 'PTR' | 'CNAME'>(type: Type, record: RawRecord) {
  const { host, ttl, start } = record
  return { type, host, ttl, target: lastName(record, start) }
}

function octets({ message, start, end }: RawRecord): Buffer {
  return message.subarray(start, end)
}

function requireLength({ start, end }: RawRecord, length: number): void {
  if (end - start !== length) throw formatError
}

function requireAtLeast({ start, end }: RawRecord, length: number): void {
  if (end - start < length) throw formatError
}

/** Returns the name at the end of the data. */
function lastName({ names, end }: RawRecord, at: number): string {
  const name = names.read(at)
  if (names.offset !== end) throw formatError
  return name
}

/** Returns the sum of the data in units of two octets, with its carry added once (RFC 4034 appendix B). */
function keyTagOf(data: Uint8Array): number {
  // Algorithm 1 (RSA/MD5) has its tag inside the key: the two octets before the last.
  if (data[3] === 1 && data.length >= 7) return ((data.at(-3) ?? 0) << 8) | (data.at(-2) ?? 0)
  let sum = 0
  for (let at = 0; at < data.length; at += 2) sum += ((data[at] ?? 0) << 8) | (data[at + 1] ?? 0)
  return (sum + (sum >>> 16)) & 0xffff
}
