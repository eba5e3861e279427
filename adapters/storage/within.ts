/** The longest that a JavaScript timer can wait. */
const longestTimeoutMs = 2 ** 31 - 1

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
