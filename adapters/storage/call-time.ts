import type { StorageCall } from 'utility-api/storage'

/** The longest that a JavaScript timer can wait. */
const longestTimeoutMs = 2 ** 31 - 1

/** Creates a call whose caller waits `timeoutMs` from now. */
export function callWithin(timeoutMs: number): StorageCall {
  const deadline = performance.now() + timeoutMs
  return { timeLeftMs: () => deadline - performance.now() }
}

/** Returns the result of work, or undefined if it takes longer than this time. The work itself may continue. */
export function within<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), Math.min(timeoutMs, longestTimeoutMs))
    work.then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error: Error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
