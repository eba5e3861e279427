/**
 * The mount for Bun.
 *
 * @module utility-api/bun
 */
import type { RequestContext, UtilityApi } from 'utility-api'
import { forwardedAddress } from './client-address.ts'
import { requireMountOptions, type MountOptions } from './mount-options.ts'

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
export function toBunHandler(api: UtilityApi, options: MountOptions = {}): BunHandler {
  requireMountOptions('toBunHandler', api, options, ['trustProxy'])
  const { trustProxy = 0 } = options
  return async (request, server) => {
    const context = new ConnectionContext(request, server, trustProxy)
    const [response] = await Promise.all([api.fetch(request, context), endOfTurn()])
    return response
  }
}

// Captured now, so that a test of the host that fakes timers later does not hold answers back.
const atEndOfTurn = setImmediate
let turn: Promise<void> | undefined

/**
 * Resolves once Bun has read what arrived in this turn of the event loop. While an answer is awaited, Bun ends a
 * connection that brings the next request; answers that need no wait, such as 404, it would make by the thousands, from
 * one segment, before it reads from anybody else.
 */
function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    atEndOfTurn(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}

/** What is known about a request's connection. A class, because Bun takes longer to create a literal with a getter. */
class ConnectionContext implements RequestContext {
  readonly #request: Request
  readonly #server: BunServer | undefined
  readonly #trustProxy: number

  constructor(request: Request, server: BunServer | undefined, trustProxy: number) {
    this.#request = request
    this.#server = server
    this.#trustProxy = trustProxy
  }

  /** Read only if credentials failed: looking it up takes Bun a twentieth of a request's time. */
  get ip(): string | undefined {
    const connection = this.#server?.requestIP(this.#request)?.address
    if (this.#trustProxy === 0) return connection
    return forwardedAddress(connection, this.#trustProxy, (name) => this.#request.headers.get(name))
  }
}
