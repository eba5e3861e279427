import type { DnsAnswer, DnsStatus } from '../domain/dns-check.ts'
import { withoutEdns, type Query } from './query.ts'
import { randomId } from './random-id.ts'
import { readReply, type Reply } from './reply.ts'
import { askOverTcp, type TcpListener } from './tcp.ts'
import type { Server, UdpListener, UdpPool, UdpTicket } from './udp.ts'
import type { Waiter, WaitingRoom } from './waiting-room.ts'

/** What an exchange works with. */
export interface ExchangeParts {
  readonly query: Query
  readonly server: Server
  readonly pool: UdpPool
  readonly timeoutMs: number
  /** Where it stays until it is over. */
  readonly waitingRoom: WaitingRoom<Exchange>
  /** Called once, when it is over. */
  readonly onEnd: (answer: DnsAnswer) => void
}

/** When the tries start, as shares of the time allowed, and the end of it. */
const schedule: readonly number[] = [0, 0.3, 0.65, 1]
const lastTry = schedule.length - 2

const statusByRcode: Readonly<Record<number, DnsStatus>> = {
  0: 'NOERROR',
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'REFUSED', // NOTIMP: the server does not serve such questions
  5: 'REFUSED',
  16: 'FORMERR', // BADVERS, to a query without EDNS
}
const formErr = 1
const notImp = 4
const badVers = 16
const noTickets: readonly UdpTicket[] = []
const noReply: Reply = { rcode: 0, records: [], cnameChain: [], ede: [], clientSubnetScope: undefined }

/**
 * One question to one resolver, until it is answered or the time is up.
 *
 * A reply that does not fit is ignored, as anybody can send one; every try is listened to until the end.
 */
export class Exchange implements UdpListener, TcpListener, Waiter {
  place = 0
  dueAt = 0
  private readonly parts: ExchangeParts
  private readonly started: number = performance.now()
  private query: Query
  private tickets = noTickets
  /** Tries that can still be answered. */
  private outstanding = 0
  private tries = 0
  private refusals = 0
  private sawMalformed = false
  /** The resolver refused EDNS. */
  private plain = false
  private endTcp: (() => void) | undefined
  private over = false

  constructor(parts: ExchangeParts) {
    this.parts = parts
    this.query = parts.query
    this.startTry()
    parts.waitingRoom.add(this)
  }

  /** Ends it, and tells what came of it. */
  end(status: DnsStatus, { records, cnameChain, ede, clientSubnetScope }: Reply = noReply): void {
    if (this.over) return
    this.over = true
    this.parts.waitingRoom.remove(this)
    this.releaseTickets()
    this.endTcp?.()
    this.parts.onEnd({
      status,
      // A name that does not exist has no records, whatever else came (RFC 6604).
      records: status === 'NOERROR' ? records : [],
      cnameChain,
      transport: this.endTcp === undefined ? 'udp' : 'tcp',
      latencyMs: performance.now() - this.started,
      ...(ede.length > 0 && { ede }),
      ...(clientSubnetScope !== undefined && { clientSubnetScope }),
    })
  }

  receive(message: Buffer): boolean {
    const reply = readReply(message, this.query)
    if (typeof reply === 'object') this.take(reply)
    else if (reply === 'truncated') this.takeTruncated()
    else if (reply === 'malformed') this.sawMalformed = true
    return this.over
  }

  fail(): void {
    if (this.over) return
    if (this.endTcp !== undefined) return this.end(this.statusSoFar())
    this.outstanding -= 1
    this.refusals += 1
    // ICMP can be forged as well, so one refusal is not believed.
    if (this.refusals === 1) this.send()
    else if (this.outstanding === 0) this.end('UNREACHABLE')
  }

  onDue(): void {
    if (this.endTcp === undefined && this.tries <= lastTry) this.startTry()
    else this.end(this.statusSoFar())
  }

  private startTry(): void {
    // RFC 8906: some servers and firewalls answer EDNS with silence.
    if (this.tries === lastTry) this.query = withoutEdns(this.query)
    this.tries += 1
    this.dueAt = this.started + (schedule[this.tries] ?? 1) * this.parts.timeoutMs
    this.send()
  }

  private send(): void {
    this.outstanding += 1
    // From another port than the try before: that one may be guessed, blocked or broken.
    this.tickets.at(-1)?.retireSocket()
    this.tickets = [...this.tickets, this.parts.pool.send(this.query.message, this)]
  }

  private take(reply: Reply): void {
    const { rcode } = reply
    if (!this.plain && (rcode === formErr || rcode === notImp || rcode === badVers)) return this.askPlainly()
    const status = statusByRcode[rcode] ?? 'SERVFAIL'
    this.end(status === 'NOERROR' && reply.records.length === 0 ? 'NODATA' : status, reply)
  }

  /** RFC 6891 section 7: who does not know EDNS calls it a format error. */
  private askPlainly(): void {
    this.plain = true
    this.query = withoutEdns(this.query)
    // The tries before would bring the same error once more.
    this.releaseTickets()
    if (this.endTcp === undefined) this.send()
    else this.askOverTcp()
  }

  private takeTruncated(): void {
    if (this.endTcp === undefined) this.askOverTcp()
    else this.end('TRUNCATED')
  }

  private askOverTcp(): void {
    this.releaseTickets()
    this.endTcp?.()
    this.dueAt = this.started + this.parts.timeoutMs
    const message = Buffer.from(this.query.message)
    message.writeUInt16BE(randomId(), 0)
    this.endTcp = askOverTcp(this.parts.server, message, this)
  }

  private statusSoFar(): DnsStatus {
    if (this.sawMalformed) return 'MALFORMED'
    return this.endTcp === undefined ? 'TIMEOUT' : 'TRUNCATED'
  }

  private releaseTickets(): void {
    for (const ticket of this.tickets) ticket.release()
    this.tickets = noTickets
    this.outstanding = 0
  }
}
