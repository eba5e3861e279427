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
  /** What it was sold for, in the owner's own words, such as a payment. Null if nobody said it. */
  readonly reference: string | null
  /** When it ends, in milliseconds since the epoch. Null if it does not. Nothing changes by itself at that moment. */
  readonly expiresAt: number | null
}

/** Returns the license's own members, because a store may have more in its rows. */
export function toLicense(row: License): License {
  const { licenseKey, registeredTo, domainOrIp, status, resellerId } = row
  const { createdAt, updatedAt, reference, expiresAt } = row
  const fields = { licenseKey, registeredTo, domainOrIp, status, resellerId }
  return { ...fields, createdAt, updatedAt, reference, expiresAt }
}

/**
 * A new license as it is given to a store.
 *
 * @group Licenses
 */
export interface NewLicense extends License {
  /** The form of `domainOrIp` in which licenses are found by it: at most 255 characters. */
  readonly comparedDomain: string
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
 * What the owner of the service may change in any license: the fields that a reseller may change, who owns it, what it
 * was sold for and when it ends. Absent fields stay as they are.
 *
 * @group Licenses
 */
export interface LicenseChange extends LicensePatch {
  /** The reseller who owns the license from now on. */
  readonly resellerId?: string
  /** What it was sold for; null takes that away. */
  readonly reference?: string | null
  /** When it ends, in milliseconds since the epoch; null if no longer. */
  readonly expiresAt?: number | null
}

/**
 * A change as it is given to a store. With a new `domainOrIp`, and only with one, comes its compared form.
 *
 * @group Licenses
 */
export type Compared<Change extends LicensePatch> = Change & {
  /** The form of the new `domainOrIp` in which licenses are found by it; absent without one. */
  readonly comparedDomain?: string
}

/** What a store may answer to a new license that is no replay. */
export const insertOutcomes = ['inserted', 'key_taken'] as const

/** What a store may answer to a reseller's update. */
export const updateOutcomes = ['updated', 'not_found', 'not_owner'] as const
