import { UtilityApiError } from './errors.ts'
import { hint, notKnown } from './near-name.ts'

/** Throws unless these are options with known names only, because JavaScript would ignore a misspelled one. */
export function requireOptions(options: unknown, known: readonly string[]): void {
  if (!isOptions(options)) throw invalidOption('options', `must be an object, as in { ${known[0]} }`)
  const stranger = Object.keys(options).find((name) => !known.includes(name))
  if (stranger !== undefined) throw invalidOption(stranger, `is not an option${hint(stranger, known)}`)
}

/** Tells whether a value can have named options. A list or a map has none, so it would pass for options left out. */
export function isOptions(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value)
}

export function invalidOption(option: string, problem: string): UtilityApiError {
  return new UtilityApiError('invalid_options', `${option}: ${problem}.`)
}

/** Tells whether an optional signal is one, or is absent. */
export function isSignal(signal: AbortSignal | undefined): boolean {
  return signal === undefined || typeof (signal as Partial<AbortSignal> | null)?.throwIfAborted === 'function'
}

const longestTimeoutMs = 2 ** 31 - 1

/** Tells whether a timer can wait this long. */
export function isTimeout(timeoutMs: unknown): boolean {
  return typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= longestTimeoutMs
}

/** Tells whether something can listen on a port with this number. */
export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535
}

/** The sentence of an object's schema for a value that is not an object. */
export const unlessObject: { readonly error: (issue: { readonly code?: string }) => string | undefined } = {
  error: ({ code }) => (code === 'invalid_type' ? 'must be an object' : undefined),
}

/** Throws if an argument has members with other names, because JavaScript would ignore a misspelled one. */
export function demandKnown(argument: object, known: ReadonlySet<string>): void {
  // Not `demand`, which would build the message for each known member too, for every DNS query.
  for (const name in argument) {
    if (!known.has(name)) throw invalidArgument(notKnown(name, known))
  }
}

/** Throws unless a condition on an argument holds. */
export function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw invalidArgument(message)
}

/** Returns the error for an argument. Its sentence begins with the name of the argument, or of a member of it. */
export function invalidArgument(message: string, cause?: unknown): UtilityApiError {
  const [argument = ''] = /^\w+(?:\.\w+)*/.exec(message) ?? []
  return new UtilityApiError('invalid_argument', message, { argument, ...(cause !== undefined && { cause }) })
}
