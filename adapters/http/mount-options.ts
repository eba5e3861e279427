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
