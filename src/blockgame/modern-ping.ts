import { ServerCheckError } from '../domain/server-status.ts'
import { ownTurn } from '../bounds/one-a-turn.ts'
import { clearTimeout, performance, setTimeout } from '../ports/timers.ts'
import { PacketReader, readStatusText, type Packet } from './codec/packets.ts'
import { encodePing } from './codec/requests.ts'
import { parseStatus, type StatusReply } from './codec/status.ts'
import { connectionFailure } from './connect-to-first.ts'
import type { Connection } from './connection.ts'

/** What a server said, and how far away it is. */
export interface ServerReply {
  /** What the server says about itself. */
  readonly status: StatusReply
  /** The round trip of the pong in milliseconds, or of the status if no pong came. */
  readonly latencyMs: number
}

/** Thrown if the server answers with a kick, as servers older than 1.7 do, so a legacy ping is worth a try. */
export class KickedError extends ServerCheckError {}

/** Thrown if the connection ends without a byte, so another server, or another protocol, is worth a try. */
export class UnansweredError extends ServerCheckError {}

/** What a status request tells while it is under way. */
export interface RequestHooks {
  /** Called once if the server stays silent. The request continues. */
  readonly onSilence: () => void
  /** Called once when the status has arrived. Only a pong is missing. */
  readonly onStatus: () => void
}

/** How long a status request waits, and what it tells. */
export interface RequestOptions extends RequestHooks {
  /** Milliseconds the server may stay silent before `onSilence` is called. */
  readonly silenceMs: number
  /** Milliseconds to wait for a pong once the status has arrived. */
  readonly pongMs: () => number
  /** Whether the reply also has the status as it was sent. */
  readonly raw: boolean
}

/** What to send at once, and what after a moment, because two writes in a row may be read as one. */
export type RequestSegments = readonly [first: Uint8Array, second?: Uint8Array | undefined]

const segmentDelayMs = 50

/** Real ones with an icon and mods are shorter. One of a MiB takes up to 25 ms to read. */
const longestShort = 65_536

/** A long status, not read yet, with the latency of the reply that it will be. */
interface LongReply extends Pick<ServerReply, 'latencyMs'> {
  readonly text: string
}

async function readInOwnTurn({ text, latencyMs }: LongReply, raw: boolean): Promise<ServerReply> {
  await ownTurn()
  return { status: parseStatus(text, { raw }), latencyMs }
}

/**
 * Sends the request over an open connection, and reads the status and the pong.
 *
 * A missing, late, odd or broken pong is never an error, and the round trip of the status is used instead.
 */
export function requestStatus(
  connection: Connection,
  [first, second]: RequestSegments,
  { silenceMs, pongMs, raw, onSilence, onStatus }: RequestOptions,
): Promise<ServerReply> {
  return new Promise((resolve, reject) => {
    const reader = new PacketReader()
    let timer = setTimeout(onSilence, silenceMs)
    let heard = false
    let sentAt = performance.now()
    let reply: ServerReply | undefined
    let long: LongReply | undefined

    const sent = (): void => {
      sentAt = performance.now()
    }
    const finish = (error?: Error): void => {
      clearTimeout(timer)
      clearTimeout(rest)
      connection.close()
      if (reply) resolve(reply)
      else if (long) resolve(readInOwnTurn(long, raw))
      else reject(error ?? new ServerCheckError('closed'))
    }
    const takeStatus = (text: string, latencyMs: number): void => {
      // Comes first, so that the ping is on its way while the status is parsed.
      connection.write(encodePing(0n), sent)
      if (text.length > longestShort) long = { text, latencyMs }
      else reply = { status: parseStatus(text, { raw }), latencyMs }
      timer = setTimeout(finish, pongMs())
      onStatus()
    }
    const takePackets = (packets: readonly Packet[], receivedAt: number): void => {
      // A pong in the same bytes as the status came before the ping, so it measures nothing.
      const pinged = (reply ?? long) !== undefined
      for (const packet of packets) {
        if ((reply ?? long) === undefined && packet.id === 0) {
          takeStatus(readStatusText(packet), receivedAt - sentAt)
        } else if (pinged && packet.id === 1) {
          const latencyMs = receivedAt - sentAt
          if (reply) reply = { ...reply, latencyMs }
          if (long) long = { ...long, latencyMs }
          return finish()
        }
      }
      if (reader.kicked) throw new KickedError('protocol', { cause: reader.failure?.cause })
      if (reader.failure) throw reader.failure
    }
    connection.tell({
      received(bytes) {
        const receivedAt = performance.now()
        if (!heard) clearTimeout(timer)
        heard = true
        try {
          takePackets(reader.add(bytes), receivedAt)
        } catch (error) {
          finish(error as Error)
        }
      },
      closed(cause) {
        const failure = connectionFailure(cause, 'closed')
        finish(heard ? failure : new UnansweredError(failure.reason, { cause }))
      },
    })
    connection.write(first, sent)
    const rest = second && setTimeout(() => connection.write(second, sent), segmentDelayMs)
  })
}
