import * as fc from 'fast-check'
import type { DnsRecord, RecordType } from '../../../src/domain/dns-record.ts'
import { formatIpAddress } from '../../../src/domain/ip-address.ts'

const octet = fc.integer({ min: 0, max: 0xff })
const word = fc.integer({ min: 0, max: 0xffff })
const doubleWord = fc.integer({ min: 0, max: 0xffff_ffff })
const anyTtl = fc.integer({ min: 0, max: 0x7fff_ffff })
const octets = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array))

/** A label as text: any octets, written as the client writes them. */
const label = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/) },
  octets(1, 63).map((raw) =>
    raw
      .toString('latin1')
      .replace(/[^!-~]|[.\\@]/g, (each) =>
        /[!-~]/.test(each) ? `\\${each}` : `\\${String(each.charCodeAt(0)).padStart(3, '0')}`,
      ),
  ),
)

/** Any name of up to 255 octets, the root included. */
export const name: fc.Arbitrary<string> = fc
  .array(label, { minLength: 0, maxLength: 3 })
  .map((labels) => (labels.length === 0 ? '.' : labels.join('.')))

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }).filter((each) => Buffer.byteLength(each) < 256),
  octets(0, 255),
)

function txtOf(strings: readonly (string | Buffer)[]): object {
  const parts = strings.map((string) => Buffer.from(string))
  const read = (part: Buffer): string => {
    const decoded = part.toString('utf8')
    if (Buffer.from(decoded).equals(part)) return decoded
    return part
      .toString('latin1')
      .replace(/[^ -~]|\\/g, (each) =>
        each === '\\' ? '\\\\' : `\\${String(each.charCodeAt(0)).padStart(3, '0')}`,
      )
  }
  const lossless = parts.every((part) => Buffer.from(part.toString('utf8')).equals(part))
  return {
    txt: read(Buffer.concat(parts)),
    entries: parts.map(read),
    ...(!lossless && { base64: parts.map((part) => part.toString('base64')) }),
  }
}

/** RFC 4034 appendix B, the reference code's way. */
export function referenceKeyTag(data: Buffer): number {
  if (data[3] === 1 && data.length >= 7) return data.readUInt16BE(data.length - 3)
  let accumulator = 0
  for (let index = 0; index < data.length; index += 1)
    accumulator += index & 1 ? data[index]! : data[index]! * 256
  accumulator += (accumulator >> 16) & 0xffff
  return accumulator & 0xffff
}

const fields: Record<RecordType, fc.Arbitrary<object>> = {
  A: octets(4, 4).map((ip) => ({ ip: formatIpAddress(ip) })),
  AAAA: octets(16, 16).map((ip) => ({ ip: formatIpAddress(ip), ipv6: formatIpAddress(ip) })),
  MX: fc.record({ pri: word, target: name }),
  NS: fc.record({ target: name }),
  PTR: fc.record({ target: name }),
  CNAME: fc.record({ target: name }),
  SOA: fc.record({
    mname: name,
    rname: name,
    serial: doubleWord,
    refresh: doubleWord,
    retry: doubleWord,
    expire: doubleWord,
    'minimum-ttl': doubleWord,
  }),
  TXT: fc.array(text, { minLength: 1, maxLength: 5 }).map(txtOf),
  SRV: fc.record({ pri: word, weight: word, port: word, target: name }),
  CAA: fc.record({
    flags: octet,
    tag: fc.stringMatching(/^[a-z0-9]{1,15}$/),
    value: fc.string({ unit: 'grapheme', maxLength: 60 }),
  }),
  DS: fc
    .record({ key_tag: word, algorithm: octet, digest_type: octet, digest: octets(1, 64) })
    .map((ds) => ({ ...ds, digest: ds.digest.toString('hex').toUpperCase() })),
  DNSKEY: fc.record({ flags: word, protocol: octet, algorithm: octet, key: octets(1, 600) }).map((dnskey) => {
    const { key, flags, protocol, algorithm } = dnskey
    const head = Buffer.of(flags >> 8, flags & 0xff, protocol, algorithm)
    const key_tag = referenceKeyTag(Buffer.concat([head, key]))
    return { flags, protocol, algorithm, public_key: key.toString('base64'), key_tag }
  }),
}

/** Any record of a type. */
export function recordOf(type: RecordType, host: string): fc.Arbitrary<DnsRecord> {
  return fc.tuple(anyTtl, fields[type]).map(([ttl, rest]) => ({ type, host, ttl, ...rest }) as DnsRecord)
}
