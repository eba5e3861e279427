import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply, RequestLike } from 'utility-api'
import type { UnderWay } from './connections.ts'
import { announcesBody, headerOf, isRepeated } from './node-headers.ts'

const maxPieces = 1000
const firstCapacity = 1024

/** Writes a reply. Headers with other names that the host has already set are kept. */
export function writeReply(underWay: UnderWay, reply: Reply): void {
  const { response } = underWay
  const { status, headers, body, written } = reply
  // The client may be gone, or the host may have answered already.
  if (underWay.isGone || response.headersSent) return written()
  underWay.whenWritten(written)
  if (headers['Connection'] === 'close' && response.req.httpVersionMajor > 1)
    return writeLast(response, reply)
  response.writeHead(status, headers)
  writeBody(response, body)
}

const pieceBytes = 64 * 1024

/** Writes a body. A long one in pieces, so that a server can see whether its client takes any of them. */
function writeBody(response: ServerResponse, body: string | Uint8Array, at = 0): void {
  if (typeof body === 'string' || body.length - at <= pieceBytes)
    return void response.end(typeof body === 'string' ? body : body.subarray(at))
  if (response.write(body.subarray(at, at + pieceBytes))) writeBody(response, body, at + pieceBytes)
  else response.once('drain', () => writeBody(response, body, at + pieceBytes))
}

/**
 * Writes a reply over HTTP/2, which forbids the header, and closes the stream instead, so that the rest of the body is
 * not sent.
 */
function writeLast(
  response: ServerResponse & { stream?: { close(): void } },
  { status, headers: { Connection: _, ...headers }, body }: Reply,
): void {
  response.writeHead(status, headers)
  response.end(body, () => response.stream?.close())
}

/** A view of the request that copies nothing until it is needed. */
export class NodeRequest implements RequestLike {
  readonly method: string
  readonly url: string
  readonly #request: IncomingMessage
  readonly #underWay: UnderWay
  /**
   * The listener that receives the body. Not a function that removes it: that kept each request in memory until a full
   * garbage collection.
   */
  #take: ((chunk: Buffer) => void) | undefined

  constructor(request: IncomingMessage, underWay: UnderWay) {
    this.method = request.method ?? 'GET'
    this.url = request.url ?? '/'
    this.#request = request
    this.#underWay = underWay
  }

  header(name: string): string | null {
    return headerOf(this.#request, name)
  }

  isRepeated(name: string): boolean {
    return isRepeated(this.#request, name)
  }

  body(maxBytes: number): Promise<Uint8Array | null> {
    const request = this.#request
    return new Promise((resolve, reject) => {
      // A stream that has already ended or broken does not report it again.
      if (request.readableEnded) return resolve(announcesBody(this.#request) ? null : new Uint8Array())
      if (request.destroyed) return reject(new Error('The client has gone.'))
      const collected = new CollectedBody(maxBytes)
      const take = (chunk: Buffer | string): void => {
        // A host may have set an encoding, for a listener of its own.
        collected.add(
          typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk,
        )
        if (!collected.isTooMuch) return
        this.drain()
        if (collected.isTooLong) resolve(collected.bytes)
        else reject(new Error(`The body came in more than ${maxPieces} pieces.`))
      }
      this.#take = take
      request
        .on('data', take)
        .on('end', () => resolve(collected.bytes))
        .on('error', reject)
        .on('close', () => {
          // An error that nobody sees would cost every request a stack trace.
          if (!request.readableEnded) reject(new Error('The client has gone.'))
        })
    })
  }

  /**
   * Reads and drops the rest of the body. Otherwise, a client that is still sending would not see the answer, and the
   * next request on this connection could not be told apart from this body.
   */
  drain(): void {
    if (this.#take !== undefined) this.#request.off('data', this.#take)
    if (this.#take !== undefined || announcesBody(this.#request)) this.#request.resume()
  }

  get signal(): AbortSignal {
    return this.#underWay.signal
  }
}

/**
 * The part of a body received so far, in one buffer that grows: a hundred thousand buffers of one octet would take
 * thirty megabytes.
 */
class CollectedBody {
  readonly #maxBytes: number
  #buffer = Buffer.allocUnsafe(firstCapacity)
  #length = 0
  #pieces = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(chunk: Buffer): void {
    const needed = Math.min(this.#length + chunk.length, this.#maxBytes + 1)
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, needed))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#length, 0, needed - this.#length)
    this.#length = needed
    this.#pieces += 1
  }

  get isTooLong(): boolean {
    return this.#length > this.#maxBytes
  }

  get isTooMuch(): boolean {
    return this.isTooLong || this.#pieces > maxPieces
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }
}
