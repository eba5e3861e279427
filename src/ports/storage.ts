import type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  NewAccessToken,
} from '../domain/access.ts'
import type { License, LicensePatch } from '../domain/license.ts'

/**
 * A value, or a promise of it: a synchronous driver need not pretend to wait.
 *
 * @group Storage
 */
export type MaybePromise<Value> = Value | Promise<Value>

/**
 * What the five operations need of a database: seven methods.
 *
 * Policy (comparing secrets, expiry, PKCE, permissions) stays in the core; a store keeps facts and decides races.
 *
 * For every method:
 * - Hashes are 32 bytes, any value of each byte; compare them whole.
 * - Times are integer milliseconds since the epoch and come from the caller, never from the database's clock.
 * - Text is any Unicode without NUL and lone surrogates, and comes back unchanged. Identifiers and keys are compared
 *   byte for byte, case included.
 * - What is returned is a copy: changing it never changes the store.
 * - Once a method has answered, its effect survives a crash of the process (and of the machine, if the store claims to be
 *   durable).
 * - A method that cannot do its work throws or rejects with a {@link StorageError}, having changed nothing, or not
 *   knowing whether it did (a connection lost during commit).
 * - Any number of calls run at once, from many processes where the store is shared.
 *
 * @see {@link AdminStorage} for what provisioning adds
 *
 * @group Storage
 */
export interface UtilityStorage {
  /** The client with this identifier, revoked ones included; null when there is none. */
  findClient(clientId: string): MaybePromise<Client | null>
  /** The code with this hash, spent and expired ones included; null when there is none. */
  findAuthorizationCode(codeHash: Uint8Array): MaybePromise<AuthorizationCode | null>
  /**
   * Spends a code and stores the token it buys.
   *
   * MUST be one atomic step: mark the code as redeemed if it was not, and insert the token bound to the code, or do
   * neither. MUST return true to exactly one caller per code, however many race over however many processes; false to
   * the others, and for an unknown code. Expiry is not judged here. A token whose hash or id exists is a `conflict`, and its
   * code stays unspent.
   */
  redeemAuthorizationCode(codeHash: Uint8Array, at: number, token: NewAccessToken): MaybePromise<boolean>
  /**
   * Revokes the access tokens a code has bought; those already revoked keep their time.
   *
   * Returns how many it revoked. Idempotent: a repeat returns 0.
   */
  revokeAccessTokensOfCode(codeHash: Uint8Array, at: number): MaybePromise<number>
  /**
   * The credential of this kind with this hash, revoked and expired ones included; null when there is none.
   *
   * MUST NOT find a credential of another kind. A token is found as soon as its redemption has answered.
   */
  findCredential(kind: CredentialKind, hash: Uint8Array): MaybePromise<Credential | null>
  /**
   * Stores a new licence.
   *
   * MUST decide in the same step that writes: `'key_taken'` when the license key exists, and the row that exists stays
   * as it is. With `idempotency`, MUST first look for a row of the same reseller and key hash that has not expired at
   * `license.createdAt`: if there is one, nothing is written and its first answer comes back as `replay`, unchanged by
   * later updates of the licence; otherwise the idempotency row is stored with the licence, both or neither. Among
   * racing callers with one idempotency key exactly one inserts, and the others get its answer.
   */
  insertLicense(license: License, idempotency?: NewIdempotencyKey): MaybePromise<InsertLicenseResult>
  /**
   * Changes the sent fields of a licence, if the reseller owns it.
   *
   * MUST test ownership and write in one step, and MUST change no column that was not sent, so that parallel updates of
   * different fields both stay. `updatedAt` becomes `at`.
   */
  updateLicense(update: LicenseUpdate): MaybePromise<UpdateLicenseResult>
  /** Throws when the store cannot answer. Optional: without it, a store counts as healthy. */
  ping?(): MaybePromise<void>
}

/**
 * An idempotency key about to be stored with the licence it brings forth.
 *
 * @group Storage
 */
export interface NewIdempotencyKey {
  /** The reseller who sent it; the same key of another reseller is another key. */
  readonly resellerId: string
  /** SHA-256 of the key: 32 bytes. */
  readonly keyHash: Uint8Array
  /** SHA-256 of the request it came with: 32 bytes. Stored and given back, never judged by the store. */
  readonly requestHash: Uint8Array
  /** First millisecond at which the key is forgotten. */
  readonly expiresAt: number
}

/**
 * What came of {@link UtilityStorage.insertLicense}.
 *
 * @group Storage
 */
export type InsertLicenseResult =
  'inserted' | 'key_taken' | { readonly replay: License; readonly requestHash: Uint8Array }

/**
 * A change of one licence by one reseller.
 *
 * @group Storage
 */
export interface LicenseUpdate {
  /** The key, in its stored form. */
  readonly licenseKey: string
  /** Who asks for the change. */
  readonly resellerId: string
  /** The fields to change; at least one. */
  readonly patch: LicensePatch
  /** The time of the change. */
  readonly at: number
}

