import type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  NewAccessToken,
  Reseller,
} from '../domain/access.ts'
import type { License, LicenseChange, LicensePatch } from '../domain/license.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { StorageCall } from './storage-call.ts'
import type { StorageListing } from './storage-listing.ts'

/**
 * What serving needs of a database: eight methods.
 *
 * Policy (comparing secrets, expiry, PKCE, permissions) stays in the core; a store keeps facts and decides races.
 *
 * For every method:
 * - Hashes are 32 bytes, any value of each byte; compare them whole.
 * - Times are integer milliseconds since the epoch and come from the caller, never from the database's clock.
 * - Text is any Unicode without NUL and lone surrogates, and comes back unchanged. Identifiers and keys are compared
 *   byte for byte, case included. Identifiers, resellers and subjects have at most 255 ASCII characters, names and the
 *   texts of a license 255 code points, license keys 128 characters, scopes 1,024, redirection URIs 2,048, ten for each
 *   client; nothing longer ever comes.
 * - What is returned is a copy: changing it never changes the store.
 * - Once a method has answered, its effect survives a crash of the process (and of the machine, if the store claims to be
 *   durable).
 * - A method that cannot do its work throws or rejects with a {@link StorageError}, having changed nothing, or not
 *   knowing whether it did (a connection lost during commit).
 * - Any number of calls run at once, from many processes where the store is shared.
 * - The last argument says how long the caller still waits. At 0 or below, what has not begun MUST NOT begin: it throws
 *   `unavailable`. A store that never makes a call wait may ignore it.
 *
 * @see {@link AdminStorage} for what provisioning adds
 *
 * @group Storage
 */
export interface UtilityStorage {
  /** The client with this identifier, revoked ones included; null when there is none. */
  findClient(clientId: string, call: StorageCall): MaybePromise<Client | null>
  /** The code with this hash, spent and expired ones included; null when there is none. */
  findAuthorizationCode(codeHash: Uint8Array, call: StorageCall): MaybePromise<AuthorizationCode | null>
  /**
   * Spends a code and stores the token it buys.
   *
   * MUST be one atomic step: mark the code as redeemed if it was not, and insert the token bound to the code, or do
   * neither. MUST return true to exactly one caller per code, however many race over however many processes; false to
   * the others, for an unknown code, and for one that {@link AdminStorage.revokeClient} or
   * {@link AdminStorage.revokeAccess} has ended. Expiry is not judged here. A token whose hash or id exists is a
   * `conflict`, and its code stays unspent.
   */
  redeemAuthorizationCode(
    codeHash: Uint8Array,
    at: number,
    token: NewAccessToken,
    call: StorageCall,
  ): MaybePromise<boolean>
  /**
   * Revokes the access tokens a code has bought; those already revoked keep their time.
   *
   * Returns how many it revoked. Idempotent: a repeat returns 0.
   */
  revokeAccessTokensOfCode(codeHash: Uint8Array, at: number, call: StorageCall): MaybePromise<number>
  /**
   * The credential of this kind with this hash, revoked and expired ones included; null when there is none.
   *
   * MUST NOT find a credential of another kind. A token is found as soon as its redemption has answered.
   */
  findCredential(kind: CredentialKind, hash: Uint8Array, call: StorageCall): MaybePromise<Credential | null>
  /**
   * Stores a new license.
   *
   * MUST decide in the same step that writes: `'key_taken'` when the license key exists, and the row that exists stays
   * as it is. With `idempotency`, MUST first look for a row of the same reseller and key hash that has not expired at
   * `license.createdAt`: if there is one, nothing is written and its first answer comes back as `replay`, unchanged by
   * later updates of the license; otherwise the idempotency row is stored with the license, both or neither. Among
   * racing callers with one idempotency key exactly one inserts, and the others get its answer.
   */
  insertLicense(
    license: License,
    idempotency: NewIdempotencyKey | undefined,
    call: StorageCall,
  ): MaybePromise<InsertLicenseResult>
  /**
   * Changes the sent fields of a license, if the reseller owns it.
   *
   * MUST test ownership and write in one step, and MUST change no column that was not sent, so that parallel updates of
   * different fields both stay. `updatedAt` becomes `at`. A license that is being deleted is `'not_found'`, never
   * `'not_owner'` to its owner.
   */
  updateLicense(update: LicenseUpdate, call: StorageCall): MaybePromise<UpdateLicenseResult>
  /** The license with this key; null when there is none. */
  findLicense(licenseKey: string, call: StorageCall): MaybePromise<License | null>
  /** Throws when the store cannot answer. Optional: without it, a store counts as healthy. */
  ping?(call: StorageCall): MaybePromise<void>
}

