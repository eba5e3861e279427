import { isIP } from 'node:net'
import { recordTypes } from 'utility-api'

/** What the words of a command line ask. */
interface Question {
  readonly name: string
  readonly types: readonly string[]
  /** The resolvers named as dig has it, without their `@`. */
  readonly servers: readonly string[]
}

/** Reads the words: a name, and in any order record types and `@SERVER`. A type may stand before the name. */
export function questionOf(words: readonly string[]): Question {
  const servers = words.filter((word) => word.startsWith('@')).map((word) => word.slice(1))
  const [first = '', ...others] = words.filter((word) => !word.startsWith('@'))
  const isType = (word: string): boolean => recordTypes.some((type) => type === word.toUpperCase())
  const swapped = isType(first) ? others.find((word) => !isType(word)) : undefined
  const name = swapped ?? first
  const asked = swapped === undefined ? others : [first, ...others.filter((word) => word !== swapped)]
  const unique = [...new Set(asked.map((type) => type.toUpperCase()))]
  // Nothing else can be asked of an address.
  const standard = isIP(name) === 0 ? 'A' : 'PTR'
  return { name, types: unique.length === 0 ? [standard] : unique, servers }
}
