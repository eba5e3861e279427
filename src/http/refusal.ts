import type { UtilityApiError } from '../domain/errors.ts'
import type { AnyOperation } from '../operations/operation.ts'
import type { Logger } from '../ports/logger.ts'
import { challengeOf } from './credentials.ts'
import { logError } from './hooks.ts'
import type { Reply } from './messages.ts'
import type { Passage } from './passage.ts'
import { errorBody, jsonReply } from './reply.ts'
import { allowedMethods, cacheHeaders } from './router.ts'

export interface RefusalParts {
  readonly logger: Logger
  readonly errorBody: ((error: UtilityApiError, context: { requestId: string }) => unknown) | undefined
}

/** Makes what turns an error into its answer, and logs it on the way. */
export function refusalsOf(parts: RefusalParts): (error: UtilityApiError, passage: Passage) => Reply {
  const { logger } = parts

  function replyOf(
    error: UtilityApiError,
    operation: AnyOperation | null,
    requestId: string,
    headers: Record<string, string>,
  ): Reply {
    // The clients of the token endpoint know one shape.
    if (parts.errorBody !== undefined && operation?.security.kind !== 'client') {
      try {
        return jsonReply(error.status, parts.errorBody(error, { requestId }), headers)
      } catch (cause) {
        logger.error('errorBody failed; the standard body is sent.', { requestId, cause })
      }
    }
    return jsonReply(error.status, errorBody(error, operation), headers)
  }

  return (error, { operation, request, requestId }) => {
    logError(logger, error, { requestId, operation: operation?.id })
    if (operation === null) return { ...replyOf(error, null, requestId, {}), unrouted: true }
    const challenge = challengeOf(error, operation.security, request)
    return replyOf(error, operation, requestId, {
      ...(challenge !== null && { 'WWW-Authenticate': challenge }),
      ...(error.retryAfterSeconds !== undefined && {
        'Retry-After': String(Math.ceil(error.retryAfterSeconds)),
      }),
      ...(error.code === 'method_not_allowed' && { Allow: allowedMethods(operation) }),
      ...cacheHeaders(operation),
    })
  }
}
