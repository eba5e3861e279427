import type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  NewAccessToken,
  Reseller,
} from '../domain/credentials.ts'
import type {
  Compared,
  insertOutcomes,
  License,
  LicenseChange,
  LicensePatch,
  NewLicense,
  updateOutcomes,
} from '../domain/license.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import type { StorageCall } from './storage-call.ts'
import type { StorageListing } from './storage-listing.ts'

/**
 * The eight methods that serving requests needs from a database.
 *
 * Policy (comparing secrets, expiry, PKCE, permissions) stays in the core. A store keeps facts and decides races.
 *
 * For every method:
 * - Hashes are 32 bytes with any value in each byte. Compare them whole.
 * - Times are integer milliseconds since the epoch and come from the caller, never from the database's clock.
 * - Text is any Unicode without NUL and lone surrogates, and is returned unchanged. Identifiers and keys are compared
 *   byte for byte, including case. Identifiers, resellers and subjects have at most 255 ASCII characters; names, the
 *   texts of a license and compared domains, 255 code points; license keys, 128 characters; scopes, 1,024; redirection
 *   URIs, 2,048, with at most ten per client. Nothing longer is ever passed in.
 * - A member of a patch or change that is there but undefined counts as absent, because TypeScript lets callers pass it
 *   unless `exactOptionalPropertyTypes` is on.
 * - Returned values are copies, so changing one never changes the store. Arguments do not change until the method has
 *   answered; a store that keeps one longer copies it.
 * - Once a method has answered, its effect survives a crash of the process (and of the machine, if the store claims to
 *   be durable).
 * - A method that cannot do its work throws or rejects with a {@link StorageError}. It has then changed nothing, or
 *   does not know whether it did (a connection lost during commit).
 * - Any number of calls run at once, from many processes if the store is shared.
 * - The last argument says how long the caller still waits. At 0 or below, work that has not begun MUST NOT begin, and
 *   the method throws `unavailable`. A store that never makes a call wait may ignore this argument.
 *
 * @see {@link AdminStorage} for what provisioning adds
 *
 * @group Storage
 */
