import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { MaybePromise } from '../../ports/maybe-promise.ts'
import { bindStorage, type BoundAdmin, type BoundListing, type BoundStorage } from './bound.ts'
import {
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeLicense,
  makeReseller,
  makeToken,
  nameOf,
  race,
  rejectsAs,
  type ContractCase,
} from './context.ts'

type Calls<Storage> = Readonly<Record<string, (storage: Storage) => MaybePromise<unknown>>>

const calls: Calls<BoundStorage> = {
  findClient: (storage) => storage.findClient('client'),
  findAuthorizationCode: (storage) => storage.findAuthorizationCode(hashOf(1)),
  redeemAuthorizationCode: (storage) => storage.redeemAuthorizationCode(hashOf(1), 5, makeToken(1)),
  revokeAccessTokensOfCode: (storage) => storage.revokeAccessTokensOfCode(hashOf(1), 5),
  findCredential: (storage) => storage.findCredential('api_key', hashOf(1)),
  insertLicense: (storage) => storage.insertLicense(makeLicense('key')),
  updateLicense: (storage) =>
    storage.updateLicense({ licenseKey: 'key', resellerId: 'reseller', patch: { status: 'new' }, at: 5 }),
  findLicense: (storage) => storage.findLicense('key'),
}

const adminCalls: Calls<BoundAdmin> = {
  insertClient: (storage) => storage.insertClient(makeClient()),
  updateClient: (storage) => storage.updateClient('client', { name: 'Shop' }),
  rotateClientSecret: (storage) => storage.rotateClientSecret('client', hashOf(1)),
  revokeClient: (storage) => storage.revokeClient('client', 5),
  insertAuthorizationCode: (storage) => storage.insertAuthorizationCode(hashOf(1), makeCode()),
  insertReseller: (storage) => storage.insertReseller(makeReseller()),
  insertCredential: (storage) => storage.insertCredential('api_key', hashOf(1), makeCredential('key')),
  revokeCredential: (storage) => storage.revokeCredential({ id: 'key' }, 5),
  revokeAccess: (storage) => storage.revokeAccess({ subject: 'somebody' }, 5),
  changeLicense: (storage) => storage.changeLicense('key', { status: 'new' }, 5),
  deleteLicense: (storage) => storage.deleteLicense('key'),
  purgeExpired: (storage) => storage.purgeExpired(5),
}

const listingCalls: Calls<BoundListing> = {
  clients: (listing) => listing.clients({ limit: 5 }),
  resellers: (listing) => listing.resellers({ limit: 5 }),
  credentials: (listing) => listing.credentials({ kind: 'api_key', limit: 5 }),
  licenses: (listing) => listing.licenses({ limit: 5 }),
  countLicenses: (listing) => listing.countLicenses({}),
}

async function allUnavailable<Storage>(storage: Storage, all: Calls<Storage>): Promise<void> {
  await inTurn(Object.entries(all), ([name, call]) => rejectsAs('unavailable', () => call(storage), name))
}

/** Twenty writes whose callers go away as soon as they have asked; whether each was done, as the caller was told. */
async function askAndLeave(
  write: (index: number, storage: BoundStorage) => MaybePromise<unknown>,
  storage: Parameters<typeof bindStorage>[0],
): Promise<boolean[]> {
  let timeLeft = 20_000
  const bound = bindStorage(storage, () => ({ timeLeftMs: () => timeLeft }))
  const outcomes = race(20, async (index) => {
    try {
      await write(index, bound)
      return true
    } catch (error) {
      await rejectsAs('unavailable', () => Promise.reject(error), 'out of time')
      return false
    }
  })
  timeLeft = 0
  return outcomes
}

export const failureCases: readonly ContractCase[] = [
  {
    name: 'a closed store says unavailable, or a shutdown tells customers that their keys do not exist',
    needs: ['admin', 'close'],
    async run({ admin, close }) {
      await close()
      await allUnavailable(admin, { ...calls, ...adminCalls })
      await close()
    },
  },
  {
    name: 'a closed store does not list either, or a report of a shutdown moment says there are no customers',
    needs: ['listing', 'close'],
    async run({ listing, close }) {
      await close()
      await allUnavailable(listing, listingCalls)
    },
  },
  {
    name: 'a store without its database says unavailable, or an outage looks like a wrong password',
    needs: ['disconnect'],
    async run({ storage, disconnect }) {
      await storage.findClient(nameOf('client'))
      await disconnect()
      await allUnavailable(storage, calls)
    },
  },
  {
    name: 'every method of provisioning says unavailable without its database, or an outage looks like no such row',
    needs: ['admin', 'disconnect'],
    async run({ admin, disconnect, listing }) {
      await admin.findClient(nameOf('client'))
      await disconnect()
      await allUnavailable(admin, adminCalls)
      if ((listing as BoundListing | undefined) !== undefined) await allUnavailable(listing, listingCalls)
    },
  },
  {
    name: 'a write that nobody waits for is done and answered or never begins, or refused customers have bought',
    async run({ storage, unbound }) {
      const done = await askAndLeave(
        (index, bound) => bound.insertLicense(makeLicense(nameOf(`key-${index}`))),
        unbound,
      )
      // Behind whatever still waits in a queue, so that what is done late is done by now.
      await race(20, (index) => storage.insertLicense(makeLicense(nameOf(`later-${index}`))))
      const found = await race(20, (index) => storage.findLicense(nameOf(`key-${index}`)))
      deepStrictEqual(
        found.map((license) => license !== null),
        done,
      )
    },
  },
  {
    name: 'a code whose exchange came too late stays unspent, or an overload costs customers their only code',
    needs: ['seed'],
    async run({ storage, seed, unbound }) {
      await race(20, (index) => seed.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      const done = await askAndLeave(
        (index, bound) => bound.redeemAuthorizationCode(hashOf(100 + index), 5, makeToken(index)),
        unbound,
      )
      await inTurn(done.entries(), async ([index, wasDone]) => {
        const again = await storage.redeemAuthorizationCode(hashOf(100 + index), 6, makeToken(100 + index))
        strictEqual(again, !wasDone)
      })
    },
  },
  {
    name: 'a healthy store answers its ping, or a working server is taken out of service',
    needs: ['ping'],
    run: async ({ ping }) => ping(),
  },
  {
    name: 'the ping of a store without its database fails, or a dead server goes on getting requests',
    needs: ['ping', 'disconnect'],
    async run({ ping, disconnect }) {
      await disconnect()
      await rejectsAs('unavailable', ping, 'ping')
    },
  },
]
