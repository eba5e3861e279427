/**
 * What every mount can be told.
 *
 * @group Mounts
 */
export interface MountOptions {
  /**
   * How many proxies of your own stand before the server. The client's address is then that many entries from the right
   * of `X-Forwarded-For`; what stands further left was written by strangers. Default: 0, no header is trusted.
   */
  readonly trustProxy?: number
}
