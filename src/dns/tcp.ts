import { connect } from 'node:net'
import type { ReplyListener, ServerAddress, Source } from './reply-listener.ts'

/** Where messages over TCP come from. Strangers cannot send there. */
export const overTcp: Source = 'tcp'

const lengthSize = 2
/** A server that has sent this much without an answer will not send one. */
const maxReceived = 4 * 65_537

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
  const frames = new FrameReader()
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
    if (frames.received > maxReceived) socket.destroy()
  })
  socket.on('error', () => {})
  socket.on('close', () => listener.fail(overTcp))
  // One write, so that length and message travel in one segment.
  socket.write(Buffer.concat([lengthOf(message), message]))
  return end
}

function lengthOf(message: Buffer): Buffer {
  const length = Buffer.alloc(lengthSize)
  length.writeUInt16BE(message.length)
  return length
}

/** Splits a stream into messages, each preceded by its length in two octets. */
export class FrameReader {
  /** Octets received so far. */
  received = 0
  #chunks: Buffer[] = []
  #buffered = 0
  #needed = lengthSize

  /** Returns the messages that `chunk` completes. */
  add(chunk: Buffer): Buffer[] {
    const messages: Buffer[] = []
    this.received += chunk.length
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    while (this.#buffered >= this.#needed) {
      // Joined only when there is enough, or a message in segments of one octet would be copied over and over.
      const joined = this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks)
      this.#chunks = [joined]
      this.#needed = lengthSize + joined.readUInt16BE(0)
      if (this.#buffered < this.#needed) break
      messages.push(joined.subarray(lengthSize, this.#needed))
      const rest = joined.subarray(this.#needed)
      this.#chunks = [rest]
      this.#buffered = rest.length
      this.#needed = lengthSize
    }
    return messages
  }
}
