import type { StorageCall } from 'utility-api/storage'
import { requireTime, within } from '../shared/call-time.ts'

/** Returns the result of work, or throws if it takes longer than the call waits. The work itself may continue. */
export async function inTime<Result>(call: StorageCall, work: () => Promise<Result>): Promise<Result> {
  const timeLeftMs = requireTime(call, 'MariaDB')
  const done = await within(
    timeLeftMs,
    work().then((result) => ({ result })),
  )
  if (done === undefined) throw new Error('There was no answer in the time that the call had.')
  return done.result
}
