import { StorageError } from 'utility-api/storage'

/** Lets calls in until it is closed; closing waits for those that are inside. */
export interface Gate {
  /** Throws once it is closed. */
  requireOpen(): void
  /** The same methods, whole calls of them: one of several statements goes on to its end after the gate was closed. */
  guard<Methods extends object>(methods: Methods): Methods
  /** Resolves when nobody is inside any more. */
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
    requireOpen: () => {
      if (closed !== undefined) throw closedError()
    },
    guard: (methods) => {
      const guarded = Object.entries(methods).map(
        ([name, method]: [string, (...args: unknown[]) => unknown]) => [
          name,
          (...args: unknown[]) => {
            // Rejects, as a call would that fails: nothing is thrown beside the promise.
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

function closedError(): StorageError {
  return new StorageError('unavailable', 'The storage is closed.')
}
