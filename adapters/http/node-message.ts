import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply, RequestLike } from 'utility-api'

/** Writes a reply out. Headers that the host has set before stay. */
export function writeReply(response: ServerResponse, { status, headers, body }: Reply): void {
  // The client may have gone, or the host may have answered already.
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, headers)
  response.end(body)
}

/** A view of the request that copies nothing until it is asked. */
export class NodeRequest implements RequestLike {
  readonly method: string
  readonly url: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #signal: AbortSignal | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? 'GET'
    this.url = request.url ?? '/'
    this.#request = request
    this.#response = response
  }

  header(name: string): string | null {
    // `headers` keeps only the first of two Authorization headers; the raw list keeps both.
    const { rawHeaders } = this.#request
    let value: string | null = null
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (!isSameName(rawHeaders[index] ?? '', name)) continue
      const part = rawHeaders[index + 1] ?? ''
      value = value === null ? part : `${value}, ${part}`
    }
    return value
  }

  body(maxBytes: number): Promise<Uint8Array> {
    const request = this.#request
    return new Promise((resolve, reject) => {
      // A stream that has ended or broken already tells so no second time.
      if (request.readableEnded) return resolve(new Uint8Array())
      if (request.destroyed) return reject(new Error('The client has gone.'))
      const chunks: Buffer[] = []
      let length = 0
      const finish = (): void => resolve(Buffer.concat(chunks, length))
      const take = (chunk: Buffer): void => {
        chunks.push(chunk)
        length += chunk.length
        if (length <= maxBytes) return
        // The rest is read and dropped: a client that is still sending would not see the refusal, nor could the next
        // request on this connection be told from this body.
        request.off('data', take).resume()
        finish()
      }
      request.on('data', take).once('end', finish).once('error', reject)
      request.once('close', () => reject(new Error('The client has gone.')))
    })
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response)
    return this.#signal
  }
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && (one === other || one.toLowerCase() === other.toLowerCase())
}

/** Aborts when the connection closes before the answer is written, or has done so already. */
function signalOf(response: ServerResponse & { stream?: { destroyed: boolean } }): AbortSignal {
  // Not the request's `aborted`: that is also set when a client has only ended its own half and waits for the answer.
  if (response.stream?.destroyed ?? response.destroyed) return AbortSignal.abort()
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
