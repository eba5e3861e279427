import type { IncomingMessage, Server } from 'node:http'
import type { RequestLike, UtilityApi } from 'utility-api'

/**
 * Options that every mount takes.
 *
 * @group Mounts
 */
export interface MountOptions<HostRequest = IncomingMessage> {
  /**
   * How many of your own proxies are in front of the server. The client's address is then that many entries from the
   * right of `X-Forwarded-For`; anything further left was written by strangers. Default: 0, no header is
   * trusted; under Express, what the application's `trust proxy` says.
   */
  readonly trustProxy?: number
  /**
   * Where the id of a request is: a header's name, or a function of the server's request. The id is sent as `X-Request-Id`
   * and logged if it has at most 64 of the characters A-Z a-z 0-9 _ . ~ : + / = -; otherwise, the request gets a new one.
   * What the function throws is logged. Default: `X-Request-Id`, as the client has sent it.
   *
   * @example
   * ```ts
   * toNodeHandler(api, { requestId: 'X-Correlation-Id' })
   * ```
   */
  readonly requestId?: string | ((request: HostRequest) => unknown)
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/

/**
 * Throws if a mount is given anything else than it takes. With a number of proxies that is none, any client could
 * choose its address.
 */
export function requireMountOptions(
  mount: string,
  api: UtilityApi,
  options: MountOptions<never> & { readonly fallthrough?: boolean },
  known: readonly string[],
): void {
  if (typeof (api as Partial<UtilityApi> | undefined)?.dispatch !== 'function')
    throw invalid(
      `api: must be what createUtilityApi returns. Write ${mount}(createUtilityApi({ storage })).`,
    )
  // A list and a map have no options, and a number is easily taken for `trustProxy`.
  if (typeof options !== 'object' || options === null || Symbol.iterator in options)
    throw invalid(`options: must be an object. Write ${mount}(api, { trustProxy: 1 }).`)
  const stranger = Object.keys(options).find((name) => !known.includes(name))
  if (stranger !== undefined)
    throw invalid(
      `${stranger}: is not an option of ${mount}, which takes ${known.join(', ')}; others go to createUtilityApi.`,
    )
  const { trustProxy = 0, requestId = 'X-Request-Id', fallthrough = false } = options
  if (!Number.isInteger(trustProxy) || trustProxy < 0)
    throw invalid('trustProxy: must be a number of proxies, 0 or more. Behind one, write { trustProxy: 1 }.')
  if (typeof requestId !== 'function' && !headerName.test(requestId))
    throw invalid(
      "requestId: must be a header's name or a function. Write { requestId: 'X-Correlation-Id' }.",
    )
  if (typeof fallthrough !== 'boolean') throw invalid('fallthrough: must be true or false.')
}

/** Returns what finds the id of a request where the option says that it is, if there is one. */
export function requestIdOf<HostRequest>(
  option: MountOptions<HostRequest>['requestId'],
  request: HostRequest,
  view: Pick<RequestLike, 'header'>,
): (() => unknown) | undefined {
  if (option === undefined) return undefined
  return typeof option === 'function' ? () => option(request) : () => view.header(option)
}

/** The error of a handler of requests of `node:http` that a host calls with a `Request`. */
export function noResponse(): TypeError {
  return invalid(
    'This handler takes a request and a response of node:http. Where there is a Request, write api.fetch(request).',
  )
}

/** Throws unless this is a server of `node:http`, or one like it. */
export function requireServer(server: Partial<Server> | undefined): void {
  if (typeof server?.prependListener === 'function') return
  throw invalid('server: must be what createServer of node:http returns. Write guardConnections(server).')
}

/** Not a `UtilityApiError`: importing that would bring the whole library into the entry of each mount. */
function invalid(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: 'invalid_options' })
}
