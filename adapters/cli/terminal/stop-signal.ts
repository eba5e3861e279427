/** Tells whether the program was told to stop. */
export interface StopWatch extends Disposable {
  /** Aborts at the first SIGINT or SIGTERM. A second one ends the process at once, as it does by default. */
  readonly signal: AbortSignal
  /** Resolves when the signal aborts. */
  readonly stopped: Promise<void>
}

/** Listens for SIGINT and SIGTERM until the result is disposed. */
export function watchForStop(): StopWatch {
  const controller = new AbortController()
  const { signal } = controller
  const forget = (): void => void process.off('SIGINT', stop).off('SIGTERM', stop)
  function stop(): void {
    forget()
    controller.abort()
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const stopped = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  return { signal, stopped, [Symbol.dispose]: forget }
}
