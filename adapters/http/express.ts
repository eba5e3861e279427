/**
 * The mount for Express 4 and 5.
 *
 * @module utility-api/express
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { UtilityApi } from 'utility-api'
import { addressIn, forwardedAddress } from './client-address.ts'
import { admit } from './connections.ts'
import { requestIdOf, requireMountOptions, type MountOptions } from './mount-options.ts'
import { writeReply } from './node-reply.ts'
import { NodeRequest } from './node-request.ts'

export type { MountOptions } from './mount-options.ts'

/**
 * Express middleware, by its shape: no version of Express is a dependency.
 *
 * @group Mounts
 */
export type ExpressHandler = (
  request: ExpressRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * The part of an Express request that the mount reads.
 *
 * @group Mounts
 */
export type ExpressRequest = IncomingMessage & {
  /** The body as parsed by a body parser. */
  body?: unknown
  /** The body's bytes, if a parser's `verify` kept them. */
  rawBody?: Uint8Array
  /** The client's address according to the application's own setting `trust proxy`. */
  ip?: string | undefined
}

/**
 * Options for {@link toExpressHandler}. Without `trustProxy`, the application's setting `trust proxy` applies.
 *
 * @group Mounts
 */
export interface ExpressMountOptions extends MountOptions<ExpressRequest> {
  /** Whether to pass requests for other paths on to the next handler instead of answering 404. Default: false. */
  readonly fallthrough?: boolean
}

/**
 * Serves the operations from an Express application or router, with or without body parsers before it.
 *
 * After `express.json()`, a repeated JSON member can no longer be detected. Mount before it if that matters.
 *
 * @example
 * ```ts
 * app.use('/api', toExpressHandler(api, { fallthrough: true }))
 * ```
 *
 * @throws `TypeError` with the code `invalid_options` if an option is invalid or unknown
 *
 * @group Mounts
 */
export function toExpressHandler(api: UtilityApi, options: ExpressMountOptions = {}): ExpressHandler {
  requireMountOptions('toExpressHandler', api, options, ['trustProxy', 'requestId', 'fallthrough'])
  const { fallthrough = false, trustProxy, requestId } = options
  return (request, response, next) => {
    const underWay = admit(request, response)
    if (underWay === undefined) return
    const view = new NodeRequest(request, underWay)
    const ip = addressOf(request, view, trustProxy)
    const answer = async (): Promise<void> => {
      const id = requestIdOf(requestId, request, view)
      const reply = await api.dispatch(view, { fallthrough, ip, requestId: id })
      if (!fallthrough || reply.unrouted !== true) return writeReply(underWay, reply)
      reply.written()
      next()
    }
    const turn = underWay.turn()
    const done = turn === undefined ? answer() : turn.then((isItsTurn) => (isItsTurn ? answer() : undefined))
    done.catch(next)
  }
}

function addressOf(
  request: ExpressRequest,
  view: NodeRequest,
  trustProxy: number | undefined,
): string | undefined {
  const { socket } = request as { readonly socket?: Socket }
  // Without one, Express's own `ip` throws.
  if (socket === undefined) return undefined
  const { remoteAddress } = socket
  // Express takes the entry of a proxy as it is, with its port.
  if (trustProxy === undefined) return addressIn(request.ip ?? '') ?? remoteAddress
  return forwardedAddress(remoteAddress, trustProxy, (name) => view.header(name))
}
