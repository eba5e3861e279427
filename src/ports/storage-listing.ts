import type { Client, Credential, CredentialKind, Reseller } from '../domain/access.ts'
import type { License } from '../domain/license.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { StorageCall } from './storage-call.ts'

/**
 * The lists of a store, a page at a time, oldest first.
 *
 * Every list MUST page by keyset: following `next` visits each row that existed at the first call, and was not deleted
 * meanwhile, exactly once, whatever comes and goes. `next` is absent on the last page; its form is the store's own.
 *
 * Oldest first means in order of insertion for licenses, of which many can share one `createdAt`; for the others in
 * order of `createdAt` or of insertion, whichever the store can do.
 *
 * @group Storage
 */
export interface StorageListing {
  /** Clients, revoked ones included. */
  clients(page: ListPage, call: StorageCall): MaybePromise<ClientList>
  /** Resellers. */
  resellers(page: ListPage, call: StorageCall): MaybePromise<ResellerList>
  /** Credentials of one kind, revoked and expired ones included. */
  credentials(page: CredentialPage, call: StorageCall): MaybePromise<CredentialList>
  /** Licenses. */
  licenses(page: LicensePage, call: StorageCall): MaybePromise<LicenseList>
  /** How many licenses there are. */
  countLicenses(of: { readonly resellerId?: string }, call: StorageCall): MaybePromise<number>
}

/**
 * Which page of a list.
 *
 * @group Storage
 */
export interface ListPage {
  /** `next` of the page before; what can be none is refused as `invalid`. Default: from the start. */
  readonly after?: string
  /** How many at most; a positive integer. */
  readonly limit: number
}

/**
 * Which credentials to list.
 *
 * @group Storage
 */
export interface CredentialPage extends ListPage {
  /** The kind. */
  readonly kind: CredentialKind
  /** Only this owner's. Default: everyone's. */
  readonly ownerId?: string
}

/**
 * Which licenses to list.
 *
 * @group Storage
 */
export interface LicensePage extends ListPage {
  /** Only this reseller's. Default: everyone's. */
  readonly resellerId?: string
}

/**
 * A client in a list: all but its secrets.
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
}

/**
 * A page of clients.
 *
 * @group Storage
 */
export interface ClientList {
  /** The clients, oldest first. */
  readonly clients: ListedClient[]
  /** Where the next page starts; absent when this is the last. */
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
  /** Where the next page starts; absent when this is the last. */
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
  /** Where the next page starts; absent when this is the last. */
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
  /** Where the next page starts; absent when this is the last. */
  readonly next?: string
}
