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
  #controller: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? 'GET'
    this.url = request.url ?? '/'
    this.#request = request
    this.#response = response
  }

  header(name: string): string | null {
    // `headers` keeps only the first of two Authorization headers; the raw list keeps both.
    const { rawHeaders } = this.#request
    const wanted = name.toLowerCase()
    let value: string | null = null
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const candidate = rawHeaders[index] ?? ''
      if (candidate.length !== wanted.length || candidate.toLowerCase() !== wanted) continue
      const part = rawHeaders[index + 1] ?? ''
      value = value === null ? part : `${value}, ${part}`
    }
    return value
  }

  body(maxBytes: number): Promise<Uint8Array> {
    const request = this.#request
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let length = 0
      const finish = (): void => resolve(Buffer.concat(chunks, length))
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        length += chunk.length
        if (length <= maxBytes) return
        // Not destroyed: the refusal still has to be written to this socket.
        request.pause().removeAllListeners('data')
        finish()
      })
      request.once('end', finish)
      request.once('error', reject)
    })
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    // A response that closes before its end means that the client has gone.
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) controller.abort()
    })
    return controller.signal
  }
}
