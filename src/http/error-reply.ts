import { refusal, refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { Logger } from '../ports/logger.ts'
import { isPromise } from '../domain/maybe-promise.ts'
import type { Scheme } from '../security/scheme.ts'
import type { Call } from './call.ts'
import { jsonReply } from './reply.ts'
import type { Reply } from './request-like.ts'

/** How a protocol formats its errors. */
export type ErrorStyle = Pick<Scheme<unknown>, 'challenge' | 'errorBody'>

/** The owner's settings for errors. */
export interface OwnErrors {
  readonly logger: Logger
  readonly errorBody: ((error: UtilityApiError, context: { requestId: string }) => unknown) | undefined
}

export const internalError: Refusal = refusal('internal_error', 'Something went wrong.')

/** What the program around us did wrong, which is nothing to its clients. */
const mistakes: ReadonlySet<string> = new Set(['invalid_options', 'invalid_argument'])

/** Returns an error that may be shown for anything thrown. What we did not throw ourselves reveals nothing. */
export function publicError(thrown: unknown): UtilityApiError {
  if (thrown instanceof UtilityApiError && !mistakes.has(thrown.code)) return thrown
  return refused(internalError, { cause: thrown })
}

/** Returns the answer to a request that is refused or has failed. */
export function errorReply(
  own: OwnErrors,
  style: ErrorStyle | undefined,
  call: Call,
  error: UtilityApiError,
): Reply {
  const body = style?.errorBody?.(error) ?? ownBody(own, error, call.requestId)
  return jsonReply(error.status, body, call, headersOf(error, style))
}

/** Returns the error's headers. If a 401 has no challenge, the scheme's challenge is added. */
function headersOf(error: UtilityApiError, style: ErrorStyle | undefined): Readonly<Record<string, string>> {
  const { headers, status } = error
  const challenge = style?.challenge ?? null
  if (status !== 401 || challenge === null) return headers
  return { 'WWW-Authenticate': challenge, ...headers }
}

function ownBody(own: OwnErrors, error: UtilityApiError, requestId: string): unknown {
  try {
    const body = own.errorBody?.(error, { requestId })
    if (isPromise(body)) {
      // Nothing awaits the promise, and an unhandled rejection ends the process.
      Promise.resolve(body).catch(() => {})
      throw new TypeError('errorBody returned a promise; it must return the body itself.')
    }
    // A body that JSON cannot represent fails here, not when the answer is written; its `toJSON` is called once.
    const text = JSON.stringify(body) as string | undefined
    if (text !== undefined) return JSON.parse(text) as unknown
  } catch (cause) {
    own.logger.error('errorBody failed; the standard body is sent.', { requestId, cause })
  }
  return errorBody(error)
}

/** Returns the body of an error, for when neither its scheme nor the owner provides another. */
export function errorBody({ code, message }: UtilityApiError): { error: string; message: string } {
  return { error: code, message }
}
