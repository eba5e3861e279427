/**
 * The mount for Bun.
 *
 * @module utility-api/bun
 */
import type { RequestContext, UtilityApi } from 'utility-api'
import { forwardedAddress } from './client-address.ts'
import { requestIdOf, requireMountOptions, type MountOptions } from './mount-options.ts'
import { setImmediate } from './timers.ts'

export type { MountOptions } from './mount-options.ts'

/**
 * The part of Bun's server that the mount uses.
 *
 * @group Mounts
 */
export interface BunServer {
  /** Returns the address of the other end of a request's connection. */
  requestIP(request: Request): { readonly address: string } | null
}

/**
 * A handler for `Bun.serve({ fetch })`.
 *
 * @group Mounts
 */
export type BunHandler = (request: Request, server?: BunServer) => Promise<Response>

/**
 * Serves the operations from Bun's own server.
 *
 * @example
 * ```ts
 * Bun.serve({ port: 3000, fetch: toBunHandler(api) })
 * ```
 *
 * @throws `TypeError` with the code `invalid_options` if an option is invalid or unknown
 *
 * @group Mounts
 */
export function toBunHandler(api: UtilityApi, options: MountOptions<Request> = {}): BunHandler {
  requireMountOptions('toBunHandler', api, options, ['trustProxy', 'requestId'])
  const { trustProxy = 0, requestId } = options
  return (request, server) => {
    const id = requestIdOf(requestId, request, { header: (name) => request.headers.get(name) })
    const response = api.fetch(request, new ConnectionContext(request, server, trustProxy, id))
    if (!isFlood()) return response
    return Promise.all([response, endOfTurn()]).then(([answer]) => answer)
  }
}

/** How many requests of one turn of the event loop may be answered in it. */
const mostInOneTurn = 64
let requestsOfTurn = 0
let turn: Promise<void> | undefined

/**
 * Tells whether more requests have come in this turn of the event loop than honest clients send. Answers that need no
 * wait, such as 404, Bun would make by the thousands, from one segment of one client, before it reads from anybody else.
 */
function isFlood(): boolean {
  requestsOfTurn += 1
  if (requestsOfTurn === 1) void endOfTurn()
  return requestsOfTurn > mostInOneTurn
}

/** Resolves after this turn. While an answer is awaited, Bun ends a connection that brings the next request. */
function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      requestsOfTurn = 0
      resolve()
    })
  })
  return turn
}

/** What is known about a request's connection. A class, because Bun takes longer to create a literal with a getter. */
class ConnectionContext implements RequestContext {
  readonly requestId: (() => unknown) | undefined
  readonly #request: Request
  readonly #server: BunServer | undefined
  readonly #trustProxy: number

  constructor(
    request: Request,
    server: BunServer | undefined,
    trustProxy: number,
    requestId: (() => unknown) | undefined,
  ) {
    this.requestId = requestId
    this.#request = request
    this.#server = server
    this.#trustProxy = trustProxy
  }

  /** Read only if credentials failed, because looking it up takes Bun a twentieth of a request's time. */
  get ip(): string | undefined {
    const connection = this.#server?.requestIP(this.#request)?.address
    return forwardedAddress(connection, this.#trustProxy, (name) => this.#request.headers.get(name))
  }
}
