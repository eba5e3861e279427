import { inTime } from '../bounds/in-time.ts'
import { StorageError, type AdminStorage, type UtilityStorage } from '../ports/storage.ts'
import { channels, trace } from '../ports/diagnostics.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { StorageListing } from '../ports/storage-listing.ts'

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

const listingMethods = [
  'clients',
  'resellers',
  'credentials',
  'licenses',
  'countLicenses',
] as const satisfies readonly (keyof StorageListing)[]

/**
 * Wraps a storage so that no method keeps its caller waiting beyond the time of its call, and none begins after that.
 * Work that has begun is not canceled, so a write may still commit.
 */
export function timedAdminStorage(storage: AdminStorage): AdminStorage {
  const { listing } = storage
  return {
    ...methodsInTime(storage, adminStorageMethods),
    ...(listing !== undefined && { listing: methodsInTime(listing, listingMethods) }),
  }
}

type Method = (...args: [...unknown[], StorageCall]) => unknown

function methodsInTime<Methods extends object, Name extends keyof Methods & string>(
  methods: Methods,
  names: readonly Name[],
): Pick<Methods, Name> {
  const wrapped = names.map((name) => {
    // Called on its object: a storage may be an instance of a class.
    const method: Method = (...args) => (methods[name] as Method)(...args)
    return [name, (...args: Parameters<Method>) => answerInTime(name, method, args)]
  })
  return Object.fromEntries(wrapped) as Pick<Methods, Name>
}

async function answerInTime(name: string, method: Method, args: Parameters<Method>): Promise<unknown> {
  const timeLeftMs = (args.at(-1) as StorageCall).timeLeftMs()
  const late = (): StorageError =>
    new StorageError('unavailable', `The storage's ${name} did not answer in time.`)
  if (timeLeftMs <= 0) throw late()
  const ask = (): Promise<unknown> => inTime(timeLeftMs, () => method(...args), late, { keepsAlive: false })
  return channels.storage.hasSubscribers ? trace(channels.storage, { method: name }, ask) : ask()
}
