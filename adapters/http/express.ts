/**
 * The mount for Express 4 and 5.
 *
 * @module utility-api/express
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { UtilityApi } from 'utility-api'
import { addressIn, forwardedAddress } from './client-address.ts'
import { admit, type UnderWay } from './connections.ts'
import { requireMountOptions, type MountOptions } from './mount-options.ts'
import { NodeRequest, writeReply } from './node-message.ts'

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
export interface ExpressMountOptions extends MountOptions {
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
  requireMountOptions('toExpressHandler', api, options, ['trustProxy', 'fallthrough'])
  const { fallthrough = false, trustProxy } = options
  return (request, response, next) => {
    const underWay = admit(request, response)
    if (underWay === undefined) return
    const view = new ParsedRequest(request, underWay)
    const ip = addressOf(request, view, trustProxy)
    const answer = async (): Promise<void> => {
      const reply = await api.dispatch(view, { fallthrough, ip })
      if (!fallthrough || reply.unrouted !== true) return writeReply(underWay, reply)
      reply.written()
      next()
    }
    const turn = underWay.turn()
    ;(turn === undefined ? answer() : turn.then(answer)).catch(next)
  }
}

function addressOf(
  request: ExpressRequest,
  view: NodeRequest,
  trustProxy: number | undefined,
): string | undefined {
  const { remoteAddress } = request.socket
  // Express takes the entry of a proxy as it is, with its port.
  if (trustProxy === undefined) return addressIn(request.ip ?? '') ?? remoteAddress
  if (trustProxy === 0) return remoteAddress
  return forwardedAddress(remoteAddress, trustProxy, (name) => view.header(name))
}

class ParsedRequest extends NodeRequest {
  readonly #request: ExpressRequest

  constructor(request: ExpressRequest, underWay: UnderWay) {
    super(request, underWay)
    this.#request = request
  }

  override async body(maxBytes: number): Promise<Uint8Array | null> {
    // A parser that does not handle the content type leaves `body` set and the stream unread.
    if (!this.#request.readableEnded) return super.body(maxBytes)
    const { rawBody, body } = this.#request
    // Hosts keep other things under that name too.
    if (rawBody instanceof Uint8Array) return rawBody
    // Whatever has read it was no parser.
    if (body === undefined) return super.body(maxBytes)
    return encode(body, this.header('Content-Type') ?? '')
  }
}

/** Converts a parsed body back to bytes, so that the same rules apply to it as to one that was not parsed. */
function encode(body: unknown, contentType: string): Uint8Array {
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  const isForm = contentType.toLowerCase().includes('urlencoded')
  return Buffer.from(isForm ? encodeForm(body as object) : JSON.stringify(body))
}

function encodeForm(fields: object): string {
  const pairs = Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string') return [[name, value]]
    // An array is a name sent twice. `name[]` and `name[a]`, which some parsers turn into lists and objects, are names
    // of their own.
    if (Array.isArray(value) && value.length > 1) return value.map((each) => [name, String(each)])
    return [[`${name}[]`, '']]
  })
  return new URLSearchParams(pairs).toString()
}
