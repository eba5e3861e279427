import { cutError, formatError, ReadingBudget } from './budget.ts'
import { maxLabelLength, maxNameLength } from '../../domain/dns-name.ts'
import { headerLength, pointerMark } from './constants.ts'
import { inLabels, writeText } from './presentation.ts'

/** A name has at most 127 labels, so more pointers than that lead only to other pointers. */
const maxHops = 127

const dot = 0x2e
/** Room for the labels of one name, each octet as `\DDD`, and for one label too many. */
const scratch: Buffer = Buffer.allocUnsafe(4 * (maxNameLength + maxLabelLength))

interface Name {
  readonly text: string
  /** Octets it takes without pointers, including the final zero. */
  readonly length: number
}

/**
 * Reads names from one message.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-4.1.4 | RFC 1035 section 4.1.4}
 */
export class NameReader {
  /** Where the last name read ends. */
  offset = 0
  readonly #message: Buffer
  readonly #budget: ReadingBudget
  /** Names that were pointed to, by their start. Pointers to them cost one step. */
  #known: Map<number, Name> | undefined

  constructor(message: Buffer, budget: ReadingBudget = new ReadingBudget()) {
    this.#message = message
    this.#budget = budget
  }

  /** Returns the name at `start` as text without a final dot, or `.` for the root. Throws {@link formatError}. */
  read(start: number): string {
    const { text } = this.#follow(start, 0)
    this.#budget.spendText(text.length)
    return text === '' ? '.' : text
  }

  #follow(start: number, hops: number): Name {
    let written = 0
    let length = 1
    let at = start
    let octet = this.#step(at)
    while (octet > 0 && octet <= maxLabelLength) {
      const labelStart = at + 1
      at = labelStart + octet
      length = checkedLength(length + 1 + octet)
      if (written > 0) scratch[written++] = dot
      // A label that extends past the end is detected at the next step.
      written = writeText(scratch, written, this.#message, labelStart, at, inLabels)
      octet = this.#step(at)
    }
    const text = written === 0 ? '' : scratch.toString('latin1', 0, written)
    if (octet === 0) {
      this.offset = at + 1
      return { text, length }
    }
    const target = this.#pointer(at)
    // Only backwards, to before everything read so far, so that every chain of pointers has an end.
    if (target >= start || target < headerLength || hops === maxHops) throw formatError
    const rest = this.#known?.get(target) ?? this.#remember(target, hops)
    this.offset = at + 2
    return { text: join(text, rest.text), length: checkedLength(length + rest.length - 1) }
  }

  #remember(target: number, hops: number): Name {
    const name = this.#follow(target, hops + 1)
    this.#known ??= new Map()
    this.#known.set(target, name)
    return name
  }

  #step(at: number): number {
    this.#budget.spendSteps(1)
    return this.#octet(at)
  }

  #pointer(at: number): number {
    const high = this.#octet(at)
    if (high < pointerMark) throw formatError
    return ((high - pointerMark) << 8) | this.#octet(at + 1)
  }

  #octet(at: number): number {
    const octet = this.#message[at]
    if (octet === undefined) throw formatError
    return octet
  }
}

function join(text: string, rest: string): string {
  if (text === '') return rest
  return rest === '' ? text : `${text}.${rest}`
}

function checkedLength(length: number): number {
  if (length > maxNameLength) throw formatError
  return length
}

/** Returns where the name at `offset` ends, without following its pointer. Throws {@link cutError}, {@link formatError}. */
export function skipName(message: Uint8Array, offset: number): number {
  for (let at = offset; ;) {
    const octet = message[at]
    if (octet === undefined) throw cutError
    if (octet === 0) return at + 1
    if (octet >= pointerMark) return at + 2
    if (octet > maxLabelLength) throw formatError
    at += octet + 1
  }
}
