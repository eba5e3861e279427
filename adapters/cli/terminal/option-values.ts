import { UsageError } from './command.ts'

/** Returns the integer given for an option, or throws a usage error that says what it must be. */
export function integer(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`--${name} must be a number from ${min} to ${max}.`)
}

/** Returns the word given for an option, or throws a usage error that lists the valid words. */
export function oneOf<const Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw new UsageError(`--${name} must be one of ${words.join(', ')}.`)
}

/** Returns only the options that were given, under the names that the library uses. */
export function given<Options extends Readonly<Record<string, unknown>>>(options: Options): Given<Options> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Given<Options>
}

type Given<Options> = { [Name in keyof Options]?: Exclude<Options[Name], undefined> }

/** Splits `a,b` into a list. */
export function list(text: string): string[] {
  return text.split(',').map((each) => each.trim())
}
