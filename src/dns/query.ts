import dnsPacket from 'dns-packet'
import type { RecordType } from '../domain/dns-check.ts'
import { UtilityApiError } from '../domain/errors.ts'
import { formatIpAddress, parseIpAddress } from '../domain/ip-address.ts'

/** The number of each record type on the wire. */
export const typeNumbers: Readonly<Record<RecordType, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DS: 43,
  DNSKEY: 48,
  CAA: 257,
}

/** A question, and its encoding with a zero where each try writes its own id. */
export interface Query {
  /** The name asked for, lower case, without final dot; `.` for the root. */
  readonly name: string
  /** The record type asked for. */
  readonly type: RecordType
  /** The message, its first two octets zero. */
  readonly message: Buffer
  /** Where the question section ends in `message`. */
  readonly questionEnd: number
  /** Whether `message` has an OPT record. */
  readonly edns: boolean
}

const headerLength = 12

const clientSubnetCode = 8

/**
 * What fits through nearly every path without fragments.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9715#section-3.2 | RFC 9715 section 3.2}
 */
const udpPayloadSize = 1232

/** Encodes a question. Throws `invalid_argument` for a name, type or network that is none. */
export function encodeQuery(name: string, type: RecordType, clientSubnet?: string): Query {
  if (!Object.hasOwn(typeNumbers, type)) throw new UtilityApiError('invalid_argument', 'Unknown record type.')
  const lowerCase = withoutFinalDot(name.toLowerCase())
  const octets = encodeName(lowerCase)
  const rootQuery = clientSubnet === undefined ? plainRootQuery(type) : encodeRootQuery(type, clientSubnet)
  const message = Buffer.allocUnsafe(rootQuery.length - rootLength + octets.length)
  rootQuery.copy(message, 0, 0, headerLength)
  octets.copy(message, headerLength)
  rootQuery.copy(message, headerLength + octets.length, headerLength + rootLength)
  const questionEnd = headerLength + octets.length + 4
  return { name: lowerCase === '' ? '.' : lowerCase, type, message, questionEnd, edns: true }
}

const rootLength = 1
const rootQueries = new Map<RecordType, Buffer>()

function plainRootQuery(type: RecordType): Buffer {
  const known = rootQueries.get(type) ?? encodeRootQuery(type)
  rootQueries.set(type, known)
  return known
}

/** The query for the root: all of a query but the name, which dns-packet would not check. */
function encodeRootQuery(type: RecordType, clientSubnet?: string): Buffer {
  return dnsPacket.encode({
    type: 'query',
    id: 0,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ type, name: '.', class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: clientSubnet === undefined ? [] : [clientSubnetOption(clientSubnet)],
      },
    ],
  })
}

/** The same question without OPT record, for resolvers that take it for an error. */
export function withoutEdns(query: Query): Query {
  const message = Buffer.from(query.message.subarray(0, query.questionEnd))
  message.writeUInt16BE(0, 10)
  return { ...query, message, edns: false }
}

function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name
}

const dot = 0x2e
const backslash = 0x5c
const maxLabelLength = 63
const maxNameLength = 255

/** A name on the wire: each dot gives way to the length of the label behind it. `''` is the root. */
function encodeName(name: string): Buffer {
  if (name === '') return Buffer.alloc(rootLength)
  // Not Latin-1, which would fold characters beyond it into others.
  const octets = Buffer.from(`.${name}\0`, 'utf8')
  let length = 0
  for (let at = octets.length - 2; at >= 0; at -= 1) {
    const octet = octets[at] ?? 0
    if (octet === dot) {
      if (length === 0) throw notAName()
      octets[at] = length
      length = 0
    } else {
      length += 1
      if (length > maxLabelLength || octet <= 0x20 || octet > 0x7e || octet === backslash) throw notAName()
    }
  }
  if (octets.length > maxNameLength) throw notAName()
  return octets
}

function notAName(): UtilityApiError {
  return new UtilityApiError('invalid_argument', 'The name is no domain name in ASCII.')
}

function clientSubnetOption(network: string): dnsPacket.PacketOpt {
  const [address = '', length = ''] = network.split('/')
  const octets = parseIpAddress(address)
  const prefixLength = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (octets === null || !(prefixLength <= octets.length * 8))
    throw new UtilityApiError('invalid_argument', 'clientSubnet is no network like 192.0.2.0/24.')
  return {
    code: clientSubnetCode,
    family: octets.length === 4 ? 1 : 2,
    ip: formatIpAddress(withoutHostBits(octets, prefixLength)),
    sourcePrefixLength: prefixLength,
    scopePrefixLength: 0,
  }
}

/** Resolvers refuse a network with host bits set (RFC 7871 section 6). */
function withoutHostBits(octets: Uint8Array, prefixLength: number): Uint8Array {
  return octets.map((octet, index) => {
    const bits = Math.min(8, Math.max(0, prefixLength - index * 8))
    return octet & (0xff << (8 - bits))
  })
}
