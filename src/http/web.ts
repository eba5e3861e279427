import { GrowingBuffer } from '../domain/growing-buffer.ts'
import type { Reply, RequestLike } from './request-like.ts'

/** A standard `Request`, in the form that the core reads. */
export class WebRequest implements RequestLike {
  readonly method: string
  readonly url: string
  readonly #request: Request
  #isDrained = false

  constructor(request: Request) {
    this.method = request.method
    this.url = request.url
    this.#request = request
  }

  header(name: string): string | null {
    return this.#request.headers.get(name)
  }

  async body(maxBytes: number): Promise<Uint8Array | null> {
    if (this.#request.bodyUsed || this.#request.body?.locked === true) return null
    return readBytes(this.#request.body, maxBytes, () => this.#isDrained)
  }

  drain(): void {
    this.#isDrained = true
    // Check the headers first, because accessing `body` makes hosts with their own request classes build a stream.
    if (!this.#announces(0)) return
    const { body } = this.#request
    if (body) dropBody(body)
  }

  /** Hosts on Node hide the body of GET and HEAD, and leave it unread. A short one cannot come in many pieces. */
  get bodyWithheld(): boolean {
    const mayBeWithheld = this.method === 'GET' || this.method === 'HEAD'
    return mayBeWithheld && this.#announces(maxPieces) && this.#request.body === null
  }

  /** Read late, because hosts with their own request classes create the signal only on access. */
  get signal(): AbortSignal {
    return this.#request.signal
  }

  /** Returns whether the headers announce a body of more than this many octets. */
  #announces(octets: number): boolean {
    return this.header('Transfer-Encoding') !== null || Number(this.header('Content-Length')) > octets
  }
}

const maxPieces = 1000

async function readBytes(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  isDrained: () => boolean,
): Promise<Uint8Array> {
  if (stream === null) return new Uint8Array()
  const reader = stream.getReader()
  const received = new GrowingBuffer()
  let bytes: Uint8Array = new Uint8Array()
  for (let pieces = 0; pieces <= maxPieces && bytes.length <= maxBytes && !isDrained(); pieces += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const { done, value } = await reader.read()
    if (done) return bytes
    bytes = received.append(value.subarray(0, maxBytes + 1 - bytes.length))
  }
  // If canceled, a stream of a host on Node would continue to collect the rest piece by piece.
  reader.releaseLock()
  dropBody(stream)
  if (bytes.length <= maxBytes) throw new Error(`The body came in more than ${maxPieces} pieces.`)
  return bytes
}

/** Reads a body and discards it. A server would otherwise hold the pieces, and some servers wait for the rest. */
function dropBody(stream: ReadableStream<Uint8Array>): void {
  try {
    stream.pipeTo(new WritableStream()).catch(() => undefined)
  } catch {} // A stream of a kind of its own, which its host reads itself.
}

const pieceBytes = 64 * 1024

/** Converts a reply to a standard `Response`. */
export function toResponse({ status, headers, body, written }: Reply): Response {
  if (typeof body !== 'string' && body.length > pieceBytes)
    return new Response(inPieces(body, written), { status, headers })
  written()
  return new Response(body === '' ? null : (body as BodyInit), { status, headers })
}

/**
 * Hands octets over as the host asks for them. As the body of a `Response` they would be copied at once, for each of the
 * requests that share them.
 */
function inPieces(octets: Uint8Array, written: () => void): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        // A copy, since a host may do with it what it likes.
        controller.enqueue(new Uint8Array(octets.subarray(at, (at += pieceBytes))))
        if (at < octets.length) return
        controller.close()
        written()
      },
      cancel: () => written(),
    },
    { highWaterMark: 0 },
  )
}
