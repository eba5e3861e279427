import { refused, UtilityApiError, type Refusal } from '../domain/errors.ts'
import type { Reply } from './request-like.ts'

/** A JSON answer. */
export function jsonReply(
  status: number,
  value: unknown,
  requestId: string,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const body = JSON.stringify(value)
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      // A shared cache does not know the header Basic as a credential.
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestId,
      ...headers,
    },
    body,
  }
}

/** The answer to OPTIONS. */
export function optionsReply(allow: string, requestId: string): Reply {
  const headers = {
    Allow: allow,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  }
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

/** The body of an error, where neither its scheme nor the owner has another shape for it. */
export function errorBody({ code, message }: UtilityApiError): { error: string; message: string } {
  return { error: code, message }
}
