import { varIntSize, writeVarInt } from '../blockgame/codec/varint.ts'

/**
 * Encodes a packet with its length, for scripts.
 *
 * @group Testing
 */
export function encodePacket(id: number, payload: Uint8Array): Uint8Array {
  const length = varIntSize(id) + payload.length
  const bytes = Buffer.alloc(varIntSize(length) + length)
  bytes.set(payload, writeVarInt(bytes, writeVarInt(bytes, 0, length), id))
  return bytes
}

/**
 * Encodes a status packet, for scripts: a JSON value, or text to send instead.
 *
 * @group Testing
 */
export function encodeStatusPacket(status: unknown): Uint8Array {
  const text = Buffer.from(typeof status === 'string' ? status : JSON.stringify(status))
  const payload = Buffer.alloc(varIntSize(text.length) + text.length)
  payload.set(text, writeVarInt(payload, 0, text.length))
  return encodePacket(0, payload)
}

/**
 * Encodes a kick, the answer to a legacy ping, for scripts.
 *
 * @group Testing
 */
export function encodeKick(text: string): Uint8Array {
  const head = Buffer.alloc(3)
  head[0] = 0xff
  head.writeUInt16BE(text.length, 1)
  return Buffer.concat([head, Buffer.from(text, 'utf16le').swap16()])
}
