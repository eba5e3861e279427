const dot = 0x2e
const backslash = 0x5c
const quote = 0x22
const zero = 0x30
const atSign = 0x40

/** How octets become text, by octet: 1 as it is, 2 behind a backslash, 4 as `\DDD`. */
type Spelling = Uint8Array

function spelling(first: number, behindBackslash: readonly number[]): Spelling {
  return Uint8Array.from({ length: 256 }, (_, octet) => {
    if (octet < first || octet > 0x7e) return 4
    return behindBackslash.includes(octet) ? 2 : 1
  })
}

/** In a label, dots, backslashes and `@` get a backslash, and octets that are not visible ASCII become `\DDD`. */
export const inLabels: Spelling = spelling(0x21, [dot, backslash, atSign])
const inTexts = spelling(0x20, [backslash])

/** What each octet of UTF-8 takes in JSON, as `JSON.stringify` escapes it. */
const jsonOfText: Uint8Array = Uint8Array.from({ length: 256 }, (_, octet) => {
  if (octet === quote || octet === backslash) return 2
  if (octet >= 0x20) return 1
  return [0x08, 0x09, 0x0a, 0x0c, 0x0d].includes(octet) ? 2 : 6
})

/** What each octet of a text that is not UTF-8 takes in JSON, because every backslash is doubled there. */
const jsonOfEscaped: Uint8Array = inTexts.map((width, octet) => {
  if (octet === quote) return 2
  return width === 1 ? 1 : width === 2 ? 4 : 5
})

/**
 * Writes octets as text in ASCII and returns where it ends. One by one, because a message has room for thousands of
 * short labels, and any call for each of them would cost more than all of its octets.
 */
export function writeText(
  target: Buffer,
  offset: number,
  octets: Uint8Array,
  start: number,
  end: number,
  widths: Spelling,
): number {
  let at = offset
  for (let index = start; index < end; index += 1) {
    const octet = octets[index] as number
    const width = widths[octet] as number
    if (width > 1) target[at++] = backslash
    if (width === 4) {
      const hundreds = Math.trunc(octet / 100)
      const tens = Math.trunc(octet / 10) - hundreds * 10
      target[at++] = zero + hundreds
      target[at++] = zero + tens
      target[at++] = zero + (octet % 10)
    } else target[at++] = octet
  }
  return at
}

/** Where the text of a character-string is written. A record can have tens of thousands of them. */
const scratch: Buffer = Buffer.allocUnsafe(4 * 255)

/** Returns octets as text. All but printable ASCII becomes `\DDD`, and a backslash is doubled, so that nothing is lost. */
export function escapedText(octets: Uint8Array, start: number, end: number): string {
  const length = 4 * (end - start)
  const text = length <= scratch.length ? scratch : Buffer.allocUnsafe(length)
  return text.toString('latin1', 0, writeText(text, 0, octets, start, end, inTexts))
}

/** Returns how many octets a text takes in JSON, without its quotes. */
export function jsonLength(octets: Uint8Array, start: number, end: number, isText: boolean): number {
  const each = isText ? jsonOfText : jsonOfEscaped
  let sum = 0
  for (let at = start; at < end; at += 1) sum += each[octets[at] as number] as number
  return sum
}
