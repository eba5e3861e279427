/**
 * A resolver to ask, and how to label it.
 *
 * @group DNS
 */
export interface ResolverLocation {
  /** Place label, sent as `location`. */
  readonly location: string
  /** The resolver's IPv4 or IPv6 address; a link-local one names its interface, as in `fe80::1%eth0`. */
  readonly ip: string
  /** Name of the operator, sent as `provider`. */
  readonly provider: string
  /** UDP and TCP port. Default: 53. */
  readonly port?: number
  /** URL at which the resolver answers over HTTPS. Only used by a client that asks so. Default: none. */
  readonly doh?: string
  /** A network such as `192.0.2.0/24` to ask on behalf of (EDNS Client Subnet, RFC 7871). Default: none is sent. */
  readonly clientSubnet?: string
}
