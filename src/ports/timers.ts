/**
 * Node's own timers, taken when this file is loaded. Test tools replace the global ones, and some also those of the
 * modules: a call that waited for one of these would never end, even after they are taken back.
 */
import perfHooks from 'node:perf_hooks'
import timers from 'node:timers'

/** Test tools replace the method of the object. */
export const performance: { readonly now: () => number } = {
  now: perfHooks.performance.now.bind(perfHooks.performance),
}
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
export const setTimeout: typeof timers.setTimeout = timers.setTimeout
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout
export const setInterval: typeof timers.setInterval = timers.setInterval
export const clearInterval: typeof timers.clearInterval = timers.clearInterval
export const nextTick: typeof process.nextTick = process.nextTick
