// Captured now: if a test of the host took its fake timers back before they ran, nothing would be done any more.
const atEndOfTurn = setImmediate
const waiting: (() => void)[] = []

/**
 * Does long work, a piece in each turn of the event loop, in the order of the calls. All that one caller can make come at
 * once would otherwise be done in one turn, and everybody else's requests would wait for seconds.
 */
export function oneATurn(work: () => void): void {
  waiting.push(work)
  if (waiting.length === 1) atEndOfTurn(doNext)
}

function doNext(): void {
  const work = waiting.shift()
  if (waiting.length > 0) atEndOfTurn(doNext)
  work?.()
}

/** Resolves in a turn in which nothing else that is long is done. */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => oneATurn(resolve))
}
