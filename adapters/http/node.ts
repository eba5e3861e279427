/**
 * The mount for `node:http`.
 *
 * @module utility-api/node
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { UtilityApi } from 'utility-api'
import { forwardedAddress } from './client-address.ts'
import { admit } from './connections.ts'
import { requireMountOptions, type MountOptions } from './mount-options.ts'
import { NodeRequest, writeReply } from './node-message.ts'

export type { MountOptions } from './mount-options.ts'
export { guardConnections } from './guard-connections.ts'

/**
 * A listener for `createServer` of `node:http`, `node:https` and `node:http2`.
 *
 * @group Mounts
 */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void

/**
 * Serves the operations from a Node.js HTTP server (`http`, `https`, `http2` in compatibility mode).
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 *
 * createServer(toNodeHandler(api)).listen(3000)
 * ```
 *
 * @throws `TypeError` with the code `invalid_options` if an option is invalid or unknown
 *
 * @group Mounts
 */
export function toNodeHandler(api: UtilityApi, options: MountOptions = {}): NodeHandler {
  requireMountOptions('toNodeHandler', api, options, ['trustProxy'])
  const { trustProxy = 0 } = options
  return async (incoming, outgoing) => {
    // What is used, the messages of HTTP/2 have too.
    const [request, response] = [incoming as IncomingMessage, outgoing as ServerResponse]
    const underWay = admit(request, response)
    if (underWay === undefined) return
    const turn = underWay.turn()
    if (turn !== undefined) await turn
    const view = new NodeRequest(request, underWay)
    const { remoteAddress } = request.socket
    const ip =
      trustProxy === 0
        ? remoteAddress
        : forwardedAddress(remoteAddress, trustProxy, (name) => view.header(name))
    try {
      writeReply(underWay, await api.dispatch(view, { ip }))
    } catch {
      // Code that a host has attached to its response may throw. That must cost one connection, not the process.
      response.destroy()
    }
  }
}
