import { ok, strictEqual } from 'node:assert/strict'
import type { CredentialKind } from '../../domain/credentials.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import { callWithin, type StorageCall } from '../../ports/storage-call.ts'
import { bindAdmin, bindStorage, type BoundAdmin, type BoundListing, type BoundStorage } from './bound.ts'
import {
  equalValues,
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeLicense,
  makeReseller,
  makeToken,
  nameOf,
  orRefused,
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
  findReseller: (storage) => storage.findReseller('reseller'),
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
  licensesOfDomain: (listing) => listing.licenses({ comparedDomains: ['a.example'], limit: 5 }),
  countLicenses: (listing) => listing.countLicenses({}),
}

async function allUnavailable<Storage>(storage: Storage, all: Calls<Storage>): Promise<void> {
  await inTurn(Object.entries(all), ([name, call]) => rejectsAs('unavailable', () => call(storage), name))
}

type Write<Bound> = (storage: Bound) => MaybePromise<unknown>

/** Makes writes whose callers leave right away. Returns whether each was done, as its caller was told. */
async function askAndLeave<Bound>(
  bind: (call: () => StorageCall) => Bound,
  writes: readonly Write<Bound>[],
): Promise<boolean[]> {
  let timeLeft = 20_000
  const bound = bind(() => ({ timeLeftMs: () => timeLeft }))
  const outcomes = writes.map(
    async (write) => (await orRefused('unavailable', async () => [await write(bound)])) !== null,
  )
  timeLeft = 0
  return Promise.all(outcomes)
}

/** Returns the same write twenty times, each with its own number. */
function twenty(
  write: (storage: BoundStorage, index: number) => MaybePromise<unknown>,
): Write<BoundStorage>[] {
  return Array.from({ length: 20 }, (_, index) => (storage) => write(storage, index))
}

/** A write to its own row, and how to see whether it was done. */
interface LateWrite {
  readonly write: Write<BoundAdmin>
  readonly isDone: () => Promise<boolean>
}

function lateName(what: string): string {
  return nameOf(`late-${what}`)
}

/** Returns every write that changes or adds a row, and inserts the rows to be changed. */
async function makeLateWrites(admin: BoundAdmin): Promise<readonly LateWrite[]> {
  await inTurn(['updated', 'rotated', 'revoked'], (what) =>
    admin.insertClient(makeClient({ clientId: lateName(what) })),
  )
  await inTurn(['changed', 'deleted', 'owned'], (what) => admin.insertLicense(makeLicense(lateName(what))))
  await admin.insertCredential('api_key', hashOf(50), makeCredential(lateName('key')))
  await admin.insertCredential(
    'access_token',
    hashOf(51),
    makeCredential(lateName('token'), { subject: 'Ada' }),
  )
  await admin.insertAuthorizationCode(hashOf(52), makeCode())
  await admin.redeemAuthorizationCode(hashOf(52), 5, makeToken(53))
  await admin.insertAuthorizationCode(hashOf(54), makeCode({ expiresAt: 1 }))
  const owned = {
    licenseKey: lateName('owned'),
    resellerId: nameOf('reseller'),
    patch: { status: 'late' },
    at: 7,
  }
  const isRevoked = async (kind: CredentialKind, hash: Uint8Array): Promise<boolean> =>
    (await admin.findCredential(kind, hash))?.revokedAt === 7
  return [
    {
      write: (late) => late.insertClient(makeClient({ clientId: lateName('client') })),
      isDone: async () => (await admin.findClient(lateName('client'))) !== null,
    },
    {
      write: (late) => late.insertReseller(makeReseller({ resellerId: lateName('reseller') })),
      isDone: async () =>
        (await admin.insertReseller(makeReseller({ resellerId: lateName('reseller') }))) === 'taken',
    },
    {
      write: (late) => late.insertAuthorizationCode(hashOf(60), makeCode()),
      isDone: async () => (await admin.findAuthorizationCode(hashOf(60))) !== null,
    },
    {
      write: (late) => late.insertCredential('api_key', hashOf(61), makeCredential(lateName('new'))),
      isDone: async () => (await admin.findCredential('api_key', hashOf(61))) !== null,
    },
    {
      write: (late) => late.updateClient(lateName('updated'), { name: 'late' }),
      isDone: async () => (await admin.findClient(lateName('updated')))?.name === 'late',
    },
    {
      write: (late) => late.rotateClientSecret(lateName('rotated'), hashOf(62)),
      isDone: async () => (await admin.findClient(lateName('rotated')))?.secretHashes.length === 2,
    },
    {
      write: (late) => late.revokeClient(lateName('revoked'), 7),
      isDone: async () => (await admin.findClient(lateName('revoked')))?.revokedAt === 7,
    },
    {
      write: (late) => late.revokeCredential({ id: lateName('key') }, 7),
      isDone: () => isRevoked('api_key', hashOf(50)),
    },
    {
      write: (late) => late.revokeAccess({ subject: 'Ada' }, 7),
      isDone: () => isRevoked('access_token', hashOf(51)),
    },
    {
      write: (late) => late.revokeAccessTokensOfCode(hashOf(52), 7),
      isDone: () => isRevoked('access_token', hashOf(53)),
    },
    {
      write: (late) => late.purgeExpired(1),
      isDone: async () => (await admin.findAuthorizationCode(hashOf(54))) === null,
    },
    {
      write: (late) => late.changeLicense(lateName('changed'), { status: 'late' }, 7),
      isDone: async () => (await admin.findLicense(lateName('changed')))?.status === 'late',
    },
    {
      write: (late) => late.deleteLicense(lateName('deleted')),
      isDone: async () => (await admin.findLicense(lateName('deleted'))) === null,
    },
    {
      write: (late) => late.updateLicense(owned),
      isDone: async () => (await admin.findLicense(lateName('owned')))?.status === 'late',
    },
  ]
}

