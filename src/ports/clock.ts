/**
 * The source of the current time.
 *
 * @group Ports
 */
export interface Clock {
  /** Returns the current time in milliseconds since the epoch, as an integer. MUST NOT throw. */
  now(): number
}
