import type { DnsAnswer, DnsStatus } from '../domain/dns-answer.ts'
import { refusal, refused } from '../domain/errors.ts'
import { isLocalFailure } from '../bounds/local-failure.ts'
import { oneATurn } from '../bounds/one-a-turn.ts'
import { performance, setImmediate } from '../ports/timers.ts'
import { overStream, type ReplyListener, type Source, type Stream } from './transport-types.ts'
import type { UdpPool, UdpQuery } from './udp-sockets.ts'
import type { Waiter, WaitingRoom } from './waiting-room.ts'
import { answerOf, statusOf } from './wire/answer.ts'
import { rcodes } from './wire/constants.ts'
import { withoutEdns, type EncodedQuery } from './wire/encoded-query.ts'
import { isReplyTo, noReply, readReply, type ParsedReply } from './wire/reply.ts'

/** The ways to a resolver. */
export interface Route {
  /** Its sockets; undefined to ask over the stream from the start. */
  readonly pool: UdpPool | undefined
  readonly stream: Stream
}

/** What a query needs. */
export interface QueryParts {
  readonly encoded: EncodedQuery
  readonly route: Route
  readonly timeoutMs: number
  /** Keeps the query until it is over. */
  readonly waitingRoom: WaitingRoom<Query>
  /** Told of the answer, once. */
  readonly onAnswer: (answer: DnsAnswer) => void
  /** Told, before there is an answer that means nothing, that this machine cannot ask. */
  readonly onLocalFailure: (error: Error) => void
}

/** When the tries start and when time is up, as fractions of the time allowed. */
const schedule: readonly number[] = [0, 0.3, 0.65, 1]
const lastTry = schedule.length - 2

/** The codes of servers that do not know EDNS, or not our version of it. */
const ednsRefusals: ReadonlySet<number> = new Set([rcodes.FORMERR, rcodes.NOTIMP, rcodes.BADVERS])
/** Honest datagrams are not longer, and reading one takes a fraction of a millisecond. */
const longestShort = 1232
const mostUnread = 4
const nothingSent: readonly UdpQuery[] = []
const cannotAsk = refusal('unavailable', 'This machine cannot ask resolvers at the moment.')

/**
 * One question to one resolver, until it is answered or the time is up.
 *
 * A reply that does not match is ignored, because anybody can send one. Every try can be answered until the end.
 */
export class Query implements ReplyListener, Waiter {
  slot = 0
  dueAt = 0
  readonly #parts: QueryParts
  readonly #started: number = performance.now()
  /** What the next try sends: the question, or the same without EDNS. */
  #next: EncodedQuery
  /** The tries that can still be answered. */
  #sent = nothingSent
  #outstanding = 0
  #tries = 0
  #refusals = 0
  /** Where replies come from that are not believed until a later try brings one too. */
  #doubted: readonly Source[] | undefined
  #sawMalformed = false
  /** Whether a datagram came that is not the whole answer. */
  #sawPart = false
  /** Whether the resolver refused EDNS. */
  #plain = false
  #endStream: (() => void) | undefined
  #transport: DnsAnswer['transport'] = 'udp'
  /** How many long messages have come that are not read yet. */
  #unread = 0
  /** Whether the connection has ended meanwhile. */
  #streamFailed = false
  /** The system's error that ended the latest socket, if there was one. */
  #failure: unknown
  #over = false

  constructor(parts: QueryParts) {
    this.#parts = parts
    this.#next = parts.encoded
    this.#startTry()
    parts.waitingRoom.add(this)
  }

