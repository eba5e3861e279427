import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Runs work that several callers share in the async context in which the library was loaded, not in one of theirs. A
 * function of the host would otherwise act for all of them as whoever came first.
 */
export const inNoContext: <Args extends unknown[], Result>(
  work: (...args: Args) => Result,
  ...args: Args
) => Result = AsyncLocalStorage.snapshot()
