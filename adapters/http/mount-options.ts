import type { Server } from 'node:http'
import type { UtilityApi } from 'utility-api'

/**
 * Options that every mount takes.
 *
 * @group Mounts
 */
export interface MountOptions {
  /**
   * How many of your own proxies are in front of the server. The client's address is then that many entries from the
   * right of `X-Forwarded-For`; anything further left was written by strangers. Default: 0, no header is
   * trusted; under Express, what the application's `trust proxy` says.
   */
  readonly trustProxy?: number
}

/**
 * Throws if a mount is given anything else than it takes. With a number of proxies that is none, any client could
 * choose its address.
 */
export function requireMountOptions(
  mount: string,
  api: UtilityApi,
  options: MountOptions & { readonly fallthrough?: boolean },
  known: readonly string[],
): void {
  if (typeof (api as Partial<UtilityApi> | undefined)?.dispatch !== 'function')
    throw invalid(
      `api: must be what createUtilityApi returns. Write ${mount}(createUtilityApi({ storage })).`,
    )
  // A list has no options, and a number is easily taken for `trustProxy`.
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(`options: must be an object. Write ${mount}(api, { trustProxy: 1 }).`)
  const stranger = Object.keys(options).find((name) => !known.includes(name))
  if (stranger !== undefined)
    throw invalid(
      `${stranger}: is not an option of ${mount}, which takes ${known.join(' and ')}; others go to createUtilityApi.`,
    )
  const { trustProxy = 0, fallthrough = false } = options
  if (!Number.isInteger(trustProxy) || trustProxy < 0)
    throw invalid('trustProxy: must be a number of proxies, 0 or more. Behind one, write { trustProxy: 1 }.')
  if (typeof fallthrough !== 'boolean') throw invalid('fallthrough: must be true or false.')
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
