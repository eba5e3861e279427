// Taken when this file is loaded. What test tools put in their place may never call back: a write would wait forever.
import nodeProcess from 'node:process'
import timers from 'node:timers'
import promises from 'node:timers/promises'

export { performance } from 'node:perf_hooks'
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
export const setTimeout: typeof timers.setTimeout = timers.setTimeout
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout
export const nextTick: typeof nodeProcess.nextTick = nodeProcess.nextTick
/** Resolves in another turn of the event loop. */
export const anotherTurn: typeof promises.setImmediate = promises.setImmediate