/**
 * What came of {@link UtilityStorage.updateLicense}.
 *
 * @group Storage
 */
export type UpdateLicenseResult = 'updated' | 'not_found' | 'not_owner'

/**
 * What provisioning needs beyond {@link UtilityStorage}; everything said there holds here too.
 *
 * @group Storage
 */
export interface AdminStorage extends UtilityStorage {
  /** Stores a new client. MUST decide in the same step that writes; `'taken'` leaves the existing one as it is. */
  insertClient(client: Client): MaybePromise<'inserted' | 'taken'>
  /** Replaces a client's secrets. False: there is no such client. */
  setClientSecrets(clientId: string, secretHashes: readonly Uint8Array[]): MaybePromise<boolean>
  /** Revokes a client. False: there is none, or it was revoked before and keeps its time. */
  revokeClient(clientId: string, at: number): MaybePromise<boolean>
  /** Stores a new code as it is given. A code that exists is a `conflict`. */
  insertAuthorizationCode(codeHash: Uint8Array, code: AuthorizationCode): MaybePromise<void>
  /** Stores a new credential. A hash of that kind, or an id, that exists is a `conflict`. */
  insertCredential(kind: CredentialKind, hash: Uint8Array, credential: Credential): MaybePromise<void>
  /** Revokes the credential with this id, or all with this hash, of any kind. False: there is none that was live. */
  revokeCredential(which: CredentialReference, at: number): MaybePromise<boolean>
  /** The licence with this key; null when there is none. */
  getLicense(licenseKey: string): MaybePromise<License | null>
  /**
   * A page of licences in order of creation.
   *
   * That is the order of insertion: many licences can share one `createdAt`. MUST page by keyset: following `next` visits every licence that existed at the first call exactly once, whatever is
   * inserted meanwhile. `next` is absent on the last page; its form is the store's own.
   */
  listLicenses(page: LicensePage): MaybePromise<LicenseList>
  /**
   * Deletes what can no longer be used at `at`: codes and access tokens past their expiry, and forgotten idempotency keys.
   *
   * A spent code MUST stay as long as a token it bought can be used, so that a replay can still revoke it. Licences,
   * clients, reseller tokens and API keys always stay.
   */
  purgeExpired(at: number): MaybePromise<PurgeCounts>
  /**
   * Refuses further calls with `unavailable`; those under way still finish. MUST be idempotent. A database that was handed
   * in stays open: who opens closes.
   */
  close?(): MaybePromise<void>
}

/**
 * Names a credential by the hash of its secret or by its id.
 *
 * @group Storage
 */
export type CredentialReference = { readonly hash: Uint8Array } | { readonly id: string }

/**
 * Which licences to list.
 *
 * @group Storage
 */
export interface LicensePage {
  /** Only this reseller's. Default: everyone's. */
  readonly resellerId?: string
  /** `next` of the page before; what can be none is refused as `invalid`. Default: from the start. */
  readonly after?: string
  /** How many at most; a positive integer. */
  readonly limit: number
}

/**
 * A page of licences.
 *
 * @group Storage
 */
export interface LicenseList {
  /** The licences, oldest first. */
  readonly licenses: License[]
  /** Where the next page starts; absent when this is the last. */
  readonly next?: string
}

/**
 * How many rows {@link AdminStorage.purgeExpired} deleted.
 *
 * @group Storage
 */
export interface PurgeCounts {
  /** Authorization codes. */
  readonly codes: number
  /** Access tokens. */
  readonly tokens: number
  /** Idempotency keys. */
  readonly idempotency: number
}

/**
 * Why a store failed.
 *
 * - `unavailable`: busy, full, closed, unreachable, or out of time.
 * - `conflict`: the row exists, or a transaction lost against another.
 * - `invalid`: the store cannot hold the value, or its schema is not the one expected.
 * - `bug`: anything else.
 *
 * @group Storage
 */
export type StorageErrorKind = 'unavailable' | 'conflict' | 'invalid' | 'bug'

/**
 * What a storage method throws when it cannot do its work. Anything else it throws counts as a `bug`.
 *
 * @example
 * ```ts
 * throw new StorageError('unavailable', 'The database is locked.', { retryable: true, cause: error })
 * ```
 *
 * @group Storage
 */
export class StorageError extends Error {
  override readonly name: string = 'StorageError'
  /** Why the store failed. */
  readonly kind: StorageErrorKind
  /** Whether the same call may succeed later, knowing that this one changed nothing. */
  readonly retryable: boolean

  /** Makes an error; `message` and `cause` are for the log and never sent to a client. Default of `retryable`: false. */
  constructor(
    kind: StorageErrorKind,
    message: string,
    options?: ErrorOptions & { readonly retryable?: boolean },
  ) {
    super(message, options)
    this.kind = kind
    this.retryable = options?.retryable ?? false
  }
}
