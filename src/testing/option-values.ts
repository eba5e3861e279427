import * as z from 'zod'
import { invalidOption, requireOptions } from '../domain/arguments.ts'
import { optionProblem } from '../domain/option-problem.ts'

/**
 * Refuses options that are unknown or have a wrong value. A fake server would take the value for another one, and a test
 * would believe that it had tried what it asked for.
 */
export function requireValid(schema: z.ZodObject, options: object): void {
  requireOptions(options, Object.keys(schema.shape))
  const { error } = schema.safeParse(options, { error: optionProblem, jitless: true })
  const [issue] = error?.issues ?? []
  if (issue !== undefined) throw invalidOption(issue.path.join('.'), issue.message)
}

/** How long a timer can wait. */
export const milliseconds: z.ZodNumber = z
  .number()
  .min(0, 'must not be negative')
  .max(2 ** 31 - 1, 'is too long')

export const portNumber: z.ZodInt = wholeNumber(0, 65_535)

export function wholeNumber(least: number, most: number): z.ZodInt {
  const message = `must be a whole number from ${least} to ${most}`
  return z.int(message).min(least, message).max(most, message)
}

export function callback(): z.ZodType {
  return z.custom((value) => typeof value === 'function', 'must be a function')
}
