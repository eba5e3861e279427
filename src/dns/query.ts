import type { DnsAnswer, DnsStatus } from '../domain/dns-answer.ts'
import { randomId } from './random-id.ts'
import { sendOverTcp } from './tcp.ts'
import type { ReplyListener, ServerAddress } from './reply-listener.ts'
import type { UdpPool, UdpQuery } from './udp.ts'
import type { Waiter, WaitingRoom } from './waiting-room.ts'
import { rcodes } from './wire/constants.ts'
import { withoutEdns, type EncodedQuery } from './wire/encoded-query.ts'
import { noReply, readReply, type ParsedReply } from './wire/reply.ts'

/** What a query needs. */
export interface QueryParts {
  readonly encoded: EncodedQuery
  readonly server: ServerAddress
  readonly pool: UdpPool
  readonly timeoutMs: number
  /** Keeps the query until it is over. */
  readonly waitingRoom: WaitingRoom<Query>
  /** Called once, when the query is over. */
  readonly onEnd: (answer: DnsAnswer) => void
}

/** When the tries start and when time is up, as fractions of the time allowed. */
const schedule: readonly number[] = [0, 0.3, 0.65, 1]
const lastTry = schedule.length - 2

const statusByRcode: Readonly<Record<number, DnsStatus>> = {
  [rcodes.NOERROR]: 'NOERROR',
  [rcodes.FORMERR]: 'FORMERR',
  [rcodes.SERVFAIL]: 'SERVFAIL',
  [rcodes.NXDOMAIN]: 'NXDOMAIN',
  [rcodes.NOTIMP]: 'REFUSED', // the server does not serve such questions
  [rcodes.REFUSED]: 'REFUSED',
  [rcodes.BADVERS]: 'FORMERR', // to a query without EDNS
}
/** The codes of servers that do not know EDNS, or not our version of it. */
const ednsRefusals: ReadonlySet<number> = new Set([rcodes.FORMERR, rcodes.NOTIMP, rcodes.BADVERS])
/** The statuses that are about the name, not about the resolver's trouble with it. */
const definite: ReadonlySet<DnsStatus> = new Set(['NOERROR', 'NODATA', 'NXDOMAIN'])
const nothingSent: readonly UdpQuery[] = []

/**
 * One question to one resolver, until it is answered or the time is up.
 *
 * A reply that does not match is ignored, because anybody can send one. Every try can be answered until the end.
 */
export class Query implements ReplyListener, Waiter {
  place = 0
  dueAt = 0
  readonly #parts: QueryParts
  readonly #started: number = performance.now()
  #encoded: EncodedQuery
  /** The tries that can still be answered. */
  #sent = nothingSent
  #outstanding = 0
  #tries = 0
  #refusals = 0
  #sawMalformed = false
  /** Whether the resolver refused EDNS. */
  #plain = false
  #endTcp: (() => void) | undefined
  #over = false

  constructor(parts: QueryParts) {
    this.#parts = parts
    this.#encoded = parts.encoded
    this.#startTry()
    parts.waitingRoom.add(this)
  }

  /** Ends the query and reports its result. */
  end(status: DnsStatus, reply: ParsedReply = noReply): void {
    if (this.#over) return
    const { records, cnameChain, ttlSeconds, ede, clientSubnetScope, authenticated } = reply
    this.#over = true
    this.#parts.waitingRoom.remove(this)
    this.#releaseSent()
    this.#endTcp?.()
    this.#parts.onEnd({
      status,
      // A name that does not exist has no records, whatever else the reply contains (RFC 6604).
      records: status === 'NOERROR' ? records : [],
      cnameChain,
      transport: this.#endTcp === undefined ? 'udp' : 'tcp',
      latencyMs: performance.now() - this.#started,
      // No zone can say how long a failure lasts (RFC 2308 section 7).
      ...(ttlSeconds !== undefined && definite.has(status) && { ttlSeconds }),
      ...(ede.length > 0 && { ede }),
      ...(clientSubnetScope !== undefined && { clientSubnetScope }),
      ...(authenticated && { authenticated }),
    })
  }

  receive(message: Buffer): boolean {
    // Held to what was asked first: after the last try, which has no EDNS, the replies to earlier ones may still come.
    const reply = readReply(message, this.#parts.encoded)
    if (typeof reply === 'object') this.#take(reply)
    else if (reply === 'truncated') this.#takeTruncated()
    // Another try would not make it smaller.
    else if (reply === 'too large') this.end('TOO_LARGE')
    else if (reply === 'malformed') this.#sawMalformed = true
    return this.#over
  }

  fail(): void {
    if (this.#over) return
    if (this.#endTcp !== undefined) return this.end(this.#statusSoFar())
    this.#outstanding -= 1
    this.#refusals += 1
    // ICMP can be forged as well, so one refusal is not believed.
    if (this.#refusals === 1) this.#send()
    else if (this.#outstanding === 0) this.end('UNREACHABLE')
  }

  onDue(): void {
    if (this.#endTcp === undefined && this.#tries <= lastTry) this.#startTry()
    else this.end(this.#statusSoFar())
  }

  #startTry(): void {
    // RFC 8906: some servers and firewalls answer EDNS with silence.
    if (this.#tries === lastTry) this.#encoded = withoutEdns(this.#encoded)
    this.#tries += 1
    this.dueAt = this.#started + (schedule[this.#tries] ?? 1) * this.#parts.timeoutMs
    this.#send()
  }

  #send(): void {
    this.#outstanding += 1
    // Not from the port of the try before, which may be guessed, blocked or broken.
    this.#sent.at(-1)?.socket.retire()
    const query = this.#parts.pool.send(this.#encoded.message, this)
    // Most queries are sent once, and a copy with one more element makes room for 17.
    this.#sent = this.#sent === nothingSent ? [query] : [...this.#sent, query]
  }

  #take(reply: ParsedReply): void {
    if (!this.#plain && ednsRefusals.has(reply.rcode)) return this.#repeatWithoutEdns()
    const status = statusByRcode[reply.rcode] ?? 'SERVFAIL'
    this.end(status === 'NOERROR' && reply.records.length === 0 ? 'NODATA' : status, reply)
  }

  /** Asks again without EDNS: a server that does not know it reports a format error (RFC 6891 section 7). */
  #repeatWithoutEdns(): void {
    this.#plain = true
    this.#encoded = withoutEdns(this.#encoded)
    // The earlier tries would bring the same error again.
    this.#releaseSent()
    if (this.#endTcp === undefined) this.#send()
    else this.#sendOverTcp()
  }

  #takeTruncated(): void {
    if (this.#endTcp === undefined) this.#sendOverTcp()
    else this.end('TRUNCATED')
  }

  #sendOverTcp(): void {
    this.#releaseSent()
    this.#endTcp?.()
    this.dueAt = this.#started + this.#parts.timeoutMs
    const message = Buffer.from(this.#encoded.message)
    message.writeUInt16BE(randomId(), 0)
    this.#endTcp = sendOverTcp(this.#parts.server, message, this)
  }

  #statusSoFar(): DnsStatus {
    if (this.#sawMalformed) return 'MALFORMED'
    return this.#endTcp === undefined ? 'TIMEOUT' : 'TRUNCATED'
  }

  #releaseSent(): void {
    for (const query of this.#sent) query.socket.release(query)
    this.#sent = nothingSent
    this.#outstanding = 0
  }
}
