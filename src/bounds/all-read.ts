import { setImmediate } from '../ports/timers.ts'

/**
 * How many requests wait for one another. Thousands, as from senders that do not wait for answers, would outlive V8's
 * short garbage collections while they wait, and all ask for places at the same moment, where most would be refused.
 */
const mostTogether = 256
let reading: Promise<void> | undefined
let waiting = 0
let endReading = (): void => {}

/**
 * Resolves when the server has read everything that arrived in this turn of the event loop. The requests are then
 * answered together. One by one, each would start cold, after the system calls of the one before.
 */
export function allRead(): Promise<void> {
  reading ??= new Promise((resolve) => {
    endReading = resolve
    setImmediate(answerTogether)
  })
  const own = reading
  waiting += 1
  if (waiting === mostTogether) answerTogether()
  return own
}

function answerTogether(): void {
  endReading()
  reading = undefined
  waiting = 0
}
