// Taken when this file is loaded. What test tools put in their place may never call back, so a write would wait
// forever.
import perfHooks from 'node:perf_hooks'
import timers from 'node:timers'
import promises from 'node:timers/promises'

/** Test tools replace the method of the object. */
export const performance: { readonly now: () => number } = {
  now: perfHooks.performance.now.bind(perfHooks.performance),
}
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
export const setTimeout: typeof timers.setTimeout = timers.setTimeout
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout
export const nextTick: typeof process.nextTick = process.nextTick
/** Resolves in another turn of the event loop. */
export const anotherTurn: typeof promises.setImmediate = promises.setImmediate
