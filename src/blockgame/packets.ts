import { ServerCheckError } from '../domain/server-status.ts'
import { readVarInt } from './varint.ts'

/**
 * A packet as it came: its id and what follows.
 *
 * @group Block game
 */
export interface Packet {
  /** The packet id: 0 is a status, 1 a pong. */
  readonly id: number
  /** Everything after the id. */
  readonly payload: Uint8Array
}

/**
 * What a {@link PacketReader} puts up with.
 *
 * @group Block game
 */
export interface PacketLimits {
  /** Bytes in all, and so in any packet. Default: 1 MiB. */
  readonly maxBytes?: number
  /** Packets in all. Default: 16. */
  readonly maxPackets?: number
}

const maxLengthBytes = 3
const firstCapacity = 4096
const nothing = new Uint8Array()

/**
 * Takes packets out of a stream of bytes, however it is cut.
 *
 * Time and memory are linear in the bytes that came, whatever length they claim: a packet inside one chunk is a view of it,
 * and other bytes are copied into a buffer that doubles.
 *
 * @example
 * ```ts
 * const reader = new PacketReader()
 * socket.on('data', (chunk) => {
 *   reader.push(chunk)
 *   for (let packet = reader.next(); packet; packet = reader.next()) console.log(packet.id)
 * })
 * ```
 *
 * @group Block game
 */
export class PacketReader {
  /** Bytes copied so far, each counted every time: under three times those received, if each chunk is read before the next. */
  bytesCopied = 0
  /** Whether the stream began with a kick (`FF 00`), the answer of servers older than 1.7; then no packet comes. */
  kicked = false
  readonly #maxBytes: number
  readonly #maxPackets: number
  #received = 0
  #packets = 0
  #unread: Uint8Array = nothing
  #length = 0
  #lengthBytes = 0
  #lengthKnown = false
  #partial: Uint8Array = nothing
  #filled = 0

  /** Makes a reader for one stream. */
  constructor({ maxBytes = 1_048_576, maxPackets = 16 }: PacketLimits = {}) {
    this.#maxBytes = maxBytes
    this.#maxPackets = maxPackets
  }

  /**
   * Takes the next bytes of the stream. They are kept by reference until {@link PacketReader.next} has returned null.
   *
   * @throws `ServerCheckError` `protocol` when the stream is longer than the limit.
   */
  push(chunk: Uint8Array): void {
    this.#received += chunk.length
    if (this.#received > this.#maxBytes) throw malformed('more bytes than the limit')
    if (this.#unread.length === 0) this.#unread = chunk
    else this.#unread = this.#join(chunk)
  }

  /**
   * The next packet, valid until the next `push`; null when more bytes are needed.
   *
   * @throws `ServerCheckError` `protocol` when the stream is no sequence of packets, or exceeds a limit.
   */
  next(): Packet | null {
    if (!this.#lengthKnown && !this.#readLength()) return null
    const frame = this.#takeFrame()
    if (frame === null) return null
    const id = readVarInt(frame, 0)
    if (id === null) throw malformed('no packet id')
    return { id: id.value, payload: frame.subarray(id.end) }
  }

  #join(chunk: Uint8Array): Uint8Array {
    this.bytesCopied += this.#unread.length + chunk.length
    return Buffer.concat([this.#unread, chunk])
  }

  #readLength(): boolean {
    for (let index = 0; index < this.#unread.length; index += 1) {
      const byte = this.#unread[index] ?? 0
      if (this.#beginsKick(byte)) return false
      this.#length |= (byte & 0x7f) << (7 * this.#lengthBytes)
      this.#lengthBytes += 1
      if (byte < 0x80) return this.#checkLength(index + 1)
      if (this.#lengthBytes === maxLengthBytes) throw malformed('a length of more than three bytes')
    }
    this.#unread = nothing
    return false
  }

  // A modern packet of 127 + 128k bytes begins with FF as well, but its second byte is never 00.
  #beginsKick(byte: number): boolean {
    if (this.#packets === 0 && this.#lengthBytes === 1 && this.#length === 0x7f && byte === 0)
      this.kicked = true
    return this.kicked
  }

  #checkLength(read: number): boolean {
    if (this.#length < 1 || this.#length > this.#maxBytes)
      throw malformed(`a packet of ${this.#length} bytes`)
    this.#packets += 1
    if (this.#packets > this.#maxPackets) throw malformed('more packets than the limit')
    this.#unread = this.#unread.subarray(read)
    this.#lengthKnown = true
    return true
  }

  #takeFrame(): Uint8Array | null {
    const taken = this.#unread.subarray(0, this.#length - this.#filled)
    this.#unread = this.#unread.subarray(taken.length)
    if (taken.length === this.#length) return this.#endFrame(taken)
    this.#collect(taken)
    return this.#filled === this.#length ? this.#endFrame(this.#partial.subarray(0, this.#length)) : null
  }

  #collect(bytes: Uint8Array): void {
    const needed = this.#filled + bytes.length
    if (needed > this.#partial.length) {
      const capacity = Math.min(this.#length, Math.max(firstCapacity, 2 * this.#partial.length, needed))
      const grown = Buffer.allocUnsafe(capacity)
      grown.set(this.#partial.subarray(0, this.#filled))
      this.bytesCopied += this.#filled
      this.#partial = grown
    }
    this.#partial.set(bytes, this.#filled)
    this.bytesCopied += bytes.length
    this.#filled = needed
  }

  #endFrame(frame: Uint8Array): Uint8Array {
    this.#length = this.#lengthBytes = this.#filled = 0
    this.#lengthKnown = false
    this.#partial = nothing
    return frame
  }
}

/**
 * The text of a status packet: a VarInt byte count and UTF-8. What follows it is ignored, as some mods append there.
 *
 * @throws `ServerCheckError` `protocol` when it is not whole.
 *
 * @group Block game
 */
export function readStatusText({ payload }: Packet): string {
  const size = readVarInt(payload, 0)
  if (size === null || size.value < 0 || size.end + size.value > payload.length) {
    throw malformed('a text longer than its packet')
  }
  return Buffer.from(payload.buffer, payload.byteOffset + size.end, size.value).toString()
}

/** The failure of a server that sends something else than the protocol says; `what` is for the log. */
export function malformed(what: string, cause?: unknown): ServerCheckError {
  return new ServerCheckError('protocol', { cause: new Error(`The server sent ${what}.`, { cause }) })
}
