import { UtilityApiError } from '../domain/errors.ts'
import type { Logger } from '../ports/logger.ts'
import type { RateLimitDecision, RateLimiter } from '../ports/rate-limiter.ts'

/** Counts one request under a key; throws `too_many_requests` when that was one too many. */
export type Limit = (key: string) => Promise<void>

const timeoutMs = 1000

/** A limiter that fails or hangs lets everybody through: it must not take the service down with it. */
export function limitWith(limiter: RateLimiter, logger: Logger): Limit {
  return async (key) => {
    const decision = await decide(limiter, key).catch((cause: unknown): RateLimitDecision => {
      logger.warn('The rate limiter failed; the request goes on.', { cause })
      return { allowed: true }
    })
    if (decision.allowed) return
    throw new UtilityApiError('too_many_requests', 'Too many requests.', {
      retryAfterSeconds: decision.retryAfterSeconds,
    })
  }
}

async function decide(limiter: RateLimiter, key: string): Promise<RateLimitDecision> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No decision within ${timeoutMs} ms.`)), timeoutMs)
  })
  try {
    return await Promise.race([limiter.consume(key), late])
  } finally {
    clearTimeout(timer)
  }
}