  /** Ends the query and reports its result. */
  end(status: DnsStatus, reply: ParsedReply = noReply): void {
    if (this.#over) return
    this.#over = true
    this.#parts.waitingRoom.remove(this)
    this.#releaseSent()
    this.#endStream?.()
    const answer = answerOf(status, reply, this.#transport, performance.now() - this.#started)
    this.#parts.onAnswer(
      status === 'UNREACHABLE' && this.#failure !== undefined ? { ...answer, cause: this.#failure } : answer,
    )
  }

  receive(message: Buffer, source: Source): boolean {
    if (message.length <= longestShort || !isReplyTo(message, this.#parts.encoded))
      return this.#read(message, source)
    // Anybody who has the question could otherwise send any number.
    if (this.#unread >= mostUnread) return this.#over
    this.#unread += 1
    oneATurn(() => {
      this.#unread -= 1
      if (this.#over) return
      this.#read(message, source)
      if (this.#streamFailed && this.#unread === 0) this.fail(overStream, this.#failure)
    })
    return this.#over
  }

  #read(message: Buffer, source: Source): boolean {
    // Held to what was asked first, because after the last try, which has no EDNS, the replies to earlier ones may
    // still come.
    const reply = readReply(message, this.#parts.encoded)
    if (reply === 'unrelated') return this.#over
    this.#transport = source === overStream ? this.#parts.route.stream.name : 'udp'
    if (typeof reply === 'object') this.#take(reply, source)
    else if (reply === 'truncated') this.#takeTruncated(source)
    // Another try would not make it smaller.
    else if (reply === 'too large') this.end('TOO_LARGE')
    else if (reply === 'cut' && source !== overStream) this.#takeCut()
    else this.#takeMalformed(source)
    return this.#over
  }

  fail(source: Source, error?: unknown): void {
    if (this.#over) return
    this.#failure = error
    if (source === overStream) {
      // Its answer may be among what has come.
      if (this.#unread > 0) this.#streamFailed = true
      else this.#giveUp(this.#statusSoFar('UNREACHABLE'))
      return
    }
    this.#outstanding -= 1
    this.#refusals += 1
    // ICMP can be forged as well, so one refusal is not believed.
    if (this.#refusals === 1) this.#send()
    else if (this.#outstanding === 0 && this.#endStream === undefined) this.#giveUp('UNREACHABLE')
  }

  #giveUp(status: DnsStatus): void {
    if (isLocalFailure(this.#failure))
      this.#parts.onLocalFailure(refused(cannotAsk, { cause: this.#failure }))
    this.end(status)
  }

  onDue(): void {
    if (this.#endStream === undefined && this.#tries <= lastTry) this.#startTry()
    else this.end(this.#statusSoFar('TIMEOUT'))
  }

  #startTry(): void {
    // RFC 8906: some servers and firewalls answer EDNS with silence.
    if (this.#tries === lastTry) this.#next = withoutEdns(this.#next)
    this.#tries += 1
    this.dueAt = this.#started + (schedule[this.#tries] ?? 1) * this.#parts.timeoutMs
    this.#send()
  }

  #send(): void {
    const { pool } = this.#parts.route
    if (pool === undefined) return this.#sendOverStream()
    this.#outstanding += 1
    // Not from the port of the try before, which may be guessed, blocked or broken.
    this.#sent.at(-1)?.socket.retire()
    const query = pool.send(this.#next.message, this)
    // Most queries are sent once, and a copy with one more element makes room for 17.
    this.#sent = this.#sent === nothingSent ? [query] : [...this.#sent, query]
  }

  #take(reply: ParsedReply, source: Source): void {
    const status = statusOf(reply)
    // It needs no question to match, so whoever guesses an id and a port can send it.
    if (reply.isBare && source !== overStream) this.#doubt(status, source)
    else if (!this.#plain && ednsRefusals.has(reply.rcode)) this.#repeatWithoutEdns()
    else this.end(status, reply)
  }

  #takeMalformed(source: Source): void {
    this.#sawMalformed = true
    if (source !== overStream) return this.#doubt('MALFORMED', source)
    const connection = this.#endStream
    // Not at once: the right answer may be behind it, in the same segment.
    setImmediate(() => {
      if (this.#over || this.#endStream !== connection) return
      if (this.#plain) this.end('MALFORMED')
      else this.#repeatWithoutEdns()
    })
  }

  /**
   * Asks again from another port, and ends the query when something like it has come from there too. Without EDNS, which
   * some servers cannot read, and to which some send what cannot be read. A slow one sends that to each earlier try.
   */
  #doubt(status: DnsStatus, source: Source): void {
    if (this.#doubted === undefined) {
      this.#doubted = this.#sent.map(({ socket }) => socket)
      this.#plain = true
      this.#next = withoutEdns(this.#next)
      if (this.#endStream === undefined) this.#send()
    } else if (!this.#doubted.includes(source)) this.end(status)
  }

  /** Asks again without EDNS, because a server that does not know it reports a format error (RFC 6891 section 7). */
  #repeatWithoutEdns(): void {
    this.#plain = true
    this.#next = withoutEdns(this.#next)
    // The earlier tries would bring the same error again.
    this.#releaseSent()
    if (this.#endStream === undefined) this.#send()
    else this.#sendOverStream()
  }

  #takeTruncated(source: Source): void {
    if (source === overStream) return this.end('TRUNCATED')
    this.#releaseSent()
    this.#takeCut()
  }

  /** Asks over the stream for what did not fit. A whole answer can still come in another datagram. */
  #takeCut(): void {
    this.#sawPart = true
    if (this.#endStream === undefined) this.#sendOverStream()
  }

  #sendOverStream(): void {
    this.#endStream?.()
    this.#streamFailed = false
    const { stream } = this.#parts.route
    this.#transport = stream.name
    this.dueAt = this.#started + this.#parts.timeoutMs
    this.#endStream = stream.send(this.#next.message, this)
  }

  #statusSoFar(otherwise: DnsStatus): DnsStatus {
    if (this.#sawMalformed) return 'MALFORMED'
    return this.#sawPart ? 'TRUNCATED' : otherwise
  }

  #releaseSent(): void {
    for (const query of this.#sent) query.socket.release(query)
    this.#sent = nothingSent
    this.#outstanding = 0
  }
}
