/**
 * The storage port: all that an adapter for another database imports.
 *
 * @module utility-api/storage
 */
export type {
  AuthorizationCode,
  Client,
  Credential,
  CredentialKind,
  NewAccessToken,
} from './domain/access.ts'
export type { License, LicensePatch } from './domain/license.ts'
export { StorageError } from './ports/storage.ts'
export type {
  AdminStorage,
  CredentialReference,
  InsertLicenseResult,
  LicenseList,
  LicensePage,
  LicenseUpdate,
  MaybePromise,
  NewIdempotencyKey,
  PurgeCounts,
  StorageErrorKind,
  UpdateLicenseResult,
  UtilityStorage,
} from './ports/storage.ts'
