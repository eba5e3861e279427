import { connect } from 'node:net'
import type { ReplyListener, ServerAddress, Source } from './reply-listener.ts'

/** Where messages over TCP come from. Strangers cannot send there. */
export const overTcp: Source = 'tcp'

const lengthSize = 2
/** A server that has sent this much without an answer will not send one. */
const maxReceived = 4 * 65_537
/** Nor will one that has sent so many messages. A thousand empty ones in a segment take longer to read than any answer. */
const maxMessages = 100

/**
 * Sends a message over a connection of its own. Returns a function that ends it early.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc7766#section-8 | RFC 7766 section 8}
 */
export function sendOverTcp(
  { ip, port }: ServerAddress,
  message: Buffer,
  listener: ReplyListener,
): () => void {
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
      const isOurs = frame.length >= 2 && frame.readUInt16BE(0) === message.readUInt16BE(0)
      if (isOurs && listener.receive(frame, overTcp)) return
      // The listener may have ended this connection to ask again over another: what follows is no answer to that.
      if (socket.destroyed) return
    }
    if (frames.received > maxReceived || frames.isFull) socket.destroy()
  })
  let failure: Error | undefined
  socket.on('error', (error) => (failure = error))
  socket.on('close', () => listener.fail(overTcp, failure))
  // One write, so that length and message travel in one segment.
  socket.write(Buffer.concat([lengthOf(message), message]))
  return end
}

function lengthOf(message: Buffer): Buffer {
  const length = Buffer.alloc(lengthSize)
  length.writeUInt16BE(message.length)
  return length
}

const nothing = Buffer.alloc(0)
const firstCapacity = 512

/** Splits a stream into messages, each preceded by its length in two octets. */
export class FrameReader {
  /** Octets received so far. */
  received = 0
  /**
   * Begins with what has come of the message that is not complete. One buffer that grows: a server may send octet after
   * octet, and a segment that is kept on its own takes hundreds of times what it holds.
   */
  #buffer = nothing
  #filled = 0
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
    const joined = this.#filled === 0 ? chunk : this.#append(chunk)
    let at = 0
    for (let end = endOf(joined, at); end <= joined.length && !this.isFull; end = endOf(joined, at)) {
      messages.push(joined.subarray(at + lengthSize, end))
      this.#messagesLeft -= 1
      at = end
    }
    if (at > 0 || joined === chunk) {
      // Not the same buffer, which the messages are views of.
      this.#buffer = nothing
      this.#filled = 0
      if (at < joined.length) this.#append(joined.subarray(at))
    }
    return messages
  }

  /** Copies a chunk behind what has come. Returns all of that. */
  #append(chunk: Buffer): Buffer {
    const needed = this.#filled + chunk.length
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(firstCapacity, 2 * this.#buffer.length, needed))
      this.#buffer.copy(grown, 0, 0, this.#filled)
      this.#buffer = grown
    }
    chunk.copy(this.#buffer, this.#filled)
    this.#filled = needed
    return this.#buffer.subarray(0, needed)
  }
}

/** Returns where the message that begins here ends; nowhere if its length is not complete. */
function endOf(octets: Buffer, at: number): number {
  return octets.length - at < lengthSize
    ? Number.POSITIVE_INFINITY
    : at + lengthSize + octets.readUInt16BE(at)
}
