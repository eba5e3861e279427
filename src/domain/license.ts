import { parseHostName } from './host-name.ts'
import { parseIpAddress } from './ip-address.ts'

/**
 * A licence that a reseller has issued.
 *
 * @see spec section 2.1
 *
 * @group Licences
 */
export interface License {
  /** The unique key: a text prefix and a generated part. */
  readonly licenseKey: string
  /** Name of the registered user. */
  readonly registeredTo: string
  /** Domain or IP address the licence is bound to, as it was sent. */
  readonly domainOrIp: string
  /** One of the configured statuses; `valid` and `invalid` by default. */
  readonly status: string
  /** The reseller who owns the licence. */
  readonly resellerId: string
  /** When it was generated, in milliseconds since the epoch. */
  readonly createdAt: number
  /** When it was last changed, in milliseconds since the epoch. */
  readonly updatedAt: number
}

/**
 * The fields of a licence that an update may change; absent ones stay as they are.
 *
 * @group Licences
 */
export interface LicensePatch {
  /** New name of the registered user. */
  readonly registeredTo?: string
  /** New domain or IP address. */
  readonly domainOrIp?: string
  /** New status. */
  readonly status?: string
}

/** Tells whether text is a host name (international ones judged in their ASCII form) or an IP address, and nothing else. */
export function isDomainOrIp(text: string, allowWildcards: boolean): boolean {
  const name = allowWildcards && text.startsWith('*.') ? text.slice(2) : text
  // Names first: most are, and no address is one.
  return parseHostName(name) !== null || parseIpAddress(text) !== null
}
