/**
 * Where the time comes from.
 *
 * @group Ports
 */
export interface Clock {
  /** The time now, in milliseconds since the epoch, as an integer. MUST NOT throw. */
  now(): number
}
