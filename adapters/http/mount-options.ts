import { UtilityApiError, type UtilityApi } from 'utility-api'

/**
 * Options that every mount takes.
 *
 * @group Mounts
 */
export interface MountOptions {
  /**
   * How many of your own proxies are in front of the server. The client's address is then that many entries from the
   * right of `X-Forwarded-For`; anything further left was written by strangers. Default: 0, no header is trusted.
   */
  readonly trustProxy?: number
}

/**
 * Throws `invalid_options` if a mount is given something else than it takes: an unknown option, or a number of proxies
 * that is none, with which any client could choose its address.
 */
export function requireMountOptions(api: UtilityApi, options: MountOptions, known: readonly string[]): void {
  if (typeof (api as Partial<UtilityApi> | undefined)?.dispatch !== 'function')
    throw new UtilityApiError('invalid_options', 'api must be what createUtilityApi returns.')
  const stranger = Object.keys(options).find((name) => !known.includes(name))
  if (stranger !== undefined)
    throw new UtilityApiError('invalid_options', `${stranger}: is not an option of this mount.`)
  const { trustProxy = 0 } = options
  if (!Number.isInteger(trustProxy) || trustProxy < 0)
    throw new UtilityApiError('invalid_options', 'trustProxy: must be a number of proxies, 0 or more.')
}
