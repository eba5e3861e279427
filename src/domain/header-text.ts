const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const beyondAscii = /[\x80-\xff]/
const beyondOctets = /[\u0100-\uffff]/

/**
 * Matches a control or bidirectional formatting character, which could steer a terminal or forge what people read, or a
 * lone surrogate, which a database cannot hold.
 */
export const controlOrBidi: RegExp = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/**
 * Reads a header value as text. HTTP stacks pass its octets on as Latin-1, but clients mostly meant UTF-8.
 *
 * Octets that are valid UTF-8 are decoded as such; others stay Latin-1. Trimming comes after decoding, because octet A0
 * is a space in Latin-1 but half a letter in the UTF-8 of "Università".
 */
export function decodeHeaderText(value: string): string {
  return decodeOctets(value).trim()
}

function decodeOctets(value: string): string {
  // What is no octet has not been sent in a header, but a host has written text there.
  if (!beyondAscii.test(value) || beyondOctets.test(value)) return value
  try {
    return strictUtf8.decode(Buffer.from(value, 'latin1'))
  } catch {
    return value
  }
}

/** Tells whether text contains no {@link controlOrBidi} character. */
export function isPlainText(text: string): boolean {
  return !controlOrBidi.test(text)
}

/** Tells whether a text has at most `limit` code points. An astral code point is two units of a string. */
export function hasAtMostCodePoints(text: string, limit: number): boolean {
  return text.length <= limit || (text.length <= 2 * limit && [...text].length <= limit)
}
