import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The connections of a server, with the responses under way on each. */
export class OpenConnections {
  readonly #responses = new Map<Socket, Set<ServerResponse>>()
  readonly #onEnd: () => void

  /** @param onEnd - Is called whenever a response has been written, or its connection is gone. */
  constructor(server: Server, onEnd: () => void) {
    this.#onEnd = onEnd
    server.on('connection', (socket) => this.#watch(socket))
  }

  /** The responses under way. */
  get responses(): readonly ServerResponse[] {
    return [...this.#responses.values()].flatMap((responses) => [...responses])
  }

  add(response: ServerResponse): void {
    const responses = this.#responses.get(response.req.socket)
    responses?.add(response)
    response.once('close', () => {
      responses?.delete(response)
      this.#onEnd()
    })
  }

  #watch(socket: Socket): void {
    this.#responses.set(socket, new Set())
    // Responses that wait for an earlier one of their connection are not closed with it.
    socket.once('close', () => {
      this.#responses.delete(socket)
      this.#onEnd()
    })
  }
}
