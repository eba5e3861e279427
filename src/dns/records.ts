import { isUtf8 } from 'node:buffer'
import dnsPacket from 'dns-packet'
import type { DnsRecord, RecordType } from '../domain/dns-check.ts'
import { formatIpAddress } from '../domain/ip-address.ts'
import { malformed, type NameReader } from './names.ts'

/** One record's data: where it is in its message, and the reader for the names in it. */
export interface RecordData {
  readonly names: NameReader
  readonly message: Buffer
  /** First octet of the data; the two before it are its length. */
  readonly start: number
  /** First octet after the data; inside the message. */
  readonly end: number
}

type FieldsOf<Type extends RecordType, Each> = Each extends DnsRecord
  ? Type extends Each['type']
    ? Omit<Each, 'type' | 'host' | 'ttl'>
    : never
  : never
type Fields<Type extends RecordType> = FieldsOf<Type, DnsRecord>

// The parts of dns-packet that its type declarations leave out. Each reads a length of two octets, then the data.
const { a, txt, ds } = dnsPacket as unknown as {
  readonly a: { decode(data: Buffer): string }
  readonly txt: { decode(data: Buffer): Buffer[] }
  readonly ds: {
    decode(data: Buffer): { keyTag: number; algorithm: number; digestType: number; digest: Buffer }
  }
}

/** RFC 8659 section 4.1.1. */
const caaTag = /^[a-z0-9]+$/i

/** The fields of each record type. Every reader throws {@link malformed} unless the data ends where its length says. */
const readers: { readonly [Type in RecordType]: (data: RecordData) => Fields<Type> } = {
  A(data) {
    requireLength(data, 4)
    return { ip: a.decode(sized(data)) }
  },
  AAAA(data) {
    requireLength(data, 16)
    const ip = formatIpAddress(octets(data))
    return { ip, ipv6: ip }
  },
  MX(data) {
    requireAtLeast(data, 3)
    return { pri: data.message.readUInt16BE(data.start), target: lastName(data, data.start + 2) }
  },
  NS: target,
  PTR: target,
  CNAME: target,
  SOA(data) {
    const mname = data.names.read(data.start)
    const rname = data.names.read(data.names.offset)
    const at = data.names.offset
    if (at + 20 !== data.end) throw malformed
    const number = (index: number): number => data.message.readUInt32BE(at + 4 * index)
    return {
      mname,
      rname,
      serial: number(0),
      refresh: number(1),
      retry: number(2),
      expire: number(3),
      'minimum-ttl': number(4),
    }
  },
  TXT(data) {
    requireStrings(data)
    return textFields(txt.decode(sized(data)))
  },
  SRV(data) {
    requireAtLeast(data, 7)
    return {
      pri: data.message.readUInt16BE(data.start),
      weight: data.message.readUInt16BE(data.start + 2),
      port: data.message.readUInt16BE(data.start + 4),
      target: lastName(data, data.start + 6),
    }
  },
  CAA(data) {
    requireAtLeast(data, 2)
    const [flags = 0, tagLength = 0] = octets(data)
    const valueStart = data.start + 2 + tagLength
    if (valueStart > data.end) throw malformed
    const tag = data.message.toString('latin1', data.start + 2, valueStart)
    if (!caaTag.test(tag)) throw malformed
    return {
      flags,
      tag: tag.toLowerCase(),
      value: readText(data.message.subarray(valueStart, data.end)),
    }
  },
  DS(data) {
    requireAtLeast(data, 5)
    const { keyTag, algorithm, digestType, digest } = ds.decode(sized(data))
    return {
      key_tag: keyTag,
      algorithm,
      digest_type: digestType,
      digest: digest.toString('hex').toUpperCase(),
    }
  },
  DNSKEY(data) {
    requireAtLeast(data, 5)
    const { message, start, end } = data
    return {
      flags: message.readUInt16BE(start),
      protocol: message.readUInt8(start + 2),
      algorithm: message.readUInt8(start + 3),
      public_key: message.toString('base64', start + 4, end),
      key_tag: keyTagOf(octets(data)),
    }
  },
}

/** Reads a record of a known type. Throws {@link malformed}. */
export function readRecord(type: RecordType, host: string, ttl: number, data: RecordData): DnsRecord {
  return { type, host, ttl, ...readers[type](data) } as DnsRecord
}

function octets({ message, start, end }: RecordData): Buffer {
  return message.subarray(start, end)
}

function sized({ message, start, end }: RecordData): Buffer {
  return message.subarray(start - 2, end)
}

function requireLength(data: RecordData, length: number): void {
  if (data.end - data.start !== length) throw malformed
}

function requireAtLeast(data: RecordData, length: number): void {
  if (data.end - data.start < length) throw malformed
}

function target(data: RecordData): { target: string } {
  return { target: lastName(data, data.start) }
}

/** The name that ends the data. */
function lastName(data: RecordData, at: number): string {
  const name = data.names.read(at)
  if (data.names.offset !== data.end) throw malformed
  return name
}

/** At least one string, and the last one ends with the data (RFC 1035 section 3.3.14). */
function requireStrings({ message, start, end }: RecordData): void {
  let at = start
  do {
    if (at >= end) throw malformed
    at += 1 + message.readUInt8(at)
  } while (at !== end)
}

function textFields(strings: readonly Buffer[]): Fields<'TXT'> {
  const fields = { txt: readText(Buffer.concat(strings)), entries: strings.map(readText) }
  // A character may be split between two strings: whole text, broken entries.
  if (strings.every((string) => isUtf8(string))) return fields
  return { ...fields, base64: strings.map((string) => string.toString('base64')) }
}

const everyUnprintable = /[^ -~]|\\/g

/** Octets as UTF-8; those that are none as ASCII with every other octet as `\DDD`, so that nothing is lost. */
function readText(text: Buffer): string {
  if (isUtf8(text)) return text.toString('utf8')
  return text
    .toString('latin1')
    .replace(everyUnprintable, (character) =>
      character === '\\' ? '\\\\' : `\\${String(character.charCodeAt(0)).padStart(3, '0')}`,
    )
}

/** RFC 4034 appendix B: the sum of the data in units of two octets, its carry added once. */
function keyTagOf(data: Uint8Array): number {
  // Algorithm 1 (RSA/MD5) has its tag inside the key: the two octets before the last.
  if (data[3] === 1 && data.length >= 7) return ((data.at(-3) ?? 0) << 8) | (data.at(-2) ?? 0)
  let sum = 0
  data.forEach((octet, index) => {
    sum += index % 2 === 0 ? octet << 8 : octet
  })
  return (sum + (sum >>> 16)) & 0xffff
}
