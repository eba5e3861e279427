import { StorageError, withCheckedRows } from 'utility-api/storage'
import type { AdminStorage, StorageListing, UtilityStorage } from 'utility-api/storage'

/** The methods for provisioning. */
export type AdminMethods = Omit<AdminStorage, keyof UtilityStorage | 'listing' | 'close'>

/**
 * Returns a store with these methods, which checks what it is given and can be closed. Each call is guarded as a whole,
 * so one of several statements runs to its end even after the store was closed. Closing waits for the calls that are
 * inside.
 */
export function closable<Methods extends Omit<AdminStorage, 'listing' | 'close'>>(
  methods: Methods,
  listing: StorageListing,
): Methods & AdminStorage {
  let inside = 0
  let closed: PromiseWithResolvers<void> | undefined

  function enter<Result>(result: Result): Result {
    if (!(result instanceof Promise)) return result
    inside += 1
    result.then(leave, leave)
    return result
  }
  function leave(): void {
    inside -= 1
    if (inside === 0) closed?.resolve()
  }
  function guard<Guarded extends object>(each: Guarded): Guarded {
    const guarded = Object.entries(each).map(([name, method]: [string, (...args: unknown[]) => unknown]) => [
      name,
      (...args: unknown[]) => {
        // Rejects like a call that fails, so nothing is thrown outside the promise.
        if (closed !== undefined) return Promise.reject(closedError())
        return enter(method(...args))
      },
    ])
    return Object.fromEntries(guarded) as Guarded
  }
  return withCheckedRows({
    ...guard(methods),
    listing: guard(listing),
    async close() {
      closed ??= Promise.withResolvers()
      if (inside === 0) closed.resolve()
      await closed.promise
    },
  })
}

/** Returns the error of a call that comes after closing. */
function closedError(): StorageError {
  return new StorageError('unavailable', 'The storage is closed.')
}
