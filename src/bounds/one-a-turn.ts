import { setImmediate } from '../ports/timers.ts'

const waiting: (() => void)[] = []

/**
 * Does long work, one piece in each turn of the event loop, in the order of the calls. Otherwise, everything that one
 * caller can make arrive at once would be done in one turn, and everybody else's requests would wait for seconds.
 */
export function oneATurn(work: () => void): void {
  waiting.push(work)
  if (waiting.length === 1) setImmediate(doNext)
}

function doNext(): void {
  const work = waiting.shift()
  if (waiting.length > 0) setImmediate(doNext)
  work?.()
}

/** Resolves in a turn in which no other long work is done. Rejects if nobody waits for the work anymore by then. */
export function ownTurn(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) =>
    oneATurn(() => (signal?.aborted === true ? reject(signal.reason) : resolve())),
  )
}
