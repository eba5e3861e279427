import type { DnsAnswer, DnsStatus } from '../../domain/dns-answer.ts'
import type { Writable } from '../../domain/writable.ts'
import { rcodes } from './constants.ts'
import type { EncodedQuery } from './encoded-query.ts'
import { noReply, readReply, type ParsedReply } from './reply.ts'

const statusByRcode: Readonly<Record<number, DnsStatus>> = {
  [rcodes.NOERROR]: 'NOERROR',
  [rcodes.FORMERR]: 'FORMERR',
  [rcodes.SERVFAIL]: 'SERVFAIL',
  [rcodes.NXDOMAIN]: 'NXDOMAIN',
  [rcodes.NOTIMP]: 'REFUSED', // the server does not serve such questions
  [rcodes.REFUSED]: 'REFUSED',
  [rcodes.BADVERS]: 'FORMERR', // to a query without EDNS
}

/** The statuses that are about the name, not about the resolver's trouble with it. */
const definite: ReadonlySet<DnsStatus> = new Set(['NOERROR', 'NODATA', 'NXDOMAIN'])

/** Returns the status that a reply gives. */
export function statusOf({ rcode, records, isReferral }: ParsedReply): DnsStatus {
  const status = statusByRcode[rcode] ?? 'SERVFAIL'
  if (status !== 'NOERROR' || records.length > 0) return status
  return isReferral ? 'REFERRAL' : 'NODATA'
}

/** Returns an answer from a reply, and from what is known beside it. */
export function answerOf(
  status: DnsStatus,
  reply: ParsedReply,
  transport: DnsAnswer['transport'],
  latencyMs: number,
): DnsAnswer {
  const { cnameChain, ttlSeconds, negativeTtlSeconds, cnameTtlSeconds } = reply
  const { ede, clientSubnetScope, authenticated } = reply
  // A name that does not exist has no records, whatever else the reply contains (RFC 6604).
  const records = status === 'NOERROR' ? reply.records : []
  // Not by spreading objects that may be empty, which takes ten times as long.
  const answer: Writable<DnsAnswer> = { status, records, cnameChain, transport, latencyMs }
  // No zone can say how long a failure lasts (RFC 2308 section 7).
  if (definite.has(status)) {
    if (ttlSeconds !== undefined) answer.ttlSeconds = ttlSeconds
    if (status !== 'NOERROR' && negativeTtlSeconds !== undefined)
      answer.negativeTtlSeconds = negativeTtlSeconds
    if (cnameTtlSeconds !== undefined) answer.cnameTtlSeconds = cnameTtlSeconds
    // With a failure, it is the question's flag, sent back.
    if (authenticated) answer.authenticated = true
  }
  if (ede.length > 0) answer.ede = ede
  if (clientSubnetScope !== undefined) answer.clientSubnetScope = clientSubnetScope
  if (status === 'REFERRAL' && reply.referral !== undefined) answer.referral = reply.referral
  return answer
}

/**
 * Reads a message as the answer to a query, by the rules and limits of our own clients. Returns null if it is the reply to
 * something else: ignore it, because anybody can send a datagram.
 *
 * The id is yours to compare. A datagram that is `TRUNCATED` or `MALFORMED` is to be asked for again over a stream, and
 * `FORMERR` comes from servers that do not know EDNS, too.
 *
 * @param transport - What carried the message; copied into the answer, as is `latencyMs`.
 *
 * @group DNS
 */
export function readAnswer(
  message: Uint8Array,
  query: EncodedQuery,
  transport: 'udp' | 'tcp' | 'https',
  latencyMs: number,
): DnsAnswer | null {
  const reply = readReply(Buffer.from(message.buffer, message.byteOffset, message.length), query)
  if (reply === 'unrelated') return null
  return typeof reply === 'object'
    ? answerOf(statusOf(reply), reply, transport, latencyMs)
    : answerOf(unreadable[reply], noReply, transport, latencyMs)
}

const unreadable = {
  malformed: 'MALFORMED',
  cut: 'MALFORMED',
  truncated: 'TRUNCATED',
  'too large': 'TOO_LARGE',
} as const
