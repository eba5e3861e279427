/**
 * Tells whether work ends before a timer of so many milliseconds, set now, goes off.
 *
 * An order instead of a duration: on a busy machine both come late, and the one that is due first still comes first.
 */
export async function endsBefore(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<false>((resolve) => (timer = setTimeout(resolve, ms, false)))
  const ended = work.then(
    () => true,
    () => true,
  )
  return Promise.race([ended, tooLate]).finally(() => clearTimeout(timer))
}