export interface UtilityStorage {
  /** Returns the client with this identifier, or null if none exists. Includes revoked clients. */
  findClient(clientId: string, call: StorageCall): MaybePromise<Client | null>
  /** Returns the code with this hash, or null if none exists. Includes spent and expired codes. */
  findAuthorizationCode(codeHash: Uint8Array, call: StorageCall): MaybePromise<AuthorizationCode | null>
  /**
   * Spends a code and stores the token it buys.
   *
   * MUST be one atomic step. Mark the code as redeemed if it was not, and insert the token bound to the code, or do
   * neither. MUST return true to exactly one caller per code, however many race across however many processes, and
   * false to the others, for an unknown code, and for a code that {@link AdminStorage.revokeClient} or
   * {@link AdminStorage.revokeAccess} has ended. Expiry is not checked here. A token whose hash or id already exists is
   * a `conflict`, and its code stays unspent.
   */
  redeemAuthorizationCode(
    codeHash: Uint8Array,
    at: number,
    token: NewAccessToken,
    call: StorageCall,
  ): MaybePromise<boolean>
  /**
   * Revokes the access tokens a code has bought. Tokens already revoked keep their revocation time.
   *
   * Returns how many it revoked. Idempotent: a repeat returns 0.
   */
  revokeAccessTokensOfCode(codeHash: Uint8Array, at: number, call: StorageCall): MaybePromise<number>
  /**
   * Returns the credential of this kind with this hash, or null if none exists. Includes revoked and expired
   * credentials.
   *
   * MUST NOT find a credential of another kind. A token is found as soon as its redemption has answered.
   */
  findCredential(kind: CredentialKind, hash: Uint8Array, call: StorageCall): MaybePromise<Credential | null>
  /**
   * Stores a new license. `comparedDomain` is stored with it, for {@link StorageListing.licenses}; the licenses that a
   * store returns do not have it.
   *
   * MUST decide in the same step that writes: `'key_taken'` if the license key exists, and the existing row stays as it
   * is. With `idempotency`, MUST first look for a row with the same `idempotency.resellerId` and `idempotency.keyHash`
   * that has not expired at `idempotency.at`. If one exists, nothing is written and the key of its license is returned as
   * `replay`, whatever has become of that license. Otherwise the idempotency row is stored with the license, both or
   * neither; it holds no name. Among racing callers with the same idempotency key, exactly one inserts, and the others
   * get its license key.
   */
  insertLicense(
    license: NewLicense,
    idempotency: NewIdempotencyKey | undefined,
    call: StorageCall,
  ): MaybePromise<InsertLicenseResult>
  /**
   * Changes the sent fields of a license if the reseller owns it.
   *
   * MUST test ownership and write in one step, and MUST change no column that was not sent, so that parallel updates of
   * different fields are both kept. A new `domainOrIp` comes with its compared form, which replaces the previous one in
   * the same step. `updatedAt` becomes `at`. A license that is being deleted is `'not_found'`, and never `'not_owner'`
   * to its owner.
   */
  updateLicense(update: LicenseUpdate, call: StorageCall): MaybePromise<UpdateLicenseResult>
  /** Returns the license with this key, or null if none exists. */
  findLicense(licenseKey: string, call: StorageCall): MaybePromise<License | null>
  /**
   * Notes that these credentials have been used, for {@link StorageListing.credentials}. Unknown ids are ignored.
   *
   * MUST never lower a time, because two servers may report the same credential in any order. `at` is the beginning of
   * the day (UTC), so a credential is written once a day however often it is used. At most 500 ids at once, each named
   * once. Optional: without it, lists do not say when a credential was last used.
   */
  recordUse?(
    kind: 'reseller_token' | 'api_key',
    ids: readonly string[],
    at: number,
    call: StorageCall,
  ): MaybePromise<void>
  /** Throws if the store cannot answer. Optional: a store without this method counts as healthy. */
  ping?(call: StorageCall): MaybePromise<void>
}

/**
 * An idempotency key to store together with the license that its request creates.
 *
 * @group Storage
 */
export interface NewIdempotencyKey {
  /** The reseller who sent it. The same key from another reseller is a different key. */
  readonly resellerId: string
  /** SHA-256 of the key: 32 bytes. */
  readonly keyHash: Uint8Array
  /** SHA-256 of the request it came with: 32 bytes. The store keeps and returns it, but never interprets it. */
  readonly requestHash: Uint8Array
  /** The time of the request, which alone says what is forgotten by then. A license may have been created earlier. */
  readonly at: number
  /** First millisecond at which the key is forgotten. Null: never. */
  readonly expiresAt: number | null
}

/**
 * The result of {@link UtilityStorage.insertLicense}.
 *
 * @group Storage
 */
export type InsertLicenseResult =
  (typeof insertOutcomes)[number] | { readonly replay: string; readonly requestHash: Uint8Array }

/**
 * A change to one license by one reseller.
 *
 * @group Storage
 */
export interface LicenseUpdate {
  /** The key, in its stored form. */
  readonly licenseKey: string
  /** The reseller who requests the change. */
  readonly resellerId: string
  /** The fields to change; at least one. */
  readonly patch: Compared<LicensePatch>
  /** The time of the change. */
  readonly at: number
}

/**
 * The result of {@link UtilityStorage.updateLicense}.
 *
 * @group Storage
 */
export type UpdateLicenseResult = (typeof updateOutcomes)[number]

/**
 * The methods that provisioning needs in addition to {@link UtilityStorage}. Everything said there applies here too.
 *
 * A program may call these methods itself, and `insertLicense`, with rows of its own. A row, hash or time that is not
 * as described MUST be refused with a {@link StorageError} of the kind `invalid`, and nothing stored, because an expiry
 * that is lost on the way makes a token valid for ever. `withCheckedRows` does this for any storage.
 *
 * @group Storage
 */
