import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { UtilityApi } from 'utility-api'
import { guardConnections, toNodeHandler } from 'utility-api/node'
import { OpenConnections } from './open-connections.ts'

/** The options of a service. */
export interface ServiceOptions {
  /** The prefix of the paths, `''` for the root. */
  readonly prefix: string
  /** How many of the owner's proxies are in front of the server. */
  readonly trustProxy: number
  /** Whether `/openapi.json` is served. */
  readonly openapi: boolean
  /** Pages of the command's own: answers a request and returns true, or leaves it to the operations. Default: none. */
  readonly pages?: (request: IncomingMessage, response: ServerResponse, path: string) => boolean
}

/** A server for the five operations that can be taken out of a load balancer. */
export interface Service {
  readonly server: Server
  /**
   * Stops the server within this time. Its health turns to 503, and every answer says that the connection closes. After
   * half of the time, it accepts no more connections, and ends once no request is in progress. At the end, it cuts off
   * those that are left. If nobody has asked for its health, there is no load balancer to wait for.
   */
  drain(milliseconds: number): Promise<void>
}

const limits = {
  /** Headers that arrive more slowly are not accepted. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /**
   * Longer than the minute for which load balancers keep idle connections, because the side that closes first risks
   * losing the other side's next request.
   */
  keepAliveTimeout: 65_000,
  /** How often the header and request timeouts are checked. */
  connectionsCheckingInterval: 5000,
}

export function createService(api: UtilityApi, options: ServiceOptions): Service {
  const { prefix, trustProxy, pages } = options
  const operations = toNodeHandler(api, { trustProxy })
  const health = healthOf(api)
  // Octets, which all connections share; of a text, each would get a copy.
  const document = options.openapi ? Buffer.from(JSON.stringify(api.openapi())) : undefined
  let draining = false
  let closing = false
  let watched = false

  async function answerHealth(response: ServerResponse): Promise<void> {
    watched = true
    if (draining) return send(response, 503, '{"draining":true}')
    const state = await health()
    send(response, state.storage === 'ok' ? 200 : 503, JSON.stringify(state))
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.socket.destroyed) return
    open.add(response)
    if (draining) sayGoodbye(response)
    const path = pathBelow(prefix, request.url ?? '/')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead && path === '/health') void answerHealth(response)
    else if (isRead && path === '/openapi.json' && document !== undefined) sendLast(response, document)
    else if (pages?.(request, response, path) === true) return
    else operations(request, response)
  }

  const server = createServer(limits, answer)
  guardConnections(server)
  const open = new OpenConnections(server, () => {
    if (closing) setImmediate(closeIfDone)
  })

  /**
   * Closes what is left of the connections once no request is in progress. The server alone would wait for those without
   * a whole request, such as one that a browser opened in advance.
   */
  function closeIfDone(): void {
    if (open.responses.length === 0) server.closeAllConnections()
  }

  return {
    server,
    async drain(milliseconds) {
      draining = true
      open.responses.forEach(sayGoodbye)
      // On a clock that nobody sets, because a step of the wall clock would cut requests off or hold the process.
      const end = performance.now() + milliseconds
      if (watched) await delay(milliseconds / 2)
      closing = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const timer = setTimeout(() => server.closeAllConnections(), Math.max(0, end - performance.now()))
      // Only after this turn, in which a request may arrive.
      setImmediate(closeIfDone)
      await closed
      clearTimeout(timer)
    },
  }
}

/** Tells the client to send its next request elsewhere, unless the answer is already on its way. */
function sayGoodbye(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}

/** Shares one check of the storage among all callers that ask at the same time. */
function healthOf(api: UtilityApi): UtilityApi['health'] {
  let asked: ReturnType<UtilityApi['health']> | undefined
  return () => {
    asked ??= api.health().finally(() => (asked = undefined))
    return asked
  }
}

/** Returns the path without its query and, as with the operations, without the prefix if it has one. */
function pathBelow(prefix: string, url: string): string {
  const [whole = ''] = url.split('?', 1)
  // A request to a proxy names the whole URL, and any server must accept it (RFC 9112 section 3.2.2).
  const path = whole.replace(/^https?:\/\/[^/]*/i, '')
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path
}

/**
 * Sends the document and closes the connection, because the system would hold a copy for each request of one that reads
 * none.
 */
function sendLast(response: ServerResponse, document: Buffer): void {
  sayGoodbye(response)
  send(response, 200, document)
}

export function send(response: ServerResponse, status: number, body: string | Buffer): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}
