import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests of one connection may be under way at once, answers that are not written yet among them. */
const mostPerConnection = 16
/** How long a client may take nothing of what waits for it. */
const patienceMs = 10_000
const checkEveryMs = 1000

/** What is known about a connection. */
interface Connection {
  readonly responses: Set<ServerResponse>
  /** How many octets the client had taken when last looked at, and since when it has taken no more. */
  taken: number
  takenAt: number
}

/**
 * The connections of a server with the responses under way on each. Ends those whose clients send one request after the
 * other, or wait with theirs, and read no answers: what they do not read would fill the memory.
 */
export class OpenConnections {
  readonly #connections = new Map<Socket, Connection>()
  readonly #onEnd: () => void

  /** @param onEnd - Is called whenever a response has been written, or its connection is gone. */
  constructor(server: Server, onEnd: () => void) {
    this.#onEnd = onEnd
    const timer = setInterval(() => this.#endStalled(), checkEveryMs).unref()
    server.on('connection', (socket) => this.#watch(socket)).on('close', () => clearInterval(timer))
  }

  /** The responses under way. */
  get responses(): ServerResponse[] {
    return [...this.#connections.values()].flatMap(({ responses }) => [...responses])
  }

  get isIdle(): boolean {
    return [...this.#connections.values()].every(({ responses }) => responses.size === 0)
  }

  /** Counts a response. Returns false if its connection has too many, and ends that. */
  add(response: ServerResponse): boolean {
    const { socket } = response.req
    const responses = this.#connections.get(socket)?.responses
    if (responses === undefined || responses.size >= mostPerConnection) {
      socket.destroy()
      return false
    }
    responses.add(response)
    response.once('close', () => {
      responses.delete(response)
      this.#onEnd()
    })
    return true
  }

  #watch(socket: Socket): void {
    this.#connections.set(socket, { responses: new Set(), taken: 0, takenAt: performance.now() })
    // Responses that wait for an earlier one of their connection are not closed with it.
    socket.once('close', () => {
      this.#connections.delete(socket)
      this.#onEnd()
    })
  }

  #endStalled(): void {
    const now = performance.now()
    for (const [socket, connection] of this.#connections) {
      const taken = socket.bytesWritten - socket.writableLength
      if (socket.writableLength === 0 || taken > connection.taken)
        Object.assign(connection, { taken, takenAt: now })
      else if (now - connection.takenAt >= patienceMs) socket.destroy()
    }
  }
}
