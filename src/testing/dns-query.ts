import type { DnsRecord, RecordType } from '../domain/dns-record.ts'
import { headerFlags, headerLength, optType, questionTailLength, rcodes } from '../dns/wire/constants.ts'
import { NameReader } from '../dns/wire/name.ts'
import { encodeDnsReply, typeOfNumber } from './dns-encoding.ts'

/**
 * A DNS response code, by name or number.
 *
 * @group Testing
 */
export type FakeDnsRcode = 'NOERROR' | 'FORMERR' | 'SERVFAIL' | 'NXDOMAIN' | 'NOTIMP' | 'REFUSED' | number

/**
 * A query as a `fakeDnsServer` received it.
 *
 * @group Testing
 */
export interface FakeDnsQuery {
  /** Message id. */
  readonly id: number
  /** The requested name in lower case, without a final dot. */
  readonly name: string
  /** The requested record type; null for types that this library does not know. */
  readonly type: RecordType | null
  /** The transport over which it was received. */
  readonly transport: 'udp' | 'tcp'
  /** The port it was sent from. */
  readonly clientPort: number
  /** The longest datagram the client accepts according to its OPT record; null if it sent none. */
  readonly udpPayloadSize: number | null
  /** The whole message. */
  readonly message: Uint8Array
  /** Encodes the right answer, or one with other records or another code. */
  answer(content?: FakeDnsAnswer): Buffer
}

/**
 * What to change about the right answer.
 *
 * @group Testing
 */
export interface FakeDnsAnswer {
  /** Records of the answer section. Default: the zone's. */
  readonly records?: readonly DnsRecord[]
  /** Response code, up to 12 bits. Default: what the zone says. */
  readonly rcode?: FakeDnsRcode
  /** Options of the OPT record. Default: none. */
  readonly options?: readonly { readonly code: number; readonly data: Uint8Array }[]
  /** Whether to say that the answer was validated (the AD bit). Default: false. */
  readonly authenticated?: boolean
}

/** The part of the server's options that determines its answers. */
interface Zone {
  readonly records?: readonly DnsRecord[]
  readonly rcode?: FakeDnsRcode
  readonly truncate?: boolean
}

const responseFlags = headerFlags.response | headerFlags.recursionAvailable
const copiedFlags = headerFlags.opcode | headerFlags.recursionDesired
const maxChain = 16

interface Question {
  readonly name: string
  readonly type: RecordType | null
  /** Where it ends in the message. */
  readonly end: number
}

/** Reads a query. Returns null if the message is not one. */
export function readFakeDnsQuery(
  message: Buffer,
  transport: 'udp' | 'tcp',
  clientPort: number,
  options: Zone,
): FakeDnsQuery | null {
  const question = readQuestion(message)
  if (question === null) return null
  const udpPayloadSize = payloadSizeOf(message, question.end)
  const limit = transport === 'tcp' ? 65_535 : (udpPayloadSize ?? 512)

  function answer(content: FakeDnsAnswer = {}): Buffer {
    const zone = lookUp(options.records ?? [], question as Question)
    const rcode = rcodeNumber(content.rcode ?? options.rcode ?? zone.rcode)
    const answers = content.records ?? (options.rcode === undefined ? zone.records : [])
    const reply = {
      id: message.readUInt16BE(0),
      flags:
        responseFlags |
        (message.readUInt16BE(2) & copiedFlags) |
        (rcode & headerFlags.rcode) |
        (content.authenticated === true ? headerFlags.authenticData : 0),
      question: message.subarray(headerLength, (question as Question).end),
      ...(udpPayloadSize !== null && {
        opt: { extendedRcode: rcode >> 4, options: content.options ?? [] },
      }),
    }
    const whole = encodeDnsReply({ ...reply, answers })
    const tooLong = whole.length > limit || (transport === 'udp' && options.truncate === true)
    return tooLong ? encodeDnsReply({ ...reply, flags: reply.flags | headerFlags.truncated }) : whole
  }

  return {
    id: message.readUInt16BE(0),
    name: question.name,
    type: question.type,
    transport,
    clientPort,
    udpPayloadSize,
    message,
    answer,
  }
}

function readQuestion(message: Buffer): Question | null {
  try {
    const names = new NameReader(message)
    const name = names.read(headerLength).toLowerCase()
    const end = names.offset + questionTailLength
    return { name, type: typeOfNumber(message.readUInt16BE(names.offset)) ?? null, end }
  } catch {
    return null
  }
}

/** Returns the size in the OPT record right after the question, which is where queries have it. */
function payloadSizeOf(message: Buffer, questionEnd: number): number | null {
  const hasOpt = message.length >= questionEnd + 11 && message.readUInt16BE(questionEnd + 1) === optType
  return hasOpt ? Math.max(512, message.readUInt16BE(questionEnd + 3)) : null
}

/** Tells whether a response code can be sent: with its upper bits in an OPT record. */
export function isFakeDnsRcode(value: unknown): boolean {
  if (typeof value === 'string') return Object.hasOwn(rcodes, value)
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 12
}

function rcodeNumber(rcode: FakeDnsRcode): number {
  return typeof rcode === 'number' ? rcode : rcodes[rcode]
}

/** Looks a question up in a zone: the records of the type, after any aliases. */
function lookUp(
  zone: readonly DnsRecord[],
  { name, type }: Question,
): { records: DnsRecord[]; rcode: FakeDnsRcode } {
  const records: DnsRecord[] = []
  let host = name
  for (let hops = 0; hops < maxChain; hops += 1) {
    const here = zone.filter((record) => record.host.toLowerCase() === host)
    const alias = here.find((record) => record.type === 'CNAME')
    if (alias?.type !== 'CNAME' || type === 'CNAME') {
      records.push(...here.filter((record) => record.type === type))
      break
    }
    records.push(alias)
    host = alias.target.toLowerCase()
  }
  const exists = zone.some((record) =>
    `.${record.host.toLowerCase()}`.endsWith(host === '.' ? '' : `.${host}`),
  )
  return { records, rcode: exists ? 'NOERROR' : 'NXDOMAIN' }
}
