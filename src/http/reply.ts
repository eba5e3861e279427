import { UtilityApiError, type ErrorCode } from '../domain/errors.ts'
import type { AnyOperation } from '../operations/operation.ts'
import type { Reply } from './messages.ts'

/** A JSON answer. */
export function jsonReply(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  const body = JSON.stringify(value)
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
  }
}

/** An answer without body: 204. */
export function emptyReply(headers: Record<string, string>): Reply {
  return { status: 204, headers, body: '' }
}

/** An answer that a mount drops, to leave the request to others. */
export function unroutedReply(): Reply {
  return { status: 404, headers: {}, body: '', unrouted: true }
}

/** The same answer as for GET, without its body. */
export function withoutBody(reply: Reply): Reply {
  return { ...reply, body: '' }
}

/** Turns whatever was thrown into an error that may be shown; what we did not throw ourselves says nothing. */
export function publicError(thrown: unknown): UtilityApiError {
  if (
    thrown instanceof UtilityApiError &&
    thrown.code !== 'invalid_options' &&
    thrown.code !== 'invalid_argument'
  ) {
    return thrown
  }
  return new UtilityApiError('internal_error', 'Something went wrong.', { cause: thrown })
}

/** The body of an error: RFC 6749 section 5.2 at the token endpoint, `{ error, message }` elsewhere. */
export function errorBody(error: UtilityApiError, operation: AnyOperation | null): unknown {
  if (operation?.security.kind === 'client') {
    return { error: oauthCode(error), error_description: error.message }
  }
  return { error: error.code, message: error.message }
}

const oauthCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
])

function oauthCode({ code, status }: UtilityApiError): string {
  if (oauthCodes.has(code)) return code
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  return status >= 500 ? 'server_error' : 'invalid_request'
}
