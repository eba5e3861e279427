import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { requireTime, within } from '../../adapters/storage/shared/call-time.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('no timer is left of work that has ended, or it would keep the program from ending', async () => {
  expect(await within(60_000, Promise.resolve('done'))).toBe('done')
  // Cleared after the answer, because it would cost each call a quarter of a microsecond to clear it before.
  await Promise.resolve()
  expect(vi.getTimerCount()).toBe(0)
  await expect(within(60_000, Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(vi.getTimerCount()).toBe(0)
})

test('work that takes longer has no result', async () => {
  const result = within(60_000, new Promise(() => {}))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await result).toBeUndefined()
})

test('nobody waits from the moment when no time is left', () => {
  expect(requireTime({ timeLeftMs: () => 1 }, 'A database')).toBe(1)
  expect(() => requireTime({ timeLeftMs: () => 0 }, 'A database')).toThrow('nobody waits')
})
