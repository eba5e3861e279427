/** Thrown for a message that breaks the format; one object, as a hostile resolver could have thousands made. */
export const malformed: Error = new Error('Malformed DNS message')

/**
 * How many labels and pointers may be read in one message. The largest honest answers need about 13,000; without a limit,
 * 64 KB of pointers to pointers keep a process busy for 0.4 s.
 */
const maxSteps = 20_000
const maxNameLength = 255
const headerLength = 12

interface KnownName {
  readonly text: string
  readonly length: number
}

/**
 * Reads names from one message, and counts what that costs.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-4.1.4 | RFC 1035 section 4.1.4}
 */
export class NameReader {
  readonly message: Buffer
  /** Where the name read last ends. */
  offset = 0
  /** Labels and pointers read so far. */
  steps = 0
  private readonly known = new Map<number, KnownName>()

  constructor(message: Buffer) {
    this.message = message
  }

  /** The name at `offset` as text, without final dot; the root is `.`. Throws {@link malformed}. */
  read(offset: number): string {
    const { text } = this.follow(offset)
    return text === '' ? '.' : text
  }

  private follow(start: number): KnownName {
    let text = ''
    let length = 1
    let end = -1
    let pointerTarget = -1
    let textBefore = 0
    let lengthBefore = 0
    let segment = start
    let at = start
    for (;;) {
      if (++this.steps > maxSteps) throw malformed
      const octet = this.octet(at)
      if (octet === 0) {
        if (end < 0) end = at + 1
        break
      }
      if (octet < 0x40) {
        length += octet + 1
        if (length > maxNameLength) throw malformed
        const label = this.label(at + 1, octet)
        text = text === '' ? label : `${text}.${label}`
        at += octet + 1
        continue
      }
      if (octet < 0xc0) throw malformed
      const target = ((octet & 0x3f) << 8) | this.octet(at + 1)
      // Strictly backwards: each pointer leads before the labels it was found behind, so no chain of them is endless.
      if (target >= segment || target < headerLength) throw malformed
      if (end < 0) end = at + 2
      const known = this.known.get(target)
      if (known !== undefined) {
        length += known.length - 1
        if (length > maxNameLength) throw malformed
        text = text === '' || known.text === '' ? text + known.text : `${text}.${known.text}`
        break
      }
      if (pointerTarget < 0) {
        pointerTarget = target
        textBefore = text.length
        lengthBefore = length
      }
      segment = target
      at = target
    }
    if (pointerTarget >= 0) {
      const suffix = textBefore === 0 ? text : text.slice(textBefore + 1)
      this.known.set(pointerTarget, { text: suffix, length: length - lengthBefore + 1 })
    }
    this.offset = end
    return { text, length }
  }

  private octet(at: number): number {
    const octet = this.message[at]
    if (octet === undefined) throw malformed
    return octet
  }

  private label(start: number, length: number): string {
    if (start + length > this.message.length) throw malformed
    return escapeLabel(this.message.toString('latin1', start, start + length))
  }
}

const special = /[^!-~]|[.\\]/
const everySpecial = /[^!-~]|[.\\]/g

/** A label as text: dots and backslashes inside it get a backslash, octets that are not visible ASCII become `\DDD`. */
function escapeLabel(latin1: string): string {
  if (!special.test(latin1)) return latin1
  return latin1.replace(everySpecial, (character) => {
    if (character === '.' || character === '\\') return `\\${character}`
    return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`
  })
}

/** Where the name at `offset` ends, without following its pointer. Throws {@link malformed}. */
export function skipName(message: Uint8Array, offset: number): number {
  for (let at = offset; ;) {
    const octet = message[at]
    if (octet === undefined) throw malformed
    if (octet === 0) return at + 1
    if (octet >= 0xc0) return at + 2
    if (octet >= 0x40) throw malformed
    at += octet + 1
  }
}
