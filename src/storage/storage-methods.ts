import type { AdminStorage, UtilityStorage } from '../ports/storage.ts'

/** The methods that a storage must have to serve. */
export const storageMethods: readonly (keyof UtilityStorage)[] = [
  'findClient',
  'findAuthorizationCode',
  'redeemAuthorizationCode',
  'revokeAccessTokensOfCode',
  'findCredential',
  'insertLicense',
  'updateLicense',
  'findLicense',
]

/** The methods that a storage must have to provision. */
export const adminStorageMethods: readonly (keyof AdminStorage)[] = [
  ...storageMethods,
  'insertClient',
  'updateClient',
  'rotateClientSecret',
  'revokeClient',
  'insertAuthorizationCode',
  'insertReseller',
  'findReseller',
  'insertCredential',
  'revokeCredential',
  'revokeAccess',
  'changeLicense',
  'deleteLicense',
  'purgeExpired',
]
