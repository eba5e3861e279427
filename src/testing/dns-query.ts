import type { DnsRecord, RecordType } from '../domain/dns-check.ts'
import { NameReader } from '../dns/names.ts'
import { encodeDnsReply, typeOfNumber } from './dns-encoding.ts'
import type { FakeDnsAnswer, FakeDnsQuery, FakeDnsRcode, FakeDnsServerOptions } from './dns-server.ts'

const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const
const headerLength = 12
const truncatedFlag = 0x0200
// QR and RA; opcode and RD come from the query.
const responseFlags = 0x8080
const maxChain = 16

interface Question {
  readonly name: string
  readonly type: RecordType | null
  /** Where it ends in the message. */
  readonly end: number
}

/** Reads a query; null for what is none. */
export function readFakeDnsQuery(
  message: Buffer,
  transport: 'udp' | 'tcp',
  clientPort: number,
  options: FakeDnsServerOptions,
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
      flags: responseFlags | (message.readUInt16BE(2) & 0x7900) | (rcode & 0x0f),
      question: message.subarray(headerLength, (question as Question).end),
      ...(udpPayloadSize !== null && {
        opt: { extendedRcode: rcode >> 4, options: content.options ?? [] },
      }),
    }
    const whole = encodeDnsReply({ ...reply, answers })
    const tooLong = whole.length > limit || (transport === 'udp' && options.truncate === true)
    return tooLong ? encodeDnsReply({ ...reply, flags: reply.flags | truncatedFlag }) : whole
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
    const end = names.offset + 4
    return { name, type: typeOfNumber(message.readUInt16BE(names.offset)) ?? null, end }
  } catch {
    return null
  }
}

/** What the OPT record right behind the question says, which is where queries have it. */
function payloadSizeOf(message: Buffer, questionEnd: number): number | null {
  const hasOpt = message.length >= questionEnd + 11 && message.readUInt16BE(questionEnd + 1) === 41
  return hasOpt ? Math.max(512, message.readUInt16BE(questionEnd + 3)) : null
}

function rcodeNumber(rcode: FakeDnsRcode): number {
  return typeof rcode === 'number' ? rcode : rcodes[rcode]
}

/** What a zone says: records of the type, behind aliases where there are any. */
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
