/**
 * The storage port: everything that an adapter for another database imports.
 *
 * @module utility-api/storage
 */
export type {
  AuthorizationCode,
  Client,
  ClientType,
  Credential,
  CredentialKind,
  NewAccessToken,
  Reseller,
} from './domain/credentials.ts'
export { comparedDomain } from './domain/compared-domain.ts'
export type { Compared, License, LicenseChange, LicensePatch, NewLicense } from './domain/license.ts'
export type { MaybePromise } from './domain/maybe-promise.ts'
export { withCheckedRows } from './storage/checked-rows.ts'
export * from './ports/storage.ts'
export { callWithin, type StorageCall } from './ports/storage-call.ts'
export type * from './ports/storage-listing.ts'
