import { refusal, refused, type Refusal } from '../domain/errors.ts'
import { inTime } from '../bounds/in-time.ts'
import type { Logger } from '../ports/logger.ts'
import type { RateLimitDecision, RateLimiter } from '../ports/rate-limiter.ts'

/** Counts a request under a key. Throws `too_many_requests` if that was one too many. */
export type RateLimit = (key: string, requestId: string) => Promise<void>

export const tooManyRequests: Refusal = refusal('too_many_requests', 'Too many requests.')

const timeoutMs = 1000

/** Applies a limiter. If it fails or hangs, requests pass, so that it does not take the service down with it. */
export function rateLimitWith(limiter: RateLimiter, logger: Logger): RateLimit {
  return async (key, requestId) => {
    const decision = await decide(limiter, key).catch((cause: unknown): RateLimitDecision => {
      logger.warn('The rate limiter failed; the request goes on.', { requestId, cause })
      return { allowed: true }
    })
    if (decision.allowed) return
    const { retryAfterSeconds } = decision
    const isKnown = retryAfterSeconds >= 0 && Number.isFinite(retryAfterSeconds)
    // Clients rely on the header, which the OpenAPI document promises.
    throw refused(tooManyRequests, { retryAfterSeconds: isKnown ? retryAfterSeconds : 1 })
  }
}

async function decide(limiter: RateLimiter, key: string): Promise<RateLimitDecision> {
  const late = (): Error => new Error(`No decision within ${timeoutMs} ms.`)
  const decision = await inTime(timeoutMs, () => limiter.consume(key), late)
  if (isDecision(decision)) return decision
  throw new TypeError('The rate limiter did not return { allowed, retryAfterSeconds }.')
}

function isDecision(value: Partial<RateLimitDecision> | null | undefined): value is RateLimitDecision {
  return typeof value?.allowed === 'boolean'
}
