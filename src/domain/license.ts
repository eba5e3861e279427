/**
 * A license that a reseller has issued.
 *
 * @see docs/contract.md section 2.1
 *
 * @group Licenses
 */
export interface License {
  /** The unique key: a text prefix and a generated part. */
  readonly licenseKey: string
  /** Name of the registered user. */
  readonly registeredTo: string
  /** Domain or IP address the license is bound to, as it was sent. */
  readonly domainOrIp: string
  /** One of the configured statuses; `valid` and `invalid` by default. */
  readonly status: string
  /** The reseller who owns the license. */
  readonly resellerId: string
  /** When it was generated, in milliseconds since the epoch. */
  readonly createdAt: number
  /** When it was last changed, in milliseconds since the epoch. */
  readonly updatedAt: number
}

/**
 * The fields of a license that an update may change. Absent fields stay as they are.
 *
 * @group Licenses
 */
export interface LicensePatch {
  /** New name of the registered user. */
  readonly registeredTo?: string
  /** New domain or IP address. */
  readonly domainOrIp?: string
  /** New status. */
  readonly status?: string
}

/**
 * What the owner of the service may change in any license: the fields that a reseller may change, and who owns it.
 *
 * @group Licenses
 */
export interface LicenseChange extends LicensePatch {
  /** The reseller who owns the license from now on. */
  readonly resellerId?: string
}
