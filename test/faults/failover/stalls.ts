import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How long an event loop stood still: nothing in that process can answer, or hear an answer, sooner. */
export interface StallWatch {
  /** Begins anew. */
  reset(): void
  /** The longest since, in milliseconds. */
  longestMs(): number
}

export function watchStalls(): StallWatch {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  return { reset: () => delay.reset(), longestMs: () => delay.max / 1e6 }
}
