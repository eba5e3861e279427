/** Thrown for a message that breaks the format; one object, as a hostile resolver could have thousands made. */
export const malformed: Error = new Error('Malformed DNS message')

/**
 * How many labels and pointers may be read in one message; the longest message has room for 32,767 labels. Without a limit,
 * 64 KB of names that point to each other keep a process busy for 0.4 s.
 */
const maxSteps = 40_000
/** A name has at most 127 labels, so more pointers than that lead to pointers only. */
const maxHops = 127
const maxNameLength = 255
const headerLength = 12

interface Name {
  readonly text: string
  /** Octets it takes without pointers, the final zero included. */
  readonly length: number
}

/**
 * Reads names from one message, and counts what that costs.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-4.1.4 | RFC 1035 section 4.1.4}
 */
export class NameReader {
  /** Where the name read last ends. */
  offset = 0
  /** Labels and pointers read so far. */
  steps = 0
  private readonly message: Buffer
  /** Names that were pointed to, by where they start: pointers to them cost one step. */
  private known: Map<number, Name> | undefined

  constructor(message: Buffer) {
    this.message = message
  }

  /** The name at `start` as text, without final dot; the root is `.`. Throws {@link malformed}. */
  read(start: number): string {
    const { text } = this.follow(start, 0)
    return text === '' ? '.' : text
  }

  private follow(start: number, hops: number): Name {
    let text = ''
    let length = 1
    let at = start
    let octet = this.step(at)
    while (octet > 0 && octet < 0x40) {
      // A label that passes the end is found out at the next step.
      text = join(text, escapeLabel(this.message.toString('latin1', at + 1, at + 1 + octet)))
      length = checkedLength(length + 1 + octet)
      at += 1 + octet
      octet = this.step(at)
    }
    if (octet === 0) {
      this.offset = at + 1
      return { text, length }
    }
    const target = this.pointer(at)
    // Strictly backwards, before everything read so far: a chain of such pointers has an end.
    if (target >= start || target < headerLength || hops === maxHops) throw malformed
    const rest = this.known?.get(target) ?? this.remember(target, hops)
    this.offset = at + 2
    return { text: join(text, rest.text), length: checkedLength(length + rest.length - 1) }
  }

  private remember(target: number, hops: number): Name {
    const name = this.follow(target, hops + 1)
    this.known ??= new Map()
    this.known.set(target, name)
    return name
  }

  private step(at: number): number {
    this.steps += 1
    if (this.steps > maxSteps) throw malformed
    return this.octet(at)
  }

  private pointer(at: number): number {
    const high = this.octet(at)
    if (high < 0xc0) throw malformed
    return ((high & 0x3f) << 8) | this.octet(at + 1)
  }

  private octet(at: number): number {
    const octet = this.message[at]
    if (octet === undefined) throw malformed
    return octet
  }
}

function join(text: string, rest: string): string {
  if (text === '') return rest
  return rest === '' ? text : `${text}.${rest}`
}

function checkedLength(length: number): number {
  if (length > maxNameLength) throw malformed
  return length
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
