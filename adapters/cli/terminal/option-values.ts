import { UsageError } from './command.ts'

/** Returns the integer given for an option, or throws a usage error that says what it must be. */
export function integer(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`--${name} must be a number from ${min} to ${max}.`)
}

/** The option of credentials that are accepted for good unless they get a lifetime. */
export const lifetimeOption = {
  lifetime: {
    type: 'string',
    valueHint: 'TIME',
    description: 'How long it is accepted: seconds, or 12h, 90d; at most 3650d. Default: for good.',
  },
} as const

const secondsIn: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }

/** Returns how many seconds a time given for an option is: a number of them, or of `s`, `m`, `h` or `d`. */
export function secondsOf(name: string, text: string, min: number, max: number): number {
  const value = timeOf(text)
  if (value >= min && value <= max) return value
  // An example that is too long would be refused next.
  const [longest = '', ...others] = ['90d', '12h', '5m', '30s'].filter((example) => timeOf(example) <= max)
  const examples = others.length === 0 ? longest : `${others.toReversed().join(', ')} or ${longest}`
  throw new UsageError(`--${name} must be ${min} to ${max} seconds, or a time such as ${examples}.`)
}

/** Returns the seconds of a time such as `90`, `30s` or `5m`, or NaN. */
function timeOf(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,10})([smhd]?)$/.exec(text) ?? []
  return Number(amount) * (secondsIn[unit] ?? 0)
}

/** Returns the seconds of a `--lifetime`, or undefined if it is not given. */
export function lifetimeSeconds(text: string | undefined): number | undefined {
  return text === undefined ? undefined : secondsOf('lifetime', text, 1, tenYears)
}

/** An option that takes a date or a time. */
export const dateOption = { type: 'string', valueHint: 'DATE' } as const

/** Returns the date or time given for an option, if any. A date is its first moment in UTC. */
export function dateOf(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const date = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? new Date(text) : new Date(NaN)
  const day = text.slice(0, 10)
  // Some days that no month has become days of the next one.
  if (!Number.isNaN(+date) && new Date(day).toISOString().startsWith(day)) return date
  throw new UsageError(`--${name} must be a date or a time, such as 2027-01-31 or 2027-01-31T12:00Z.`)
}

/** Returns the names of a `--scope`. A comma is part of a name in OAuth, but whoever types one means several names. */
export function scopeOf(text: string = ''): string {
  if (!text.includes(',')) return text
  throw new UsageError('--scope takes names separated by spaces: --scope "dns:check orders:read".')
}

/** The longest lifetime that the library accepts, in seconds. */
export const tenYears = 315_360_000

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
