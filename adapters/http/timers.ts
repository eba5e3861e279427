// Taken when this file is loaded. What test tools put in their place may never call back, and answers would be held back.
import timers from 'node:timers'

export { performance } from 'node:perf_hooks'
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
export const setInterval: typeof timers.setInterval = timers.setInterval
export const clearInterval: typeof timers.clearInterval = timers.clearInterval
