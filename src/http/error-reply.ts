import type { UtilityApiError } from '../domain/errors.ts'
import type { Logger } from '../ports/logger.ts'
import type { Scheme } from '../security/scheme.ts'
import type { Call } from './call.ts'
import { errorBody, jsonReply } from './reply.ts'
import type { Reply } from './request-like.ts'

/** How a protocol words its errors. */
export type ErrorStyle = Pick<Scheme<unknown>, 'challenge' | 'errorBody'>

/** The owner's part in the wording of errors. */
export interface OwnErrors {
  readonly logger: Logger
  readonly errorBody: ((error: UtilityApiError, context: { requestId: string }) => unknown) | undefined
}

/** The answer to a request that is refused, or has failed. */
export function errorReply(
  own: OwnErrors,
  style: ErrorStyle | undefined,
  { requestId }: Call,
  error: UtilityApiError,
): Reply {
  const body = style?.errorBody?.(error) ?? ownBody(own, error, requestId)
  return jsonReply(error.status, body, requestId, headersOf(error, style))
}

/** The scheme's challenge stands in for one that the error does not bring along. */
function headersOf(error: UtilityApiError, style: ErrorStyle | undefined): Readonly<Record<string, string>> {
  const { headers, status } = error
  const challenge = style?.challenge ?? null
  if ((status !== 401 && status !== 403) || challenge === null) return headers
  return { 'WWW-Authenticate': challenge, ...headers }
}

function ownBody(own: OwnErrors, error: UtilityApiError, requestId: string): unknown {
  try {
    const body = own.errorBody?.(error, { requestId })
    // What JSON cannot hold fails here, and not when the answer is written.
    if (body !== undefined && JSON.stringify(body) !== undefined) return body
  } catch (cause) {
    own.logger.error('errorBody failed; the standard body is sent.', { requestId, cause })
  }
  return errorBody(error)
}
