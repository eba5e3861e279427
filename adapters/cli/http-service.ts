import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { UtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'

/** What a server is told. */
export interface ServiceOptions {
  /** Where the paths begin, `''` for the root. */
  readonly prefix: string
  /** How many proxies of the owner's stand before it. */
  readonly trustProxy: number
  /** Whether `/openapi.json` is there. */
  readonly openapi: boolean
}

/** A server of the five operations that can be taken out of a balancer. */
export interface Service {
  readonly server: Server
  /**
   * Ends it within a time: its health turns to 503, every answer says that the connection closes; after half of the time no
   * connection is accepted; after all of it, what is left is cut. Where nobody has asked for its health, there is no
   * balancer to wait for.
   */
  drain(milliseconds: number): Promise<void>
}

const limits = {
  /** A header that comes more slowly is none. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** Longer than the minute that balancers keep idle connections: whoever closes first risks the other's next request. */
  keepAliveTimeout: 65_000,
  /** How soon the two times above are noticed to be over. */
  connectionsCheckingInterval: 5000,
}
const maxConnections = 10_000

export function createService(api: UtilityApi, options: ServiceOptions): Service {
  const { prefix, trustProxy } = options
  const operations = toNodeHandler(api, { trustProxy })
  const health = healthOf(api)
  const document = options.openapi ? JSON.stringify(api.openapi()) : undefined
  const underWay = new Set<ServerResponse>()
  let draining = false
  let watched = false

  async function answerHealth(response: ServerResponse): Promise<void> {
    watched = true
    if (draining) return send(response, 503, '{"draining":true}')
    const state = await health()
    send(response, state.storage === 'ok' ? 200 : 503, JSON.stringify(state))
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    underWay.add(response)
    response.once('close', () => underWay.delete(response))
    if (draining) sayGoodbye(response)
    const path = pathBelow(prefix, request.url ?? '/')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead && path === '/health') void answerHealth(response)
    else if (isRead && path === '/openapi.json' && document !== undefined) send(response, 200, document)
    else operations(request, response)
  }

  const server = createServer(limits, answer)
  server.maxConnections = maxConnections

  return {
    server,
    async drain(milliseconds) {
      draining = true
      underWay.forEach(sayGoodbye)
      const end = Date.now() + milliseconds
      if (watched) await delay(milliseconds / 2)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const timer = setTimeout(() => server.closeAllConnections(), Math.max(0, end - Date.now()))
      await closed
      clearTimeout(timer)
    },
  }
}

/** The answer, where it is not on its way yet, tells the client to send its next request elsewhere. */
function sayGoodbye(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}

/** However many ask at once, storage is asked once. */
function healthOf(api: UtilityApi): UtilityApi['health'] {
  let asked: ReturnType<UtilityApi['health']> | undefined
  return () => {
    asked ??= api.health().finally(() => (asked = undefined))
    return asked
  }
}

/** The path without its query and, as with the operations, without the prefix if it is there. */
function pathBelow(prefix: string, url: string): string {
  const [path = ''] = url.split('?', 1)
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}
