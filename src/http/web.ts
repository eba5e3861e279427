import type { Reply, RequestLike } from './request-like.ts'

/** The view of a standard `Request` that the core reads. */
export class WebRequest implements RequestLike {
  readonly method: string
  readonly url: string
  readonly #request: Request
  #isReading = false
  #isDrained = false

  constructor(request: Request) {
    this.method = request.method
    this.url = request.url
    this.#request = request
  }

  header(name: string): string | null {
    return this.#request.headers.get(name)
  }

  body(maxBytes: number): Promise<Uint8Array> {
    this.#isReading = true
    return readBytes(this.#request.body, maxBytes, () => this.#isDrained)
  }

  drain(): void {
    this.#isDrained = true
    // The headers first, for `body` makes hosts with requests of their own build a stream.
    if (this.#isReading || !this.#announces(0)) return
    const { body } = this.#request
    if (body !== null) dropBody(body)
  }

  /** Hosts on Node give GET and HEAD no body, and leave unread what was sent. A short one cannot come in many pieces. */
  get bodyWithheld(): boolean {
    const mayBeWithheld = this.method === 'GET' || this.method === 'HEAD'
    return mayBeWithheld && this.#announces(maxPieces) && this.#request.body === null
  }

  /** Asked for late: hosts with requests of their own make the signal only then. */
  get signal(): AbortSignal {
    return this.#request.signal
  }

  /** Whether the headers announce a body of more than so many octets. */
  #announces(octets: number): boolean {
    return this.header('Transfer-Encoding') !== null || Number(this.header('Content-Length')) > octets
  }
}

const maxPieces = 1000
const firstCapacity = 1024

async function readBytes(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  isDrained: () => boolean,
): Promise<Uint8Array> {
  if (stream === null) return new Uint8Array()
  const reader = stream.getReader()
  let buffer = new Uint8Array(firstCapacity)
  let length = 0
  for (let pieces = 0; pieces <= maxPieces && length <= maxBytes && !isDrained(); pieces += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const { done, value } = await reader.read()
    if (done) return buffer.subarray(0, length)
    const taken = value.subarray(0, maxBytes + 1 - length)
    if (length + taken.length > buffer.length) buffer = grown(buffer, length + taken.length)
    buffer.set(taken, length)
    length += taken.length
  }
  // Canceled, a stream of a host on Node would go on to gather the rest piece by piece.
  reader.releaseLock()
  dropBody(stream)
  if (length <= maxBytes) throw new Error(`The body came in more than ${maxPieces} pieces.`)
  return buffer.subarray(0, length)
}

function grown(buffer: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(2 * buffer.length, needed))
  larger.set(buffer)
  return larger
}

/** Reads what nobody wants and keeps none of it: a server that is not read from holds the pieces, some wait for it. */
function dropBody(stream: ReadableStream<Uint8Array>): void {
  stream.pipeTo(new WritableStream()).catch(() => undefined)
}

/** A standard `Response` of a reply. */
export function toResponse({ status, headers, body }: Reply): Response {
  return new Response(body === '' ? null : body, { status, headers })
}
