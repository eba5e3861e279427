import { demand } from '../domain/arguments.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * A clock that stands still until it is advanced.
 *
 * @group Testing
 */
export interface FixedClock extends Clock {
  /** Advances the clock by this many milliseconds. */
  advance(milliseconds: number): void
}

/**
 * Creates a clock that stands still.
 *
 * @param start - Milliseconds since the epoch. Default: 2026-01-01T00:00:00Z.
 *
 * @example
 * ```ts
 * const clock = fixedClock()
 * clock.advance(60_000)
 * ```
 *
 * @throws `UtilityApiError` `invalid_argument` if a number of milliseconds is none
 *
 * @group Testing
 */
export function fixedClock(start: number = Date.UTC(2026, 0, 1)): FixedClock {
  demand(Number.isFinite(start), 'start must be a number of milliseconds: write fixedClock(date.getTime()).')
  let now = start
  return {
    now: () => now,
    advance(milliseconds) {
      demand(Number.isFinite(milliseconds), 'milliseconds must be a number.')
      now += milliseconds
    },
  }
}
