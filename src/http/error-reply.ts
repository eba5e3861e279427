import { refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { Logger } from '../ports/logger.ts'
import type { Scheme } from '../security/scheme.ts'
import type { Call } from './call.ts'
import { jsonReply } from './reply.ts'
import type { Reply } from './request-like.ts'

/** How a protocol words its errors. */
export type ErrorStyle = Pick<Scheme<unknown>, 'challenge' | 'errorBody'>

/** The owner's part in the wording of errors. */
export interface OwnErrors {
  readonly logger: Logger
  readonly errorBody: ((error: UtilityApiError, context: { requestId: string }) => unknown) | undefined
}

export const internalError: Refusal = { code: 'internal_error', message: 'Something went wrong.' }

/** Turns whatever was thrown into an error that may be shown; what we did not throw ourselves says nothing. */
export function publicError(thrown: unknown): UtilityApiError {
  if (
    thrown instanceof UtilityApiError &&
    thrown.code !== 'invalid_options' &&
    thrown.code !== 'invalid_argument'
  ) {
    return thrown
  }
  return refused(internalError, { cause: thrown })
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
    if (body instanceof Promise) {
      // Nobody waits for it, and a rejection without a listener ends the process.
      body.catch(() => {})
      throw new TypeError('errorBody returned a promise; it must return the body itself.')
    }
    // What JSON cannot hold fails here, and not when the answer is written.
    if (body !== undefined && JSON.stringify(body) !== undefined) return body
  } catch (cause) {
    own.logger.error('errorBody failed; the standard body is sent.', { requestId, cause })
  }
  return errorBody(error)
}

/** The body of an error, where neither its scheme nor the owner has another shape for it. */
export function errorBody({ code, message }: UtilityApiError): { error: string; message: string } {
  return { error: code, message }
}