/**
 * An idempotency key about to be stored with the license it brings forth.
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
 * A change of one license by one reseller.
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
  insertClient(client: Client, call: StorageCall): MaybePromise<'inserted' | 'taken'>
  /**
   * Changes the sent fields of a client, revoked or not. False: there is no such client.
   *
   * MUST change nothing that was not sent: a rotation or revocation at the same time stays.
   */
  updateClient(clientId: string, patch: ClientPatch, call: StorageCall): MaybePromise<boolean>
  /**
   * Gives a client a new secret. False: there is no such client.
   *
   * MUST be one step: the new hash comes first, the one that was first stays as the second, all others go. So of racing
   * rotations the last two that answered leave the secrets that are valid. A revoked client stays revoked.
   */
  rotateClientSecret(clientId: string, newHash: Uint8Array, call: StorageCall): MaybePromise<boolean>
  /**
   * Revokes a client and ends its unspent codes. False: there is none, or it was revoked before and keeps its time.
   *
   * MUST leave no code of the client that can be redeemed once it has answered, however it raced with redemptions and
   * with {@link AdminStorage.insertAuthorizationCode}; also where the client was revoked before, or never was. A redemption that won the
   * race keeps its token.
   */
  revokeClient(clientId: string, at: number, call: StorageCall): MaybePromise<boolean>
  /**
   * Stores a new code as it is given.
   *
   * A code that exists is a `conflict`. A code of a revoked client is one too: MUST be decided in the same step that
   * writes, against a revocation at the same time. Whether the client exists is not the store's to ask.
   */
  insertAuthorizationCode(
    codeHash: Uint8Array,
    code: AuthorizationCode,
    call: StorageCall,
  ): MaybePromise<void>
  /** Stores a new reseller. MUST decide in the same step that writes; `'taken'` leaves the existing one as it is. */
  insertReseller(reseller: Reseller, call: StorageCall): MaybePromise<'inserted' | 'taken'>
  /**
   * Stores a new credential. `'no_owner'`: a reseller token whose reseller is unknown; nothing is stored.
   *
   * A hash of that kind, or an id of any kind, that exists is a `conflict`; MUST be decided in the same step that writes.
   */
  insertCredential(
    kind: CredentialKind,
    hash: Uint8Array,
    credential: Credential,
    call: StorageCall,
  ): MaybePromise<'inserted' | 'no_owner'>
  /** Revokes the credential with this id, or all with this hash, of any kind. False: there is none that was live. */
  revokeCredential(which: CredentialReference, at: number, call: StorageCall): MaybePromise<boolean>
  /**
   * Ends the unspent codes of a client or a subject and revokes its access tokens; those already revoked keep their time.
   *
   * MUST leave no token, however it raced with redemptions: a code that was stored before the call buys none once this has
   * answered, and a token that a racing redemption has stored is revoked. A store whose statements see one moment each ends
   * the codes first, which waits for redemptions under way, and looks for tokens afterwards. Where it fails half-way, a
   * repeat finishes it. Codes and tokens that have expired count too.
   */
  revokeAccess(which: AccessReference, at: number, call: StorageCall): MaybePromise<RevokeCounts>
  /**
   * Changes any license, whoever owns it. False: there is none with this key.
   *
   * MUST change no column that was not sent. `updatedAt` becomes `at`.
   */
  changeLicense(
    licenseKey: string,
    change: LicenseChange,
    at: number,
    call: StorageCall,
  ): MaybePromise<boolean>
  /**
   * Deletes a license for good. False: there is none with this key.
   *
   * The answers kept for its idempotency key stay: a repeat of its request gets the first answer, not a new license.
   */
  deleteLicense(licenseKey: string, call: StorageCall): MaybePromise<boolean>
  /**
   * Deletes what can no longer be used at `at`: codes and access tokens past their expiry, and forgotten idempotency keys.
   *
   * A spent code MUST stay as long as a token it bought can be used, so that a replay can still revoke it; once the token is
   * revoked, the code may go or stay. Licenses, clients, resellers, reseller tokens and API keys always stay.
   */
  purgeExpired(at: number, call: StorageCall): MaybePromise<PurgeCounts>
  /** The lists; absent where the store cannot order its rows. */
  readonly listing?: StorageListing
  /**
   * Refuses further calls with `unavailable`; those under way still finish. MUST be idempotent. A database that was handed
   * in stays open: who opens closes.
   */
  close?(): MaybePromise<void>
}

/**
 * The fields of a client that can be changed; absent ones stay as they are.
 *
 * @group Storage
 */
export interface ClientPatch {
  /** New label. */
  readonly name?: string
  /** New redirection URIs, in place of all. */
  readonly redirectUris?: readonly string[]
}

/**
 * Names a credential by the hash of its secret or by its id.
 *
 * @group Storage
 */
export type CredentialReference = { readonly hash: Uint8Array } | { readonly id: string }

/**
 * Names all codes and access tokens of a client, or of a subject.
 *
 * @group Storage
 */
export type AccessReference = { readonly clientId: string } | { readonly subject: string }

/**
 * What {@link AdminStorage.revokeAccess} has ended.
 *
 * @group Storage
 */
export interface RevokeCounts {
  /** Access tokens that were not revoked before. */
  readonly tokens: number
  /** Authorization codes that were unspent. */
  readonly codes: number
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
