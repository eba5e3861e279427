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
