import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { admit, isIdle } from './connections.ts'
import { requireServer } from './mount-options.ts'

/** How long a client may take nothing of what waits for it. */
const patienceMs = 10_000
const checkEveryMs = 1000
/** The share of the connections that is kept free, since many may come in one turn of the event loop. */
const freeShare = 0.05

/** A connection, and when its client last did something. */
interface Guarded {
  /** How many octets the client has taken, and when it had taken these. */
  octets: number
  at: number
  /** When its last request came. */
  askedAt: number
}

/**
 * Ends connections that would fill a server's memory: those with more than 16 requests under way, and those whose clients
 * have taken nothing for 10 seconds while an answer waits for them. {@link toNodeHandler} counts its own requests
 * by itself; this covers the server's other routes too.
 *
 * If the server has `maxConnections`, it also ends the connections that have been idle longest before that number is
 * reached: one stranger could otherwise open them all, and everybody else would be turned away.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 *
 * const server = createServer(toNodeHandler(api))
 * server.maxConnections = 10_000
 * guardConnections(server)
 * server.listen(3000)
 * ```
 *
 * @throws `TypeError` with the code `invalid_options` if it is given anything other than a server
 *
 * @group Mounts
 */
export function guardConnections(server: Server): void {
  requireServer(server)
  const guarded = new Map<Socket, Guarded>()
  const timer = setInterval(() => endStalled(guarded), checkEveryMs).unref()
  server
    .prependListener('request', (request, response) => {
      const connection = guarded.get(request.socket)
      if (connection !== undefined) connection.askedAt = performance.now()
      admit(request, response)
    })
    // With TLS, answers wait in a socket of its own, which comes later.
    .on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
      makeRoom(guarded, server.maxConnections)
      const now = performance.now()
      guarded.set(socket, { octets: 0, at: now, askedAt: now })
      socket.once('close', () => guarded.delete(socket))
    })
    .on('close', () => clearInterval(timer))
}

function endStalled(guarded: ReadonlyMap<Socket, Guarded>): void {
  const now = performance.now()
  for (const [socket, last] of guarded) {
    const octets = socket.bytesWritten - socket.writableLength
    if (socket.writableLength === 0 || octets > last.octets) Object.assign(last, { octets, at: now })
    else if (now - last.at >= patienceMs) socket.destroy()
  }
}

/** If few connections are left free, ends those that have been idle longest, or whose clients do not take an answer. */
function makeRoom(guarded: Map<Socket, Guarded>, maxConnections: number | undefined): void {
  if (maxConnections === undefined) return
  const free = Math.ceil(maxConnections * freeShare)
  if (guarded.size + free < maxConnections) return
  const idle = [...guarded].filter(([socket]) => socket.writableLength > 0 || isIdle(socket))
  idle.sort(([, one], [, other]) => one.askedAt - other.askedAt)
  for (const [socket] of idle.slice(0, free)) {
    socket.destroy()
    // Others may come before it is closed.
    guarded.delete(socket)
  }
}
