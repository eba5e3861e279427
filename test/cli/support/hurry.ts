import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import type { FakeDnsServerOptions } from 'utility-api/testing'
import { onTestFinished, vi } from 'vitest'

/** Lets the waits between the checks of a watch end at once, on a clock that goes on as if they had not. */
export function hurryWaits(): void {
  const { setTimeout } = timers
  const waitBy = (wait: typeof setTimeout): void => {
    timers.setTimeout = wait
    syncBuiltinESMExports()
  }
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() })
  waitBy(async <Value>(milliseconds = 0, value?: Value) => {
    vi.advanceTimersByTime(milliseconds)
    return value as Value
  })
  onTestFinished(() => {
    waitBy(setTimeout)
    vi.useRealTimers()
  })
}

/** The reply of a resolver that is silent. A second is over soon after it is first asked, by each transport. */
export function silence(): FakeDnsServerOptions['reply'] & {} {
  const { setTimeout } = globalThis
  const asked = new Set<string>()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: Date.now() })
  onTestFinished(() => void vi.useRealTimers())
  return ({ transport }) => {
    // Others have answered by then: what they send comes in turns of the same loop.
    if (!asked.has(transport)) setTimeout(() => vi.advanceTimersByTime(1000), 20)
    asked.add(transport)
    return null
  }
}
