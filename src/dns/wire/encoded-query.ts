import { invalidArgument } from '../../domain/arguments.ts'
import dnsPacket from 'dns-packet'
import { recordTypes, type RecordType } from '../../domain/dns-record.ts'
import { octetsOfLabel, parseDnsName, splitDnsName } from '../../domain/dns-name.ts'
import { formatIpAddress, parseNetwork } from '../../domain/ip-address.ts'
import {
  headerFlags,
  headerLength,
  optionCodes,
  questionTailLength,
  recordFixedLength,
  typeNumbers,
} from './constants.ts'

/**
 * A question, and its encoding with a zero where each try writes its own id.
 *
 * @group DNS
 */
export interface EncodedQuery {
  /** The name asked for, in the spelling in which replies are read. */
  readonly name: string
  /** The record type asked for. */
  readonly type: RecordType
  /** The message, its first two octets zero. */
  readonly message: Buffer
  /** Where the question section ends in `message`. */
  readonly questionEnd: number
}

/**
 * The size that fits through nearly every path without fragmentation.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9715#section-3.2 | RFC 9715 section 3.2}
 */
const udpPayloadSize = 1232
/** Queries for the root, by type. All other queries differ only in the name. */
const rootQueries = new Map<RecordType, Buffer>()

const unknownType = `type must be one of ${recordTypes.join(', ')}.`

/**
 * Encodes a question as our clients do, for a transport of yours. The options are as in `DnsQuestion`.
 * {@link readAnswer} reads the answer.
 *
 * @example
 * ```ts
 * import { encodeQuery, readAnswer } from 'utility-api/dns'
 *
 * const query = encodeQuery('example.com', 'MX')
 *
 * export function onMessage(message: Uint8Array, latencyMs: number): void {
 *   const answer = readAnswer(message, query, 'tcp', latencyMs)
 *   if (answer !== null) console.log(answer.status, answer.records)
 * }
 * ```
 *
 * @throws `UtilityApiError` `invalid_argument` if the name, type or network is invalid
 *
 * @group DNS
 */
export function encodeQuery(
  name: string,
  type: RecordType,
  options: {
    readonly clientSubnet?: string | undefined
    readonly recursionDesired?: boolean | undefined
    readonly checkingDisabled?: boolean | undefined
  } = {},
): EncodedQuery {
  if (!Object.hasOwn(typeNumbers, type)) throw invalidArgument(unknownType)
  const asked = checkedName(name)
  const root = rootQuery(type, options.clientSubnet)
  const message = withName(asked, root)
  if (options.recursionDesired === false)
    message.writeUInt16BE(message.readUInt16BE(2) & ~headerFlags.recursionDesired, 2)
  if (options.checkingDisabled === true)
    message.writeUInt16BE(message.readUInt16BE(2) | headerFlags.checkingDisabled, 2)
  // As much behind the start of the root's as the message is longer.
  const questionEnd = headerLength + 1 + questionTailLength + message.length - root.length
  return { name: asked, type, message, questionEnd }
}

function rootQuery(type: RecordType, clientSubnet: string | undefined): Buffer {
  if (clientSubnet !== undefined) return encodeRootQuery(type, [clientSubnetOption(clientSubnet)])
  const known = rootQueries.get(type)
  if (known !== undefined) return known
  const query = encodeRootQuery(type, [])
  rootQueries.set(type, query)
  return query
}

function encodeRootQuery(type: RecordType, options: dnsPacket.PacketOpt[]): Buffer {
  return dnsPacket.encode({
    type: 'query',
    id: 0,
    // RFC 6840 section 5.7: AD in a question asks for AD in the answer, without the signatures that DO would bring.
    flags: headerFlags.recursionDesired | headerFlags.authenticData,
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
        options,
      },
    ],
  })
}

/** The name, fixed fields and length of an OPT record, and the code and length of its option. */
const beforeOption = 1 + recordFixedLength + 4

/** Returns the data of the client subnet in a query, empty if it has none. It is the only option that is sent. */
export function sentSubnet({ message, questionEnd }: EncodedQuery): Buffer {
  return message.subarray(questionEnd + beforeOption)
}

const dot = 0x2e

/** Returns a query for the root with another, checked name in place of the root's. */
function withName(name: string, query: Buffer): Buffer {
  if (name === '.') return Buffer.from(query)
  const isPlain = !name.includes('\\')
  const wire = isPlain ? undefined : encodeEscapedName(name)
  const nameEnd = headerLength + (wire?.length ?? name.length + 2)
  const message = Buffer.allocUnsafe(query.length - 1 + nameEnd - headerLength)
  query.copy(message, 0, 0, headerLength)
  query.copy(message, nameEnd, headerLength + 1)
  if (wire === undefined) writePlainName(message, name, nameEnd)
  else wire.copy(message, headerLength)
  return message
}

function writePlainName(message: Buffer, name: string, nameEnd: number): void {
  message[headerLength] = dot
  message.write(name, headerLength + 1, 'latin1')
  message[nameEnd - 1] = 0
  // Each dot is replaced by the length of the label after it.
  let labelEnd = nameEnd - 1
  for (let at = labelEnd - 1; at >= headerLength; at -= 1) {
    if (message[at] !== dot) continue
    message[at] = labelEnd - at - 1
    labelEnd = at
  }
}

function encodeEscapedName(name: string): Buffer {
  const labels = splitDnsName(name).map((label) => Buffer.from(octetsOfLabel(label), 'latin1'))
  return Buffer.concat([...labels.flatMap((octets) => [Buffer.of(octets.length), octets]), Buffer.of(0)])
}

/** Returns the same question without an OPT record, for resolvers that treat one as an error. */
export function withoutEdns(query: EncodedQuery): EncodedQuery {
  const message = Buffer.from(query.message.subarray(0, query.questionEnd))
  message.writeUInt16BE(0, 10)
  return { ...query, message }
}

/** 255 octets on the wire, less the first length and the final zero. */
const maxPlainLength = 253
/**
 * Labels of 1 to 63 octets without escapes, as nearly all are, because unchecked text could turn the message into
 * another question.
 */
const plainName = /^[!-\-/-?A-[\]-~]{1,63}(?:\.[!-\-/-?A-[\]-~]{1,63})*$/

/** Returns a name in its one spelling, or `.` for the root. */
function checkedName(text: string): string {
  if (text === '') return '.'
  // Checked before conversion to lower case, which turns the kelvin sign into a k.
  if (text.length <= maxPlainLength && plainName.test(text)) return text.toLowerCase()
  const name = parseDnsName(text)
  if (name === null) throw invalidArgument('name must be a domain name.')
  return name
}

function clientSubnetOption(clientSubnet: string): dnsPacket.PacketOpt {
  const network = parseNetwork(clientSubnet)
  if (network === null) throw invalidArgument('clientSubnet must be a network like 192.0.2.0/24.')
  const { octets, prefixLength } = network
  return {
    code: optionCodes.clientSubnet,
    family: octets.length === 4 ? 1 : 2,
    ip: formatIpAddress(withoutHostBits(octets, prefixLength)),
    sourcePrefixLength: prefixLength,
    scopePrefixLength: 0,
  }
}

/** Clears the host bits, because resolvers refuse a network that has any set (RFC 7871 section 6). */
function withoutHostBits(octets: Uint8Array, prefixLength: number): Uint8Array {
  return octets.map((octet, index) => {
    const bits = Math.min(8, Math.max(0, prefixLength - index * 8))
    return octet & (0xff << (8 - bits))
  })
}
