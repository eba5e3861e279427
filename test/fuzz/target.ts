import { UtilityApiError, type ErrorCode } from 'utility-api'
import type { Random } from './random.ts'

/** A parser that strangers reach, and what holds for it whatever it is given. */
export interface FuzzTarget {
  readonly name: string
  /** What mutation starts from. */
  readonly corpus: readonly Buffer[]
  /** Throws, or rejects, where something does not hold. */
  check(input: Buffer, random: Random): unknown
}

export const texts = (...all: readonly string[]): Buffer[] => all.map((text) => Buffer.from(text))

/** What `parse` returns; undefined where it refuses with one of these codes. Anything else it throws goes on. */
export function unlessRefused<Value>(parse: () => Value, codes: readonly ErrorCode[]): Value | undefined {
  try {
    return parse()
  } catch (error) {
    return forgive(error, codes)
  }
}

/** Throws an error again unless it is a refusal with one of these codes. */
export function forgive(error: unknown, codes: readonly ErrorCode[]): undefined {
  if (!(error instanceof UtilityApiError) || !codes.includes(error.code)) throw error
}
