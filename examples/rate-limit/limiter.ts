import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { RateLimiter } from 'utility-api'

/**
 * Limits callers and failed credentials with rate-limiter-flexible. Its memory, Redis and PostgreSQL limiters all work.
 *
 * @param callers - For requests of a known client, reseller or key holder.
 * @param failures - For failed credentials from one address.
 */
export function flexibleLimiter(callers: RateLimiterAbstract, failures: RateLimiterAbstract): RateLimiter {
  return {
    async consume(key) {
      const limiter = key.startsWith('address:') ? failures : callers
      try {
        await limiter.consume(key)
        return { allowed: true }
      } catch (reason) {
        // Anything else is a failure of the limiter's store. It is rethrown, so it is logged and the request goes on.
        if (!(reason instanceof RateLimiterRes)) throw reason
        return { allowed: false, retryAfterSeconds: Math.max(1, reason.msBeforeNext / 1000) }
      }
    },
  }
}
