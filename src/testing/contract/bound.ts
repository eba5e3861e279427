import type { License } from '../../domain/license.ts'
import type { MaybePromise } from '../../ports/maybe-promise.ts'
import type {
  AdminStorage,
  InsertLicenseResult,
  NewIdempotencyKey,
  UtilityStorage,
} from '../../ports/storage.ts'
import { callWithin, type StorageCall, type WithoutCall } from '../../ports/storage-call.ts'
import type { StorageListing } from '../../ports/storage-listing.ts'

type Serving = WithoutCall<Omit<UtilityStorage, 'insertLicense' | 'ping'>>
type Provisioning = WithoutCall<Omit<AdminStorage, keyof UtilityStorage | 'listing' | 'close'>>

/** A store whose calls all have enough time, so that a case does not have to say how long it waits. */
export interface BoundStorage extends Serving {
  insertLicense(license: License, idempotency?: NewIdempotencyKey): MaybePromise<InsertLicenseResult>
}

/** The same store with the provisioning methods. */
export interface BoundAdmin extends BoundStorage, Provisioning {}

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
    insertLicense: (license, idempotency) => storage.insertLicense(license, idempotency, call()),
    updateLicense: (update) => storage.updateLicense(update, call()),
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
    insertCredential: (kind, hash, credential) => storage.insertCredential(kind, hash, credential, call()),
    revokeCredential: (which, at) => storage.revokeCredential(which, at, call()),
    revokeAccess: (which, at) => storage.revokeAccess(which, at, call()),
    changeLicense: (licenseKey, change, at) => storage.changeLicense(licenseKey, change, at, call()),
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
