/**
 * Decides whether a caller's request may proceed.
 *
 * @group Ports
 */
export interface RateLimiter {
  /**
   * Counts one request of a caller and returns whether it is allowed.
   *
   * MUST be safe to call concurrently. A rejection, or no answer within a second, counts as allowed and is logged, so
   * that a broken limiter does not take the service down.
   *
   * @param key - Who is counted, as `<kind>:<id>`; opaque to the limiter.
   */
  consume(key: string): Promise<RateLimitDecision>
}

/**
 * The decision of a {@link RateLimiter}.
 *
 * @group Ports
 */
export type RateLimitDecision =
  { readonly allowed: true } | { readonly allowed: false; readonly retryAfterSeconds: number }