export const failureCases: readonly ContractCase[] = [
  {
    name: 'a closed store fails with unavailable, or a shutdown tells customers that their keys do not exist',
    needs: ['admin', 'close'],
    async run({ admin, close, ping }) {
      await close()
      await allUnavailable(admin, { ...calls, ...adminCalls })
      if ((ping as typeof ping | undefined) !== undefined) await rejectsAs('unavailable', ping, 'ping')
      await close()
    },
  },
  {
    name: 'lists of a closed store fail with unavailable, or a report made during a shutdown shows no customers',
    needs: ['listing', 'close'],
    async run({ listing, close }) {
      await close()
      await allUnavailable(listing, listingCalls)
    },
  },
  {
    name: 'a store without its database fails with unavailable, or an outage looks like a wrong secret',
    needs: ['disconnect'],
    async run({ storage, disconnect }) {
      await storage.findClient(nameOf('client'))
      await disconnect()
      await allUnavailable(storage, calls)
    },
  },
  {
    name: 'every admin method fails with unavailable without its database, or an outage looks like a missing row',
    needs: ['admin', 'disconnect'],
    async run({ admin, disconnect, listing }) {
      await admin.findClient(nameOf('client'))
      await disconnect()
      await allUnavailable(admin, adminCalls)
      if ((listing as BoundListing | undefined) !== undefined) await allUnavailable(listing, listingCalls)
    },
  },
  {
    name: 'a write past its deadline is made and acknowledged or never begins, or a refused customer has a license',
    async run({ storage, unbound }) {
      const done = await askAndLeave(
        (call) => bindStorage(unbound, call),
        twenty((bound, index) => bound.insertLicense(makeLicense(nameOf(`key-${index}`)))),
      )
      // Waits behind everything still in a queue, so that late writes are done by now.
      await race(20, (index) => storage.insertLicense(makeLicense(nameOf(`later-${index}`))))
      const found = await race(20, (index) => storage.findLicense(nameOf(`key-${index}`)))
      equalValues(
        found.map((license) => license !== null),
        done,
      )
    },
  },
  {
    name: 'a code whose exchange misses its deadline stays unspent, or an overload costs clients their only code',
    needs: ['seed'],
    async run({ storage, seed, unbound }) {
      await race(20, (index) => seed.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      const done = await askAndLeave(
        (call) => bindStorage(unbound, call),
        twenty((bound, index) => bound.redeemAuthorizationCode(hashOf(100 + index), 5, makeToken(index))),
      )
      await inTurn(done.entries(), async ([index, wasDone]) => {
        const again = await storage.redeemAuthorizationCode(hashOf(100 + index), 6, makeToken(100 + index))
        strictEqual(again, !wasDone)
      })
    },
  },
  {
    name: 'a find whose caller has left finds its row or fails with unavailable, or an overload looks like a wrong secret',
    needs: ['seed'],
    async run({ storage, seed, unbound }) {
      await seed.insertClient(makeClient())
      await seed.insertAuthorizationCode(hashOf(1), makeCode())
      await seed.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      await storage.insertLicense(makeLicense(nameOf('key')))
      const finds: Write<BoundStorage>[] = [
        async (late) => ok(await late.findClient(nameOf('client')), 'the client'),
        async (late) => ok(await late.findAuthorizationCode(hashOf(1)), 'the code'),
        async (late) => ok(await late.findCredential('api_key', hashOf(1)), 'the credential'),
        async (late) => ok(await late.findLicense(nameOf('key')), 'the license'),
      ]
      await askAndLeave((call) => bindStorage(unbound, call), finds)
      await askAndLeave(() => bindStorage(unbound, () => callWithin(0)), finds)
    },
  },
  {
    name: 'a change past its deadline is made and acknowledged or never begins, or a refused change is made after all',
    needs: ['admin', 'unboundAdmin'],
    async run({ admin, unboundAdmin }) {
      const writes = await makeLateWrites(admin)
      const done = await askAndLeave(
        (call) => bindAdmin(unboundAdmin, call),
        writes.map(({ write }) => write),
      )
      // As above: waits behind everything still in a queue.
      await race(20, (index) => admin.insertLicense(makeLicense(nameOf(`later-${index}`))))
      const found = await race(writes.length, async (index) => writes[index]?.isDone())
      equalValues(found, done)
    },
  },
  {
    name: 'the ping of a healthy store succeeds, or a working server is taken out of service',
    needs: ['ping'],
    run: async ({ ping }) => ping(),
  },
  {
    name: 'the ping of a store without its database fails, or a dead server still gets requests',
    needs: ['ping', 'disconnect'],
    async run({ ping, disconnect }) {
      await disconnect()
      await rejectsAs('unavailable', ping, 'ping')
    },
  },
]
