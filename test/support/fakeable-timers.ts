/**
 * Stands in for the files called timers.ts in our own tests: these have the global timers, which a test may fake. What a
 * program gets is tested by programs, in test/compat/fake-timers.long.test.ts.
 */
import type timers from 'node:timers'

type Timers = typeof timers

export const setImmediate = ((...given: Parameters<Timers['setImmediate']>) =>
  globalThis.setImmediate(...given)) as Timers['setImmediate']
export const setTimeout = ((...given: Parameters<Timers['setTimeout']>) =>
  globalThis.setTimeout(...given)) as Timers['setTimeout']
export const setInterval = ((...given: Parameters<Timers['setInterval']>) =>
  globalThis.setInterval(...given)) as Timers['setInterval']
export const clearTimeout: Timers['clearTimeout'] = (timer) => globalThis.clearTimeout(timer)
export const clearInterval: Timers['clearInterval'] = (timer) => globalThis.clearInterval(timer)
export const performance: { now(): number } = { now: () => globalThis.performance.now() }
export { nextTick } from 'node:process'
export { setImmediate as anotherTurn } from 'node:timers/promises'
