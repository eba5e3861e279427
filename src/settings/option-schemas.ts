import * as z from 'zod'

// What several options are made of.

/** One sentence for a text, a fraction and a number out of range. */
export function wholeNumber(least: number, most: number): z.ZodInt {
  const message = `must be a whole number from ${least} to ${most}`
  return z.int(message).min(least, message).max(most, message)
}

export const milliseconds: z.ZodInt = wholeNumber(1, 600_000)
export const cacheTtlMs: z.ZodInt = wholeNumber(0, 86_400_000)
export const count: z.ZodInt = wholeNumber(1, 1_000_000)
export const port: z.ZodInt = wholeNumber(1, 65_535)
export const notAnIpAddress = 'must be an IP address, without a port: write { ip, port }'
/** The name of a scope or a permission. */
export const accessName: z.ZodString = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII without spaces')

export function callback<Type>(): z.ZodType<Type, Type> {
  return z.custom<Type>((value) => typeof value === 'function', 'must be a function')
}

export const objectOrFalse = 'must be an object, or false to remove the operation'

/** Returns the schema of an operation's options. False, which removes it, becomes undefined. */
export function switchable<Output>(schema: z.ZodType<Output>): z.ZodType<Output | undefined> {
  return z.preprocess((value) => (value === false ? undefined : value), schema.optional()).prefault({})
}
