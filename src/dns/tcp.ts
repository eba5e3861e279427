import { connect } from 'node:net'
import { GrowingBuffer } from '../domain/growing-buffer.ts'
import { randomId } from './random-id.ts'
import { overStream, type ReplyListener, type ServerAddress } from './transport-types.ts'

const lengthSize = 2
/** A server that has sent this much without an answer will not send one. */
const maxReceived = 4 * 65_537
/** Nor will one that has sent so many messages. A thousand empty ones in a segment take longer to read than any answer. */
const maxMessages = 100

/**
 * Sends a message over a new connection. Returns a function that ends it early.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc7766#section-8 | RFC 7766 section 8}
 */
export function sendOverTcp(
  { ip, port }: ServerAddress,
  encoded: Buffer,
  listener: ReplyListener,
): () => void {
  const id = randomId()
  // In one piece, so that length and message travel in one segment.
  const message = Buffer.allocUnsafe(lengthSize + encoded.length)
  message.writeUInt16BE(encoded.length, 0)
  message.set(encoded, lengthSize)
  message.writeUInt16BE(id, lengthSize)
  const socket = connect({ host: ip, port, noDelay: true })
  const frames = new FrameReader(maxMessages)
  const end = (): void => {
    socket.removeAllListeners()
    // An error can still occur before the socket is closed. Without a listener, it would end the process.
    socket.on('error', () => {})
    socket.destroy()
  }
  socket.on('data', (chunk) => {
    for (const frame of frames.add(chunk)) {
      const isOurs = frame.length >= 2 && frame.readUInt16BE(0) === id
      if (isOurs && listener.receive(frame, overStream)) return
      // The listener may have ended this connection to ask again over another, so what follows is no answer to that.
      if (socket.destroyed) return
    }
    if (frames.received > maxReceived || frames.isFull) socket.destroy()
  })
  let failure: Error | undefined
  socket.on('error', (error) => (failure = error))
  socket.on('close', () => listener.fail(overStream, failure))
  socket.write(message)
  return end
}

/** Splits a stream into messages, each preceded by its length in two octets. */
export class FrameReader {
  /** Octets received so far. */
  received = 0
  /** What has come of the message that is not complete. */
  readonly #rest = new GrowingBuffer()
  #messagesLeft: number

  /** @param most - How many messages it returns in all. What comes after them is dropped. */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#messagesLeft = most
  }

  /** Whether it has returned all messages that it may. */
  get isFull(): boolean {
    return this.#messagesLeft === 0
  }

  /** Returns the messages that `chunk` completes. */
  add(chunk: Buffer): Buffer[] {
    const messages: Buffer[] = []
    this.received += chunk.length
    const joined = this.#rest.length === 0 ? chunk : this.#rest.append(chunk)
    let at = 0
    for (let end = endOf(joined, at); end <= joined.length && !this.isFull; end = endOf(joined, at)) {
      messages.push(joined.subarray(at + lengthSize, end))
      this.#messagesLeft -= 1
      at = end
    }
    if (at > 0 || joined === chunk) {
      this.#rest.clear()
      if (at < joined.length) this.#rest.append(joined.subarray(at))
    }
    return messages
  }
}

/** Returns where the message that begins here ends; nowhere if its length is not complete. */
function endOf(octets: Buffer, at: number): number {
  return octets.length - at < lengthSize
    ? Number.POSITIVE_INFINITY
    : at + lengthSize + octets.readUInt16BE(at)
}
