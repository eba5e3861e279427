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
  api: UtilityApi,
  options: MountOptions & { readonly fallthrough?: boolean },
  known: readonly string[],
): void {
  if (typeof (api as Partial<UtilityApi> | undefined)?.dispatch !== 'function')
    throw invalid('api must be what createUtilityApi returns.')
  // A list has no options, and a number is easily taken for `trustProxy`.
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid('options: must be an object.')
  const stranger = Object.keys(options).find((name) => !known.includes(name))
  if (stranger !== undefined) throw invalid(`${stranger}: is not an option of this mount.`)
  const { trustProxy = 0, fallthrough = false } = options
  if (!Number.isInteger(trustProxy) || trustProxy < 0)
    throw invalid('trustProxy: must be a number of proxies, 0 or more.')
  if (typeof fallthrough !== 'boolean') throw invalid('fallthrough: must be true or false.')
}

/** Not a `UtilityApiError`: importing that would bring the whole library into the entry of each mount. */
function invalid(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: 'invalid_options' })
}
