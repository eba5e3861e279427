import type { Clock } from '../ports/clock.ts'

/**
 * The machine's clock.
 *
 * @group Ports
 */
export const systemClock: Clock = { now: () => Date.now() }
