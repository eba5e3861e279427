import { varIntSize, writeVarInt } from './varint.ts'

/**
 * The contents of a status request.
 *
 * @group Minecraft
 */
export interface StatusRequest {
  /** The host as typed, by which proxies route. At most 255 bytes of ASCII. */
  readonly host: string
  /** The port as typed. */
  readonly port: number
  /** The protocol number of the asking client; -1 asks for the server's own. */
  readonly protocolVersion: number
}

/**
 * Encodes the handshake and the status request, to be sent in one write.
 *
 * @throws `RangeError` if the port is not from 0 to 65535
 *
 * @group Minecraft
 */
export function encodeStatusRequest({ host, port, protocolVersion }: StatusRequest): Uint8Array {
  const hostSize = Buffer.byteLength(host)
  const length = 1 + varIntSize(protocolVersion) + varIntSize(hostSize) + hostSize + 2 + 1
  const bytes = Buffer.allocUnsafe(varIntSize(length) + length + 2)
  let offset = writeVarInt(bytes, 0, length)
  bytes[offset++] = 0x00 // handshake
  offset = writeVarInt(bytes, offset, protocolVersion)
  offset = writeVarInt(bytes, offset, hostSize)
  offset += bytes.write(host, offset)
  offset = bytes.writeUInt16BE(port, offset)
  bytes[offset++] = 1 // next state: status
  bytes[offset++] = 1 // length of the status request
  bytes[offset++] = 0x00 // status request
  return bytes
}

/**
 * Encodes a ping. Its payload is any eight bytes, which servers send back.
 *
 * @throws `RangeError` if the payload is not a signed 64-bit integer
 *
 * @group Minecraft
 */
export function encodePing(payload: bigint): Uint8Array {
  const bytes = Buffer.allocUnsafe(10)
  bytes[0] = 9
  bytes[1] = 0x01
  bytes.writeBigInt64BE(payload, 2)
  return bytes
}
