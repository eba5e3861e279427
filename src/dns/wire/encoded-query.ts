import dnsPacket from 'dns-packet'
import type { RecordType } from '../../domain/dns-answer.ts'
import { UtilityApiError } from '../../domain/errors.ts'
import { formatIpAddress, parseNetwork } from '../../domain/ip-address.ts'
import { headerFlags, headerLength, optionCodes, questionTailLength, typeNumbers } from './constants.ts'

/** A question, and its encoding with a zero where each try writes its own id. */
export interface EncodedQuery {
  /** The name asked for, lower case, without final dot; `.` for the root. */
  readonly name: string
  /** The record type asked for. */
  readonly type: RecordType
  /** The message, its first two octets zero. */
  readonly message: Buffer
  /** Where the question section ends in `message`. */
  readonly questionEnd: number
}

/**
 * What fits through nearly every path without fragments.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9715#section-3.2 | RFC 9715 section 3.2}
 */
const udpPayloadSize = 1232
/** Holds any query. Encoding into what is there spares dns-packet from measuring first, a third of its work. */
const scratch = Buffer.alloc(512)

/** Encodes a question. Throws `invalid_argument` for a name, type or network that is none. */
export function encodeQuery(name: string, type: RecordType, clientSubnet?: string): EncodedQuery {
  if (!Object.hasOwn(typeNumbers, type)) throw new UtilityApiError('invalid_argument', 'Unknown record type.')
  const asked = checkedName(name)
  const options = clientSubnet === undefined ? [] : [clientSubnetOption(clientSubnet)]
  const packet: dnsPacket.Packet = {
    type: 'query',
    id: 0,
    // RFC 6840 section 5.7: AD in a question asks for AD in the answer, without the signatures that DO would bring.
    flags: headerFlags.recursionDesired | headerFlags.authenticData,
    questions: [{ type, name: asked, class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options,
      },
    ],
  }
  const message = Buffer.from(dnsPacket.encode(packet, scratch).subarray(0, dnsPacket.encode.bytes))
  // A name takes one octet more than its text has, and one for its end.
  const nameLength = asked === '.' ? 1 : asked.length + 2
  return { name: asked, type, message, questionEnd: headerLength + nameLength + questionTailLength }
}

/** The same question without OPT record, for resolvers that take it for an error. */
export function withoutEdns(query: EncodedQuery): EncodedQuery {
  const message = Buffer.from(query.message.subarray(0, query.questionEnd))
  message.writeUInt16BE(0, 10)
  return { ...query, message }
}

/** 255 octets on the wire, of which the first length and the final zero are two. */
const maxTextLength = 253
/** All that dns-packet would send wrongly is kept out: it checks no label, and reads no escape. */
const visibleAsciiName = /^[!-\-/-[\]-~]{1,63}(?:\.[!-\-/-[\]-~]{1,63})*$/

/** A name in lower case, without final dot; `.` for the root. */
function checkedName(name: string): string {
  if (name === '.' || name === '') return '.'
  const text = name.endsWith('.') ? name.slice(0, -1) : name
  // Before lower case: the sign for kelvin would become a k.
  if (text.length > maxTextLength || !visibleAsciiName.test(text))
    throw new UtilityApiError('invalid_argument', 'The name is no domain name in ASCII.')
  return text.toLowerCase()
}

function clientSubnetOption(clientSubnet: string): dnsPacket.PacketOpt {
  const network = parseNetwork(clientSubnet)
  if (network === null)
    throw new UtilityApiError('invalid_argument', 'clientSubnet is no network like 192.0.2.0/24.')
  const { octets, prefixLength } = network
  return {
    code: optionCodes.clientSubnet,
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
