import type { Reply } from './request-like.ts'

/** Returns a JSON answer. */
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
      // A shared cache does not recognize the header Basic as a credential.
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestId,
      ...headers,
    },
    body,
  }
}

/** Returns the answer to OPTIONS. */
export function optionsReply(allow: string, requestId: string): Reply {
  const headers = {
    Allow: allow,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
  }
  return { status: 204, headers, body: '' }
}

/** Returns an answer that a mount drops, to leave the request to other handlers. */
export function unroutedReply(): Reply {
  return { status: 404, headers: {}, body: '', unrouted: true }
}

/** Returns the same answer as for GET, without its body. */
export function withoutBody(reply: Reply): Reply {
  return { ...reply, body: '' }
}
