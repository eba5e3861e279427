/**
 * What a storage method is told about its caller: how long somebody still waits for the answer.
 *
 * @example
 * ```ts
 * const client = await storage.findClient('shop', { timeLeftMs: () => 5000 })
 * ```
 *
 * @group Storage
 */
export interface StorageCall {
  /**
   * Milliseconds until nobody waits any more; at 0 or below nobody does.
   *
   * It may fall to 0 at once, when the caller goes away. It never rises, and it MUST NOT throw.
   */
  timeLeftMs(): number
}

/** A call that somebody waits for so long from now. */
export function callWithin(timeoutMs: number): StorageCall {
  const deadline = performance.now() + timeoutMs
  return { timeLeftMs: () => deadline - performance.now() }
}

/** The same methods for those who need not say how long they wait. */
export type WithoutCall<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (...args: [...infer Rest, StorageCall]) => infer Result
    ? (...args: Rest) => Result
    : Methods[Name]
}
