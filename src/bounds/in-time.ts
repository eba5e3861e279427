import { clearTimeout, setTimeout } from '../ports/timers.ts'

/**
 * Settles as the work does, or rejects with `late()` if that takes longer than `timeoutMs`. The work itself may go on.
 *
 * Without `keepsAlive`, a program that waits for nothing else may end before. The runtime then says that a promise was
 * never settled.
 */
export function inTime<Value>(
  timeoutMs: number,
  work: () => Value | PromiseLike<Value>,
  late: () => Error,
  { keepsAlive = true }: { readonly keepsAlive?: boolean } = {},
): Promise<Value> {
  return new Promise((resolve, reject) => {
    // Started first, so that a timer of the work's own for the same time ends before this one does.
    const result = Promise.resolve(work())
    const timer = setTimeout(() => reject(late()), timeoutMs)
    if (!keepsAlive) timer.unref()
    void result.then(resolve, reject).then(() => clearTimeout(timer))
  })
}
