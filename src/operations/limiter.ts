/** Lets a bounded number of tasks run at once; the others wait for their turn. */
export interface Limiter {
  /**
   * Runs a task as soon as a place is free. Rejects with the signal's reason if it aborts before that, and with a
   * `TimeoutError` after `maxWaitMs`, where given; once the task runs, it has to mind both itself.
   */
  run<Value>(task: () => Promise<Value>, signal: AbortSignal, maxWaitMs?: number): Promise<Value>
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
    async run(task, signal, maxWaitMs) {
      signal.throwIfAborted()
      if (running < maxConcurrent) running += 1
      else if (maxWaitMs === undefined) await acquire(signal)
      else await acquire(AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]))
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}
