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
  if (lowerCase.length > maxNameLength || !visibleAscii.test(lowerCase)) throw notAName()
  const { header, rest } = clientSubnet === undefined ? plainFrame(type) : encodeFrame(type, clientSubnet)
  const labels = lowerCase === '' ? '' : `.${lowerCase}`
  const message = Buffer.from(`${header}${labels}\0${rest}`, 'latin1')
  const nameEnd = headerLength + labels.length
  writeLabelLengths(message, nameEnd)
  return { name: lowerCase || '.', type, message, questionEnd: nameEnd + 5, edns: true }
}

/** All of a query but the name, in Latin-1: what stands before it, and behind its final zero. */
interface Frame {
  readonly header: string
  readonly rest: string
}

const plainFrames = new Map<RecordType, Frame>()

function plainFrame(type: RecordType): Frame {
  const known = plainFrames.get(type) ?? encodeFrame(type)
  plainFrames.set(type, known)
  return known
}

function encodeFrame(type: RecordType, clientSubnet?: string): Frame {
  const rootQuery = encodeRootQuery(type, clientSubnet)
  return {
    header: rootQuery.toString('latin1', 0, headerLength),
    rest: rootQuery.toString('latin1', headerLength + 1),
  }
}

/** The query for the root: dns-packet would not check another name. */
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
const maxLabelLength = 63
/** 255 octets on the wire, of which the first length and the final zero are two. */
const maxNameLength = 253
/** All octets a name may have: dns-packet would send any. A backslash would have to be the start of an escape. */
const visibleAscii = /^[!-[\]-~]*$/

/** Each dot from the header to `nameEnd` gives way to the length of the label behind it. */
function writeLabelLengths(message: Buffer, nameEnd: number): void {
  let labelEnd = nameEnd
  for (let at = nameEnd - 1; at >= headerLength; at -= 1) {
    if (message[at] !== dot) continue
    const length = labelEnd - at - 1
    if (length === 0 || length > maxLabelLength) throw notAName()
    message[at] = length
    labelEnd = at
  }
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
