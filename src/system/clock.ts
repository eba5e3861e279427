import type { Clock } from '../ports/clock.ts'

/**
 * The clock of the machine.
 *
 * @group Ports
 */
export const systemClock: Clock = { now: () => Date.now() }
