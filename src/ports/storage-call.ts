import { demand } from '../domain/arguments.ts'
import { performance } from './timers.ts'

/**
 * Tells a storage method how long its caller still waits for the answer.
 *
 * @example
 * ```ts
 * const client = await storage.findClient('shop', callWithin(5000))
 * ```
 *
 * @group Storage
 */
export interface StorageCall {
  /**
   * Returns the milliseconds until nobody waits any longer. At 0 or below, nobody does.
   *
   * The value may fall to 0 at once if the caller goes away. It never rises, and the method MUST NOT throw.
   */
  timeLeftMs(): number
}

/**
 * Creates a call whose caller waits this many milliseconds from now. `Infinity` is a caller who waits forever.
 *
 * @throws `UtilityApiError` `invalid_argument` if it is not a number
 *
 * @example
 * ```ts
 * import { callWithin } from 'utility-api/storage'
 *
 * const license = await storage.findLicense('LIC-1', callWithin(5000))
 * ```
 *
 * @group Storage
 */
export function callWithin(timeoutMs: number): StorageCall {
  // With a time that is not a number, nobody would ever stop waiting.
  const isTime = typeof timeoutMs === 'number' && !Number.isNaN(timeoutMs)
  demand(isTime, 'timeoutMs must be a number of milliseconds.')
  const deadline = performance.now() + timeoutMs
  return { timeLeftMs: () => deadline - performance.now() }
}

/** The same methods without the argument that says how long the caller waits. */
export type WithoutCall<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (...args: [...infer Rest, StorageCall]) => infer Result
    ? (...args: Rest) => Result
    : Methods[Name]
}
