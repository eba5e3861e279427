/**
 * Returns how many bytes a VarInt takes: 1 to 5.
 *
 * @group Minecraft
 */
export function varIntSize(value: number): number {
  let size = 1
  for (let rest = value >>> 7; rest !== 0; rest >>>= 7) size += 1
  return size
}

/**
 * Writes a signed 32-bit integer as a VarInt and returns the offset after it.
 *
 * @group Minecraft
 */
export function writeVarInt(into: Uint8Array, offset: number, value: number): number {
  let rest = value >>> 0
  let end = offset
  while (rest > 0x7f) {
    into[end++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  into[end++] = rest
  return end
}

/**
 * Reads a VarInt: a signed 32-bit integer in at most five bytes. Returns null if it does not end within these bytes.
 *
 * Encodings that are longer than necessary are accepted, as every peer does. Bits beyond the 32nd are dropped.
 *
 * @group Minecraft
 */
export function readVarInt(bytes: Uint8Array, offset: number): { value: number; end: number } | null {
  let value = 0
  for (let index = 0; index < 5; index += 1) {
    const byte = bytes[offset + index]
    if (byte === undefined) return null
    value |= (byte & 0x7f) << (7 * index)
    if (byte < 0x80) return { value, end: offset + index + 1 }
  }
  return null
}
