import { GrowingBuffer } from '../../domain/growing-buffer.ts'
import type { ServerCheckError } from '../../domain/server-status.ts'
import { protocolError } from './protocol-error.ts'
import { readVarInt } from './varint.ts'

/**
 * A packet as received: its id and what follows.
 *
 * @group Minecraft
 */
export interface Packet {
  /** The packet id: 0 is a status, 1 a pong. */
  readonly id: number
  /** Everything after the id. */
  readonly payload: Uint8Array
}

/**
 * The limits of a {@link PacketReader}.
 *
 * @group Minecraft
 */
export interface PacketLimits {
  /** The maximum number of bytes in total, and so in any packet. Default: 1 MiB. */
  readonly maxBytes?: number
  /** The maximum number of packets in total. Default: 16. */
  readonly maxPackets?: number
}

const maxLengthBytes = 3

/**
 * Extracts packets from a stream of bytes, regardless of how the stream is split into chunks.
 *
 * Time and memory are linear in the bytes received, whatever length they claim. A packet inside one chunk is a view of
 * that chunk; other bytes are copied into a buffer that doubles in size.
 *
 * @example
 * ```ts
 * const reader = new PacketReader()
 * socket.on('data', (chunk) => {
 *   for (const { id } of reader.add(chunk)) console.log(id)
 *   if (reader.failure) socket.destroy(reader.failure)
 * })
 * ```
 *
 * @group Minecraft
 */
export class PacketReader {
  /**
   * The reason why there are no more packets: the stream is not a sequence of packets, or exceeds a limit. Null if there
   * is no failure.
   *
   * Its `reason` is `protocol`.
   */
  failure: ServerCheckError | null = null
  /** Whether it failed because the stream began with a kick (`FF 00`), the answer of servers older than 1.7. */
  kicked = false
  readonly #maxBytes: number
  readonly #maxPackets: number
  #received = 0
  #packets = 0
  #length = 0
  #lengthBytes = 0
  #lengthKnown = false
  readonly #partial = new GrowingBuffer()

  /** Creates a reader for one stream. */
  constructor({ maxBytes = 1_048_576, maxPackets = 16 }: PacketLimits = {}) {
    this.#maxBytes = maxBytes
    this.#maxPackets = maxPackets
  }

  /**
   * Returns the packets that `chunk` completes, including those before a {@link PacketReader.failure}. They are valid as
   * long as the bytes of `chunk` are.
   */
  add(chunk: Uint8Array): Packet[] {
    const packets: Packet[] = []
    this.#received += chunk.length
    if (this.#received > this.#maxBytes) this.#fail('more bytes than the limit')
    let offset = 0
    while (offset < chunk.length && this.failure === null) {
      offset = this.#lengthKnown ? this.#readFrame(chunk, offset, packets) : this.#readLength(chunk, offset)
    }
    return packets
  }

  #fail(what: string): void {
    this.failure ??= protocolError(what)
  }

  #readLength(chunk: Uint8Array, offset: number): number {
    const byte = chunk[offset] ?? 0
    this.kicked = this.#endsKick(byte)
    this.#length |= (byte & 0x7f) << (7 * this.#lengthBytes)
    this.#lengthBytes += 1
    if (this.kicked) this.#fail('a kick')
    else if (byte < 0x80) this.#beginFrame()
    else if (this.#lengthBytes === maxLengthBytes) this.#fail('a length of more than three bytes')
    return offset + 1
  }

  // A modern packet of 127 + 128k bytes begins with FF as well, but its second byte is never 00.
  #endsKick(byte: number): boolean {
    return this.#packets === 0 && this.#lengthBytes === 1 && this.#length === 0x7f && byte === 0
  }

  #beginFrame(): void {
    this.#packets += 1
    this.#lengthKnown = true
    if (this.#length < 1 || this.#length > this.#maxBytes) this.#fail(`a packet of ${this.#length} bytes`)
    else if (this.#packets > this.#maxPackets) this.#fail('more packets than the limit')
  }

  #readFrame(chunk: Uint8Array, offset: number, packets: Packet[]): number {
    const taken = chunk.subarray(offset, offset + this.#length - this.#partial.length)
    if (taken.length === this.#length) this.#endFrame(taken, packets)
    else {
      const frame = this.#partial.append(taken)
      if (frame.length === this.#length) this.#endFrame(frame, packets)
    }
    return offset + taken.length
  }

  #endFrame(frame: Uint8Array, packets: Packet[]): void {
    this.#length = this.#lengthBytes = 0
    this.#lengthKnown = false
    this.#partial.clear()
    const id = readVarInt(frame, 0)
    if (id === null) this.#fail('no packet id')
    else packets.push({ id: id.value, payload: frame.subarray(id.end) })
  }
}

/**
 * Returns the text of a status packet: a VarInt byte count and UTF-8. Anything after it is ignored, because some mods
 * append data there.
 *
 * @throws `ServerCheckError` `protocol` if the text is incomplete.
 *
 * @group Minecraft
 */
export function readStatusText({ payload }: Packet): string {
  const size = readVarInt(payload, 0)
  if (size === null || size.value < 0 || size.end + size.value > payload.length) {
    throw protocolError('a text longer than its packet')
  }
  return Buffer.from(payload.buffer, payload.byteOffset + size.end, size.value).toString()
}
