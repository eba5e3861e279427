import { StorageError } from 'utility-api/storage'

/** Lets calls in until it is closed. Closing waits for the calls that are inside. */
export interface Gate {
  /**
   * Returns the same methods, guarded as whole calls: a call of several statements runs to its end even after the gate
   * was closed.
   */
  guard<Methods extends object>(methods: Methods): Methods
  /** Closes the gate. Resolves when no call is inside anymore. */
  close(): Promise<void>
}

export function createGate(): Gate {
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
  return {
    guard: (methods) => {
      const guarded = Object.entries(methods).map(
        ([name, method]: [string, (...args: unknown[]) => unknown]) => [
          name,
          (...args: unknown[]) => {
            // Rejects like a call that fails: nothing is thrown outside the promise.
            if (closed !== undefined) return Promise.reject(closedError())
            return enter(method(...args))
          },
        ],
      )
      return Object.fromEntries(guarded) as typeof methods
    },
    close: async () => {
      closed ??= Promise.withResolvers()
      if (inside === 0) closed.resolve()
      await closed.promise
    },
  }
}

/** Returns the error of a call that comes after closing. */
function closedError(): StorageError {
  return new StorageError('unavailable', 'The storage is closed.')
}
