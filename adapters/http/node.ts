/**
 * The mount for `node:http`.
 *
 * @module utility-api/node
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import type { Reply, UtilityApi } from 'utility-api'
import { forwardedAddress } from './client-address.ts'
import { admit } from './connections.ts'
import { requestIdOf, requireMountOptions, type MountOptions } from './mount-options.ts'
import { giveUp, writeReply } from './node-reply.ts'
import { NodeRequest } from './node-request.ts'

export type { MountOptions } from './mount-options.ts'
export { guardConnections } from './guard-connections.ts'

/**
 * A listener for `createServer` of `node:http`, `node:https` and `node:http2`. Resolves when the answer has been handed
 * to the response, or nobody can get it anymore, because hosts that take the end of a handler for the end of a request
 * wait for that.
 *
 * @group Mounts
 */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => Promise<void>

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
  requireMountOptions('toNodeHandler', api, options, ['trustProxy', 'requestId'])
  const { trustProxy = 0, requestId } = options
  return async (incoming, outgoing) => {
    // What is used, the messages of HTTP/2 have too.
    const [request, response] = [incoming as IncomingMessage, outgoing as ServerResponse]
    const underWay = admit(request, response)
    if (underWay === undefined) return
    const turn = underWay.turn()
    if (turn !== undefined && !(await turn)) return
    const view = new NodeRequest(request, underWay)
    // Requests that no server has made may have none.
    const remoteAddress = (request as { readonly socket?: Socket }).socket?.remoteAddress
    const ip = forwardedAddress(remoteAddress, trustProxy, (name) => view.header(name))
    let reply: Reply | undefined
    try {
      reply = await api.dispatch(view, { ip, requestId: requestIdOf(requestId, request, view) })
      writeReply(underWay, reply)
    } catch (cause) {
      if (reply === undefined) throw cause
      giveUp(response, reply, cause)
    }
  }
}
