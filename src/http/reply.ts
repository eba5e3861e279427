import { SharedAnswer } from '../bounds/shared-answer.ts'
import type { Reply } from './request-like.ts'

/** What a reply needs to know of its request. */
export interface Answered {
  readonly requestId: string
  /** Ends what the request holds until its answer is written. A failure to write it is logged. */
  written(failure?: unknown): void
}

/** Returns a JSON answer. */
export function jsonReply(
  status: number,
  value: unknown,
  answered: Answered,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const { body, octets } = value instanceof SharedAnswer ? value : rendered(value)
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(octets),
      // A shared cache does not recognize the header Basic as a credential.
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': answered.requestId,
      ...headers,
    },
    body,
    written: (failure) => answered.written(failure),
  }
}

function rendered(value: unknown): Pick<SharedAnswer<unknown>, 'body' | 'octets'> {
  const body = JSON.stringify(value)
  return { body, octets: Buffer.byteLength(body) }
}

/** Returns the answer to OPTIONS. */
export function optionsReply(allow: string, answered: Answered): Reply {
  const headers = {
    Allow: allow,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': answered.requestId,
  }
  return { status: 204, headers, body: '', written: (failure) => answered.written(failure) }
}

/** Returns an answer that a mount drops, to leave the request to other handlers. */
export function unroutedReply(): Reply {
  return { status: 404, headers: {}, body: '', written: () => {}, unrouted: true }
}

/** Returns the same answer as for GET, without its body. */
export function withoutBody(reply: Reply): Reply {
  return { ...reply, body: '' }
}
