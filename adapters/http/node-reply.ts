import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import type { Reply } from 'utility-api'
import type { UnderWay } from './connections.ts'

/** Writes a reply. Headers with other names that the host has already set are kept. */
export function writeReply(underWay: UnderWay, reply: Reply): void {
  const { response } = underWay
  const { status, headers, body, written } = reply
  // The client may be gone, or the host may have answered already.
  if (underWay.isGone || response.headersSent) return written()
  const { stream } = response as Http2Response
  const isOnSocket = (response.req as IncomingMessage | undefined)?.socket instanceof Duplex
  if (isOnSocket) underWay.whenWritten(written)
  if (headers['Connection'] === 'close' && stream !== undefined) return writeLast(response, reply)
  response.writeHead(status, headers)
  if (isOnSocket) return writeBody(response, reply)
  // Nobody tells when the answer has left, or when there is room for more of it.
  response.end(body)
  written()
}

/** Ends a response that failed because of code that a host has attached to it, which costs one connection. */
export function giveUp(response: ServerResponse, { written }: Reply, cause: unknown): void {
  written(cause)
  response.destroy()
}

type Http2Response = ServerResponse & { readonly stream?: { close(): void } }

const pieceBytes = 64 * 1024

/** Writes a body. A long one in pieces, so that a server can see whether its client takes any of them. */
function writeBody(response: ServerResponse, reply: Reply, at = 0): void {
  const { body } = reply
  if (typeof body === 'string' || body.length - at <= pieceBytes)
    return void response.end(typeof body === 'string' ? body : body.subarray(at))
  const next = at + pieceBytes
  if (response.write(body.subarray(at, next))) return writeBody(response, reply, next)
  const writeOn = (): void => {
    try {
      writeBody(response, reply, next)
    } catch (cause) {
      giveUp(response, reply, cause)
    }
  }
  const own = new AsyncResource('utility-api')
  response.once('drain', () => own.runInAsyncScope(writeOn))
}

/**
 * Writes a reply over HTTP/2, which forbids the header, and closes the stream instead, so that the rest of the body is
 * not sent.
 */
function writeLast(
  response: Http2Response,
  { status, headers: { Connection: _, ...headers }, body }: Reply,
): void {
  response.writeHead(status, headers)
  response.end(body, () => response.stream?.close())
}
