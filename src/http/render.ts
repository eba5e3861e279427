import type { Reply, RequestLike } from './messages.ts'

/** The view of a standard `Request` that the core reads. */
export function viewOf(request: Request): RequestLike {
  return {
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name),
    body: (maxBytes) => readBytes(request.body, maxBytes),
    get signal() {
      // Asked for late: hosts with requests of their own make the signal only then.
      return request.signal
    },
  }
}

async function readBytes(stream: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Uint8Array> {
  if (stream === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length
    chunks.push(chunk)
    // Leaving the loop cancels the stream, so that the rest is never read.
    if (length > maxBytes) break
  }
  return Buffer.concat(chunks, length)
}

/**
 * Gives up a body that nobody has read: some servers close the connection over it, others wait for it.
 *
 * Asks the headers first, for `body` makes hosts with requests of their own build a stream.
 */
export function dropBody(request: Request): void {
  const { headers } = request
  if (request.bodyUsed || !(headers.has('Content-Length') || headers.has('Transfer-Encoding'))) return
  request.body?.cancel().catch(() => undefined)
}

/** A standard `Response` of a reply. */
export function render({ status, headers, body }: Reply): Response {
  return new Response(body === '' ? null : body, { status, headers })
}