export interface AdminStorage extends UtilityStorage {
  /** Stores a new client. MUST decide in the same step that writes; on `'taken'`, the existing one stays as it is. */
  insertClient(client: Client, call: StorageCall): MaybePromise<'inserted' | 'taken'>
  /**
   * Changes the sent fields of a client, revoked or not. Returns false if no such client exists.
   *
   * MUST change nothing that was not sent, so a rotation or revocation at the same time stays in effect.
   */
  updateClient(clientId: string, patch: ClientPatch, call: StorageCall): MaybePromise<boolean>
  /**
   * Gives a client a new secret. Returns false if no such client exists, or if it is public.
   *
   * MUST be one step, with the look at the type. The new hash comes first, the hash that was first becomes the second,
   * and all others are removed. After racing rotations, the valid secrets are therefore those of the last two that
   * answered. A revoked client stays revoked.
   */
  rotateClientSecret(clientId: string, newHash: Uint8Array, call: StorageCall): MaybePromise<boolean>
  /**
   * Revokes a client and ends its unspent codes. Returns false if no such client exists, or if it was already revoked
   * and keeps its revocation time.
   *
   * MUST leave no code of the client that can be redeemed once it has answered, however it raced with redemptions and
   * with {@link AdminStorage.insertAuthorizationCode}, even if the client was already revoked or never existed. A
   * redemption that won the race keeps its token.
   */
  revokeClient(clientId: string, at: number, call: StorageCall): MaybePromise<boolean>
  /**
   * Stores a new code as it is given.
   *
   * A code that already exists is a `conflict`. So is a code of a revoked client. This MUST be decided in the same step
   * that writes, even if the client is revoked at the same time. The store does not check whether the client exists.
   */
  insertAuthorizationCode(
    codeHash: Uint8Array,
    code: AuthorizationCode,
    call: StorageCall,
  ): MaybePromise<void>
  /** Stores a new reseller. MUST decide in the same step that writes; on `'taken'`, the existing one stays as it is. */
  insertReseller(reseller: Reseller, call: StorageCall): MaybePromise<'inserted' | 'taken'>
  /** Returns the reseller with this identifier, or null if none exists. */
  findReseller(resellerId: string, call: StorageCall): MaybePromise<Reseller | null>
  /**
   * Stores a new credential. Returns `'no_owner'` and stores nothing for a reseller token whose reseller is unknown.
   *
   * A hash that already exists for that kind, or an id that exists for any kind, is a `conflict`, which MUST be decided
   * in the same step that writes.
   */
  insertCredential(
    kind: CredentialKind,
    hash: Uint8Array,
    credential: Credential,
    call: StorageCall,
  ): MaybePromise<'inserted' | 'no_owner'>
  /**
   * Revokes the credential with this id, or all with this hash, of any kind. Returns false if none of them was live.
   */
  revokeCredential(which: CredentialReference, at: number, call: StorageCall): MaybePromise<boolean>
  /**
   * Ends the unspent codes of a client or a subject and revokes its access tokens, or revokes the tokens of a reseller.
   * Tokens already revoked keep their revocation time.
   *
   * MUST leave no token, however it raced with redemptions. A code that was stored before the call buys none once this
   * method has answered, and a token that a racing redemption has stored is revoked. A store in which each statement
   * sees a single moment ends the codes first, which waits for redemptions in progress, and looks for tokens
   * afterwards. Of a reseller, it MUST leave no token that was stored before one that it has revoked. If it fails
   * partway through, repeating the call finishes the work. Expired codes and tokens count too.
   */
  revokeAccess(which: AccessReference, at: number, call: StorageCall): MaybePromise<RevokeCounts>
  /**
   * Changes any license, regardless of its owner. Returns false if no license has this key.
   *
   * MUST change no column that was not sent; null takes a reference or an end away. `updatedAt` becomes `at`. A new
   * `domainOrIp` comes with its compared form, as in {@link UtilityStorage.updateLicense}.
   */
  changeLicense(
    licenseKey: string,
    change: Compared<LicenseChange>,
    at: number,
    call: StorageCall,
  ): MaybePromise<boolean>
  /**
   * Deletes a license permanently. Returns false if no license has this key.
   *
   * The idempotency rows that name its key stay, so a repeat of its request gets the key, not a new license.
   */
  deleteLicense(licenseKey: string, call: StorageCall): MaybePromise<boolean>
  /**
   * Deletes what can no longer be used at `at`: codes and access tokens past their expiry, and forgotten idempotency
   * keys.
   *
   * A spent code MUST stay as long as a token it bought can be used, so that a replay can still revoke that token. Once
   * the token is revoked, the code may be deleted or stay. Idempotency keys that never expire, licenses, clients,
   * resellers, reseller tokens and API keys always stay.
   */
  purgeExpired(at: number, call: StorageCall): MaybePromise<PurgeCounts>
  /** The lists; absent if the store cannot order its rows. */
  readonly listing?: StorageListing
  /**
   * Refuses further calls with `unavailable`; calls in progress still finish. MUST be idempotent. A database that was
   * passed in stays open, because the caller who opened it is responsible for closing it.
   */
  close?(): MaybePromise<void>
}

