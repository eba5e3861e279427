import { callWithin, type StorageCall } from 'utility-api/storage'

/** A call that somebody waits for longer than any test takes. */
export const call: StorageCall = callWithin(Infinity)

/** A call that somebody waits for until its time has been looked at so often: tests count instead of waiting. */
export function callOfLooks(looks: number): StorageCall {
  let left = looks
  return { timeLeftMs: () => (left -= 1) }
}
