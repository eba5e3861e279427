import type { Client, Credential, CredentialKind, Reseller } from '../domain/credentials.ts'
import type { License } from '../domain/license.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import type { StorageCall } from './storage-call.ts'

/**
 * The lists of a store, one page at a time, oldest first.
 *
 * Every list MUST page by keyset. Following `next` visits each row that existed at the first call, and was not deleted
 * meanwhile, exactly once, whatever rows are added or deleted. `next` is absent on the last page. Each store chooses
 * its own format for it: text of at most 1,024 characters.
 *
 * For licenses, oldest first means in order of insertion, because many licenses can share one `createdAt`. The other
 * lists are in order of `createdAt` or of insertion, whichever the store can do.
 *
 * @group Storage
 */
export interface StorageListing {
  /** Returns a page of clients, including revoked ones. */
  clients(page: ListPage, call: StorageCall): MaybePromise<ClientList>
  /** Returns a page of resellers. */
  resellers(page: ListPage, call: StorageCall): MaybePromise<ResellerList>
  /** Returns a page of the credentials of one kind, including revoked and expired ones. */
  credentials(page: CredentialPage, call: StorageCall): MaybePromise<CredentialList>
  /**
   * Returns a page of licenses. Filters combine: a license is listed if it passes all that are given.
   *
   * MUST compare `comparedDomains` with the form that came with the license's current `domainOrIp`, and never list a
   * license by the domain that it had before. With `endsBefore`, the order is that of the ends.
   */
  licenses(page: LicensePage, call: StorageCall): MaybePromise<LicenseList>
  /** Returns the number of licenses. */
  countLicenses(of: { readonly resellerId?: string }, call: StorageCall): MaybePromise<number>
}

/**
 * Which page of a list to return.
 *
 * @group Storage
 */
export interface ListPage {
  /**
   * `next` of the previous page, at most 1,024 characters. A value that cannot be one is refused as `invalid`. Default:
   * from the start.
   */
  readonly after?: string
  /** The maximum number of rows; a positive integer. */
  readonly limit: number
}

/**
 * Which credentials to list.
 *
 * @group Storage
 */
export interface CredentialPage extends ListPage {
  /** The kind of the credentials. */
  readonly kind: CredentialKind
  /** Only this owner's credentials. Default: everyone's. */
  readonly ownerId?: string
}

/**
 * Which licenses to list.
 *
 * @group Storage
 */
export interface LicensePage extends ListPage {
  /** Only this reseller's licenses. Default: everyone's. */
  readonly resellerId?: string
  /** Only licenses whose compared domain is one of these: one to four, which differ. Default: all. */
  readonly comparedDomains?: readonly string[]
  /** Only licenses with this status. Default: all. */
  readonly status?: string
  /** Only licenses with this reference. Default: all. */
  readonly reference?: string
  /**
   * Only licenses that end before this time, in milliseconds since the epoch, in order of their end. Comes with no filter
   * but `endsFrom` and `resellerId`. Default: all, oldest first.
   */
  readonly endsBefore?: number
  /** With `endsBefore`: only those that end at this time or later. Default: all that end. */
  readonly endsFrom?: number
}

/**
 * A client in a list, without its secrets.
 *
 * @group Storage
 */
export type ListedClient = Omit<Client, 'secretHashes'>

/**
 * A credential in a list.
 *
 * @group Storage
 */
export interface ListedCredential extends Credential {
  /** Its kind. */
  readonly kind: CredentialKind
  /**
   * The last day on which it was used: the time at which that day began (UTC), in milliseconds since the epoch. Null if
   * it never was, for access tokens, and in a store that does not record uses.
   */
  readonly lastUsedOn: number | null
}

/**
 * A page of clients.
 *
 * @group Storage
 */
export interface ClientList {
  /** The clients, oldest first. */
  readonly clients: ListedClient[]
  /** Where the next page starts; absent on the last page. */
  readonly next?: string
}

/**
 * A page of resellers.
 *
 * @group Storage
 */
export interface ResellerList {
  /** The resellers, oldest first. */
  readonly resellers: Reseller[]
  /** Where the next page starts; absent on the last page. */
  readonly next?: string
}

/**
 * A page of credentials.
 *
 * @group Storage
 */
export interface CredentialList {
  /** The credentials, oldest first. */
  readonly credentials: ListedCredential[]
  /** Where the next page starts; absent on the last page. */
  readonly next?: string
}

/**
 * A page of licenses.
 *
 * @group Storage
 */
export interface LicenseList {
  /** The licenses, oldest first. */
  readonly licenses: License[]
  /** Where the next page starts; absent on the last page. */
  readonly next?: string
}
