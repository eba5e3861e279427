/** Lets a bounded number of tasks run at once; the others wait for their turn. */
export interface Limiter {
  /**
   * Runs a task as soon as a place is free. Rejects with the signal's reason if it aborts before that; from then on the
   * task itself has to listen.
   */
  run<Value>(task: () => Promise<Value>, signal: AbortSignal): Promise<Value>
}

export function createLimiter(maxConcurrent: number): Limiter {
  let running = 0
  const waiting = new Set<() => void>()

  function release(): void {
    const [next] = waiting
    if (next === undefined) {
      running -= 1
      return
    }
    waiting.delete(next)
    next()
  }

  function acquire(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        waiting.delete(start)
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      waiting.add(start)
    })
  }

  return {
    async run(task, signal) {
      signal.throwIfAborted()
      if (running < maxConcurrent) running += 1
      else await acquire(signal)
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}
