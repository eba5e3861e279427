/**
 * The mount for `node:http`.
 *
 * @module node
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply, RequestLike, UtilityApi } from 'utility-api'

/**
 * A listener for `http.createServer`.
 *
 * @group Mounts
 */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Serves the operations from a Node.js HTTP server (`http`, `https`, `http2` in compatibility mode).
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 *
 * createServer(toNodeHandler(api)).listen(3000)
 * ```
 *
 * @group Mounts
 */
export function toNodeHandler(api: UtilityApi): NodeHandler {
  return (request, response) => {
    const ip = request.socket.remoteAddress
    void api
      .dispatch(new NodeRequest(request, response), ip === undefined ? {} : { ip })
      .then((reply) => write(response, reply))
  }
}

function write(response: ServerResponse, { status, headers, body }: Reply): void {
  // The client may have gone, or the host may have answered already.
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, headers)
  response.end(body)
}

/** A view of the request that copies nothing until it is asked. */
class NodeRequest implements RequestLike {
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
