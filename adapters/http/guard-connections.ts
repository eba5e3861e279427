import type { Server, ServerResponse } from 'node:http'
import type { Http2SecureServer, Http2Server, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { admit } from './connections.ts'
import { requireServer } from './mount-options.ts'
import { mostConnections } from './most-connections.ts'
import { clearInterval, performance, setInterval } from './timers.ts'

/** How long a client may take nothing of what waits for it. */
const patienceMs = 10_000
const checkEveryMs = 1000
/** The share of the connections that is kept free, since many may come in one turn of the event loop. */
const freeShare = 0.05

/** Where a socket keeps its connection. A request of HTTP/2 has only a proxy of its socket, which no map would find. */
const ofSocket = Symbol('connection')

interface GuardedSocket extends Socket {
  [ofSocket]?: Connection
  /** What reads HTTP/1. */
  readonly parser?: unknown
  /** With TLS, the socket below. */
  readonly _parent?: GuardedSocket
}

/** That of HTTP/2 has a stream. */
type AnyResponse = ServerResponse & { stream?: ServerHttp2Stream }

/** A connection, and when its client last did something. */
interface Connection {
  /** Where its answers wait. With TLS, that is another socket once the handshake is done. */
  socket: GuardedSocket
  /** The address of its client, or the first 64 bits of IPv6, since one client has all addresses below them. */
  readonly network: string | undefined
  /** Whether it began with HTTP/1. */
  http1: boolean
  /** Those that are not written. */
  readonly responses: Set<ServerResponse>
  /** How many octets the client has taken, and when it had taken these. */
  octets: number
  at: number
  /** When its last request came. */
  askedAt: number
}

/**
 * Ends connections that would fill a server: those with more than 16 requests under way, those whose clients have taken
 * nothing for 10 seconds while an answer waits for them, and, before `maxConnections` is reached, those that have been
 * idle longest. One stranger could otherwise hold all connections, and everybody else would be turned away. The idle time
 * is multiplied by the number of idle connections from the same address, or the same /64 network of IPv6. One stranger
 * who comes back at once could otherwise push everybody out.
 *
 * A connection is idle unless your server works on a request that has arrived completely. So an HTTP/2 session without
 * streams is idle, and so is a connection whose TLS handshake or request does not end, or whose client does not take its
 * answer. One that your server has upgraded to another protocol is not.
 *
 * A server without `maxConnections` gets it: half of the files that the process may open (`ulimit -n`), but at most one
 * for 300 KB of its heap, and 10,000. The other half is left to your database and to what the operations ask over the
 * network. If a process has several servers, set `maxConnections` yourself.
 *
 * The server emits `drop` for every connection that is ended, with its socket, as Node.js does for those that it turns
 * away.
 *
 * {@link toNodeHandler} counts its own requests by itself; this covers the server's other routes too.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 *
 * const server = createServer(toNodeHandler(api))
 * guardConnections(server)
 * server.on('drop', (connection) => console.warn(`Ended a connection of ${connection?.remoteAddress}`))
 * server.listen(3000)
 * ```
 *
 * @throws `TypeError` with the code `invalid_options` if it is given anything other than a server
 *
 * @group Mounts
 */
export function guardConnections(server: Server | Http2Server | Http2SecureServer): void {
  // All are servers of `node:net`, and what is used, the requests of HTTP/2 have too.
  const guarded = server as Server
  requireServer(guarded)
  guarded.maxConnections ??= mostConnections()
  const connections = new Set<Connection>()
  const end = (connection: Connection): void => {
    // Others may come before it is closed.
    connections.delete(connection)
    guarded.emit('drop', connection.socket)
    connection.socket.destroy()
  }
  const timer = setInterval(() => stalled(connections).forEach(end), checkEveryMs).unref()
  guarded
    .prependListener('request', (request, response) => {
      const connection = (request.socket as GuardedSocket | undefined)?.[ofSocket]
      if (connection !== undefined) {
        connection.askedAt = performance.now()
        connection.responses.add(response)
        response.once('close', () => connection.responses.delete(response))
      }
      if (admit(request, response) === undefined) guarded.emit('drop', request.socket)
    })
    .on('connection', (socket: GuardedSocket) => {
      surplus(connections, guarded.maxConnections).forEach(end)
      const network = socket.remoteAddress?.replace(/^((?:[\da-f]+:){1,4}).*/, '$1')
      const now = performance.now()
      const rest = { responses: new Set<ServerResponse>(), octets: 0, at: now, askedAt: now }
      const connection = { socket, network, http1: Boolean(socket.parser), ...rest }
      socket[ofSocket] = connection
      connections.add(connection)
      socket.once('close', () => connections.delete(connection))
    })
    .on('secureConnection', (socket: GuardedSocket) => {
      const { _parent: below } = socket
      const connection = below?.[ofSocket]
      if (connection === undefined) return
      socket[ofSocket] = Object.assign(connection, { socket, http1: Boolean(socket.parser) })
    })
    .on('close', () => clearInterval(timer))
}

/** Returns the connections whose clients have taken nothing for too long. */
function stalled(connections: ReadonlySet<Connection>): Connection[] {
  const now = performance.now()
  return [...connections].filter((connection) => {
    const { socket, octets, at } = connection
    const taken = socket.bytesWritten - socket.writableLength
    if (socket.writableLength > 0 && taken <= octets) return now - at >= patienceMs
    Object.assign(connection, { octets: taken, at: now })
    return false
  })
}

/** If few connections are left free, returns those idle longest, times how many idle ones their network has. */
function surplus(connections: ReadonlySet<Connection>, maxConnections: number): Connection[] {
  const free = Math.ceil(maxConnections * freeShare)
  if (connections.size + free < maxConnections || maxConnections === Infinity) return []
  const idle = [...connections].filter(isIdle)
  const byNetwork = Map.groupBy(idle, ({ network }) => network)
  const now = performance.now()
  const rank = (one: Connection): number => (now - one.askedAt) * (byNetwork.get(one.network)?.length ?? 1)
  return idle.toSorted((one, other) => rank(other) - rank(one)).slice(0, free)
}

function isIdle({ socket, http1, responses }: Connection): boolean {
  if (socket.writableLength > 0) return true
  // One that a host has upgraded to another protocol has no parser anymore.
  if (http1 && !socket.parser) return false
  return ![...responses].some(isUnderWay)
}

/** Tells whether a request waits for the host, rather than for its client. */
function isUnderWay({ req, writableEnded, stream }: AnyResponse): boolean {
  if (stream !== undefined && stream.writableLength > 0) return false
  return !writableEnded && (req.complete || stream?.endAfterHeaders === true)
}
