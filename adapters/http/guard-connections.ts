import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { admit } from './node-message.ts'

/** How long a client may take nothing of what waits for it. */
const patienceMs = 10_000
const checkEveryMs = 1000

/**
 * Ends connections that would fill a server's memory: those with more than 16 requests under way, and those whose clients
 * have taken nothing for 10 seconds while an answer waits for them. {@link toNodeHandler} counts its own requests
 * by itself; this covers the server's other routes too.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 *
 * const server = createServer(toNodeHandler(api))
 * guardConnections(server)
 * server.listen(3000)
 * ```
 *
 * @group Mounts
 */
export function guardConnections(server: Server): void {
  const taken = new Map<Socket, { octets: number; at: number }>()
  const timer = setInterval(() => endStalled(taken), checkEveryMs).unref()
  server
    .prependListener('request', admit)
    .on('connection', (socket: Socket) => {
      taken.set(socket, { octets: 0, at: performance.now() })
      socket.once('close', () => taken.delete(socket))
    })
    .on('close', () => clearInterval(timer))
}

function endStalled(taken: ReadonlyMap<Socket, { octets: number; at: number }>): void {
  const now = performance.now()
  for (const [socket, last] of taken) {
    const octets = socket.bytesWritten - socket.writableLength
    if (socket.writableLength === 0 || octets > last.octets) Object.assign(last, { octets, at: now })
    else if (now - last.at >= patienceMs) socket.destroy()
  }
}
