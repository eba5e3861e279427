import { invalidOption, isTimeout, requireOptions } from '../domain/arguments.ts'

/** What an option may be, and the words for it. */
type OptionValue = readonly [isValid: (value: unknown) => boolean, words: string]

/**
 * Refuses options that are unknown or have a wrong value. A fake server would take the value for another one, and a test
 * would believe that it had tried what it asked for.
 */
export function requireValues(options: object, values: Readonly<Record<string, OptionValue>>): void {
  requireOptions(options, Object.keys(values))
  for (const [name, value] of Object.entries(options)) {
    const [isValid, words] = values[name] as OptionValue
    if (value !== undefined && !isValid(value)) throw invalidOption(name, `must be ${words}`)
  }
}

export const anything: OptionValue = [() => true, '']
export const list: OptionValue = [Array.isArray, 'an array']
export const callback: OptionValue = [(value) => typeof value === 'function', 'a function']
export const text: OptionValue = [(value) => typeof value === 'string', 'a string']
export const milliseconds: OptionValue = [
  (value) => value === 0 || isTimeout(value),
  'a number of milliseconds, 0 or more',
]

export function integer(least: number, most: number): OptionValue {
  const isValid = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
  return [isValid, `an integer from ${least} to ${most}`]
}

export function oneOf(...values: readonly unknown[]): OptionValue {
  return [
    (value) => values.includes(value),
    `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`,
  ]
}
