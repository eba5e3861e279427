// Taken when this file is loaded. What test tools put in their place may never call back, and answers would be held back.
import perfHooks from 'node:perf_hooks'
import timers from 'node:timers'

/** Test tools replace the method of the object. */
export const performance: { readonly now: () => number } = {
  now: perfHooks.performance.now.bind(perfHooks.performance),
}
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
export const setInterval: typeof timers.setInterval = timers.setInterval
export const clearInterval: typeof timers.clearInterval = timers.clearInterval