/**
 * The fields of a client that can be changed. Absent fields stay as they are.
 *
 * @group Storage
 */
export interface ClientPatch {
  /** New label. */
  readonly name?: string
  /** New redirection URIs, which replace all existing ones. */
  readonly redirectUris?: readonly string[]
}

/**
 * Identifies a credential by the hash of its secret or by its id.
 *
 * @group Storage
 */
export type CredentialReference = { readonly hash: Uint8Array } | { readonly id: string }

/**
 * Identifies all codes and access tokens of a client or of a subject, or all tokens of a reseller.
 *
 * @group Storage
 */
export type AccessReference =
  { readonly clientId: string } | { readonly subject: string } | { readonly resellerId: string }

/**
 * How many tokens and codes {@link AdminStorage.revokeAccess} ended.
 *
 * @group Storage
 */
export interface RevokeCounts {
  /** Tokens that were not revoked before. */
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
  /** Idempotency keys. Those that never expire stay. */
  readonly idempotency: number
}

/**
 * What the `migrate()` of a store resolves to.
 *
 * @group Storage
 */
export interface MigrationResult {
  /** Whether this call changed anything in the database. */
  readonly changed: boolean
  /**
   * What the owner should know about the server, a sentence each: settings by which a power cut loses what was
   * acknowledged, or what the role may not put right. They are not repeated while the service runs.
   */
  readonly warnings: readonly string[]
}

/**
 * Why a store failed.
 *
 * - `unavailable`: busy, full, closed, unreachable, or out of time.
 * - `conflict`: the row already exists, or a transaction lost to another.
 * - `invalid`: the store cannot hold the value, or its schema is not the one expected.
 * - `bug`: anything else.
 *
 * @group Storage
 */
export type StorageErrorKind = 'unavailable' | 'conflict' | 'invalid' | 'bug'

/**
 * The error that a storage method throws if it cannot do its work. Anything else it throws counts as a `bug`.
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
  /** Whether the same call may succeed later. True only if this call is known to have changed nothing. */
  readonly retryable: boolean

  /**
   * Creates an error. `message` and `cause` are for the log and never sent to a client. `retryable` defaults to false.
   */
  constructor(
    kind: StorageErrorKind,
    message: string,
    options?: { readonly cause?: unknown; readonly retryable?: boolean },
  ) {
    super(message, options)
    this.kind = kind
    this.retryable = options?.retryable ?? false
  }
}
