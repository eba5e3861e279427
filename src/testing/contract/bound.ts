import { compared, comparedDomain } from '../../domain/compared-domain.ts'
import type { License, LicenseChange, LicensePatch } from '../../domain/license.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import type {
  AdminStorage,
  InsertLicenseResult,
  LicenseUpdate,
  NewIdempotencyKey,
  UpdateLicenseResult,
  UtilityStorage,
} from '../../ports/storage.ts'
import { callWithin, type StorageCall, type WithoutCall } from '../../ports/storage-call.ts'
import type { StorageListing } from '../../ports/storage-listing.ts'

type Own = 'insertLicense' | 'updateLicense' | 'changeLicense'
type Serving = WithoutCall<Omit<UtilityStorage, Own | 'recordUse' | 'ping'>>
type Provisioning = WithoutCall<Omit<AdminStorage, keyof UtilityStorage | Own | 'listing' | 'close'>>

/**
 * A store whose calls all have enough time, so that a case does not have to say how long it waits. Each domain comes with
 * its compared form, as from the library.
 */
export interface BoundStorage extends Serving {
  insertLicense(license: License, idempotency?: NewIdempotencyKey): MaybePromise<InsertLicenseResult>
  updateLicense(update: LicenseUpdate & { readonly patch: LicensePatch }): MaybePromise<UpdateLicenseResult>
}

/** The same store with the provisioning methods. */
export interface BoundAdmin extends BoundStorage, Provisioning {
  changeLicense(licenseKey: string, change: LicenseChange, at: number): MaybePromise<boolean>
}

/** Notes uses; absent in a store that does not record them. */
export type RecordUse = WithoutCall<Required<Pick<UtilityStorage, 'recordUse'>>>['recordUse']

/** The lists of a store. */
export type BoundListing = WithoutCall<StorageListing>

/** Returns more time than any case takes, so that a store that hangs fails its case and not the whole run. */
export function enoughTime(): StorageCall {
  return callWithin(20_000)
}

export function bindStorage(storage: UtilityStorage, call: () => StorageCall = enoughTime): BoundStorage {
  return {
    findClient: (clientId) => storage.findClient(clientId, call()),
    findAuthorizationCode: (hash) => storage.findAuthorizationCode(hash, call()),
    redeemAuthorizationCode: (hash, at, token) => storage.redeemAuthorizationCode(hash, at, token, call()),
    revokeAccessTokensOfCode: (hash, at) => storage.revokeAccessTokensOfCode(hash, at, call()),
    findCredential: (kind, hash) => storage.findCredential(kind, hash, call()),
    insertLicense: (license, idempotency) => {
      const row = { ...license, comparedDomain: comparedDomain(license.domainOrIp) }
      return storage.insertLicense(row, idempotency, call())
    },
    updateLicense: (update) => storage.updateLicense({ ...update, patch: compared(update.patch) }, call()),
    findLicense: (licenseKey) => storage.findLicense(licenseKey, call()),
  }
}

export function bindAdmin(storage: AdminStorage, call: () => StorageCall = enoughTime): BoundAdmin {
  return {
    ...bindStorage(storage, call),
    insertClient: (client) => storage.insertClient(client, call()),
    updateClient: (clientId, patch) => storage.updateClient(clientId, patch, call()),
    rotateClientSecret: (clientId, hash) => storage.rotateClientSecret(clientId, hash, call()),
    revokeClient: (clientId, at) => storage.revokeClient(clientId, at, call()),
    insertAuthorizationCode: (hash, code) => storage.insertAuthorizationCode(hash, code, call()),
    insertReseller: (reseller) => storage.insertReseller(reseller, call()),
    findReseller: (resellerId) => storage.findReseller(resellerId, call()),
    insertCredential: (kind, hash, credential) => storage.insertCredential(kind, hash, credential, call()),
    revokeCredential: (which, at) => storage.revokeCredential(which, at, call()),
    revokeAccess: (which, at) => storage.revokeAccess(which, at, call()),
    changeLicense: (licenseKey, change, at) =>
      storage.changeLicense(licenseKey, compared(change), at, call()),
    deleteLicense: (licenseKey) => storage.deleteLicense(licenseKey, call()),
    purgeExpired: (at) => storage.purgeExpired(at, call()),
  }
}

export function bindListing(listing: StorageListing): BoundListing {
  return {
    clients: (page) => listing.clients(page, enoughTime()),
    resellers: (page) => listing.resellers(page, enoughTime()),
    credentials: (page) => listing.credentials(page, enoughTime()),
    licenses: (page) => listing.licenses(page, enoughTime()),
    countLicenses: (of) => listing.countLicenses(of, enoughTime()),
  }
}
