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
  let closed = false
  const inside = new Set<Promise<unknown>>()

  function enter<Result>(result: Result): Result {
    if (!(result instanceof Promise)) return result
    const done = result.then(leave, leave)
    function leave(): void {
      inside.delete(done)
    }
    inside.add(done)
    return result
  }
  return {
    requireOpen: () => {
      if (closed) throw closedError()
    },
    guard: (methods) => {
      const guarded = Object.entries(methods).map(
        ([name, method]: [string, (...args: unknown[]) => unknown]) => [
          name,
          (...args: unknown[]) => {
            // Rejects, as a call would that fails: nothing is thrown beside the promise.
            if (closed) return Promise.reject(closedError())
            return enter(method(...args))
          },
        ],
      )
      return Object.fromEntries(guarded) as typeof methods
    },
    close: async () => {
      closed = true
      await Promise.all(inside)
    },
  }
}

function closedError(): StorageError {
  return new StorageError('unavailable', 'The storage is closed.')
}
