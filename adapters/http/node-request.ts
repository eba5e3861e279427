import type { IncomingMessage } from 'node:http'
import type { RequestLike } from 'utility-api'
import type { UnderWay } from './connections.ts'
import { announcesBody, headerOf, isRepeated } from './node-headers.ts'

const maxPieces = 1000
const firstCapacity = 1024

/** A request as a server has made it, or a library for tests or for functions in a cloud. */
export type HostRequest = IncomingMessage & {
  /** The body as a parser of the host has read it. */
  readonly body?: unknown
  /** The body's bytes, if the parser has kept them. */
  readonly rawBody?: unknown
}

/** A view of the request that copies nothing until it is needed. */
export class NodeRequest implements RequestLike {
  readonly method: string
  readonly url: string
  readonly #request: HostRequest
  readonly #underWay: UnderWay
  /**
   * The listener that receives the body. Not a function that removes it: that kept each request in memory until a full
   * garbage collection.
   */
  #take: ((chunk: Buffer) => void) | undefined

  constructor(request: HostRequest, underWay: UnderWay) {
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
    // A parser that does not handle the content type leaves `body` set and the stream unread.
    return this.#request.readable ? this.#receive(maxBytes) : this.#kept()
  }

  /** Returns the body that the host has read, or null if it has kept nothing of it. */
  async #kept(): Promise<Uint8Array | null> {
    const { destroyed, readableEnded, rawBody, body } = this.#request
    // A stream that has broken does not report it again.
    if (destroyed && !readableEnded) throw new Error('The client has gone.')
    // Hosts keep other things under that name too.
    if (rawBody instanceof Uint8Array) return rawBody
    if (body !== undefined) return encode(body, this.header('Content-Type') ?? '')
    // Whatever has read it was no parser.
    return announcesBody(this.#request) ? null : new Uint8Array()
  }

  #receive(maxBytes: number): Promise<Uint8Array> {
    const request = this.#request
    return new Promise((resolve, reject) => {
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
    const request = this.#request
    if (this.#take !== undefined) request.off('data', this.#take)
    if (request.readable && (this.#take !== undefined || announcesBody(request))) request.resume()
  }

  get signal(): AbortSignal {
    return this.#underWay.signal
  }
}

/** Converts a parsed body back to bytes, so that the same rules apply to it as to one that was not parsed. */
function encode(body: unknown, contentType: string): Uint8Array {
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  const isForm = contentType.toLowerCase().includes('urlencoded')
  return Buffer.from(isForm ? encodeForm(body as object) : JSON.stringify(body))
}

function encodeForm(fields: object): string {
  const pairs = Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string') return [[name, value]]
    // An array is a name sent twice. `name[]` and `name[a]`, which some parsers turn into lists and objects, are names
    // of their own.
    if (Array.isArray(value) && value.length > 1) return value.map((each) => [name, String(each)])
    return [[`${name}[]`, '']]
  })
  return new URLSearchParams(pairs).toString()
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
