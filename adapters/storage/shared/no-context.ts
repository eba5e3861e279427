import { AsyncLocalStorage } from 'node:async_hooks'

/** Runs work in the async context of another place. */
export type InContext = <Args extends unknown[], Result>(
  work: (...args: Args) => Result,
  ...args: Args
) => Result

/**
 * Runs what several callers share in the context of none of them, because a driver's hooks would take it for one
 * caller's.
 */
export const inNoContext: InContext = AsyncLocalStorage.snapshot()
