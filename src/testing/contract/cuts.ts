import { ok, strictEqual } from 'node:assert/strict'
import { inTime } from '../../bounds/in-time.ts'
import { comparedDomain } from '../../domain/compared-domain.ts'
import type { License } from '../../domain/license.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import { StorageError, type NewIdempotencyKey } from '../../ports/storage.ts'
import { setTimeout } from '../../ports/timers.ts'
import type { BoundAdmin, BoundListing } from './bound.ts'
import {
  countOf,
  equalValues,
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeIdempotencyKey,
  makeLicense,
  makeReseller,
  makeToken,
  nameOf,
  orRefused,
  race,
  rejectsAs,
  type ContractCase,
} from './context.ts'

/** After how many replies to cut the connection: during the first call, during the second, or between two. */
const cuts = Array.from({ length: 12 }, (_, replies) => replies)

/** Longer than any answer takes, so that only calls that hang are given up. */
const hangsAfterMs = 15_000

/** Repeats a call until the connection holds. */
async function untilAnswered<Result>(ask: () => MaybePromise<Result>, attempts = 20): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (attempts === 0 || !(error instanceof StorageError) || error.kind !== 'unavailable') throw error
    return untilAnswered(ask, attempts - 1)
  }
}

/** Where a license is listed: before a change, and after it. */
interface Place {
  readonly resellerId: string
  readonly domainOrIp: string
}

function placeOf(name: string): Place {
  return { resellerId: nameOf(name), domainOrIp: `${nameOf(name)}.example` }
}

function keysOf(licenses: readonly (License | null)[]): string[] {
  return licenses.flatMap((license) => license?.licenseKey ?? []).toSorted()
}

/** Expects the lists and counts of these places to show the licenses that are found by these keys, and no others. */
async function listsAgree(
  { seed, listing }: { readonly seed: BoundAdmin; readonly listing: BoundListing | undefined },
  keys: readonly string[],
  places: readonly Place[],
): Promise<void> {
  if (listing === undefined) return
  const listed = async (of: { resellerId?: string; comparedDomains?: string[] }): Promise<string[]> =>
    keysOf((await untilAnswered(() => listing.licenses({ ...of, limit: 1000 }))).licenses)
  const counted = (of: { resellerId?: string }): Promise<number> =>
    untilAnswered(() => listing.countLicenses(of))
  async function look(): Promise<void> {
    const found = await race(keys.length, (index) => seed.findLicense(keys[index] ?? ''))
    await inTurn(places, async ({ resellerId, domainOrIp }) => {
      const own = keysOf(found.filter((license) => license?.resellerId === resellerId))
      equalValues(await listed({ resellerId }), own, 'a reseller has what is found by its key')
      strictEqual(await counted({ resellerId }), own.length, 'what a reseller has is counted')
      const ofDomain = keysOf(found.filter((license) => license?.domainOrIp === domainOrIp))
      const comparedDomains = [comparedDomain(domainOrIp)]
      equalValues(await listed({ comparedDomains }), ofDomain, 'a domain has what is found by its key')
    })
    strictEqual(await counted({}), (await listed({})).length, 'all are counted')
  }
  // The server may still be doing what it was sent before the cut.
  await look().catch(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    await look()
  })
}

/** The changes that move a license from one list to another. */
const moves: readonly ((admin: BoundAdmin, key: string, from: Place, to: Place) => unknown)[] = [
  (admin, key, _, to) => admin.insertLicense(makeLicense(`${key}-new`, { ...to })),
  (admin, licenseKey, { resellerId }, { domainOrIp }) =>
    admin.updateLicense({ licenseKey, resellerId, patch: { domainOrIp }, at: 7 }),
  (admin, key, _, to) => admin.changeLicense(key, to, 7),
  (admin, key) => admin.deleteLicense(key),
]

function keyOf(number: number): NewIdempotencyKey {
  return makeIdempotencyKey({ keyHash: hashOf(number) })
}

/** Returns calls that are refused with an error, each of which could lose a connection. */
function refusals(storage: BoundAdmin): readonly (() => MaybePromise<unknown>)[] {
  return [
    () => storage.redeemAuthorizationCode(hashOf(2), 5, makeToken(1)),
    () => storage.insertAuthorizationCode(hashOf(1), makeCode()),
    () => storage.insertAuthorizationCode(hashOf(9), makeCode({ clientId: nameOf('revoked') })),
    () => storage.insertCredential('api_key', hashOf(1), makeCredential(nameOf('other'))),
    () => storage.insertCredential('api_key', hashOf(9), makeCredential(nameOf('id'))),
  ]
}

/** Returns calls that change nothing and say so with an answer, not an error. */
function noes(storage: BoundAdmin): readonly (() => MaybePromise<unknown>)[] {
  return [
    () => storage.insertLicense(makeLicense(nameOf('taken'))),
    () => storage.insertLicense(makeLicense(nameOf('taken')), keyOf(7)),
    () => storage.insertLicense(makeLicense(nameOf('another')), keyOf(1)),
    () => storage.redeemAuthorizationCode(hashOf(1), 5, makeToken(3)),
    () =>
      storage.updateLicense({
        licenseKey: nameOf('taken'),
        resellerId: 'nobody',
        patch: { status: 'a' },
        at: 1,
      }),
    () => storage.revokeAccessTokensOfCode(hashOf(9), 9),
    () => storage.insertClient(makeClient()),
    () => storage.updateClient('nobody', { name: 'a' }),
    () => storage.rotateClientSecret('nobody', hashOf(9)),
    () => storage.revokeClient('nobody', 9),
    () => storage.insertReseller(makeReseller()),
    () => storage.insertCredential('reseller_token', hashOf(9), makeCredential('a', { ownerId: 'nobody' })),
    () => storage.revokeCredential({ id: 'nobody' }, 9),
    () => storage.revokeAccess({ subject: 'nobody' }, 9),
    () => storage.changeLicense('none', { status: 'a' }, 9),
    () => storage.deleteLicense('none'),
    () => storage.purgeExpired(0),
  ]
}

/** A change with this answer only the first time. If repeated behind the caller's back, it has another answer. */
interface OnlyOnce {
  readonly prepare: (seed: BoundAdmin, own: string, hash: Uint8Array) => MaybePromise<unknown>
  readonly ask: (admin: BoundAdmin, own: string, hash: Uint8Array) => MaybePromise<unknown>
  readonly answer: unknown
}

const nothing = (): void => {}
const aClient = (seed: BoundAdmin, own: string): unknown => seed.insertClient(makeClient({ clientId: own }))

async function aSpentCode(seed: BoundAdmin, own: string, hash: Uint8Array): Promise<void> {
  await seed.insertAuthorizationCode(hash, makeCode({ clientId: own, expiresAt: 1 }))
  await seed.redeemAuthorizationCode(hash, 5, makeToken(0, { id: own, hash, ownerId: own, expiresAt: 1 }))
}

const onlyOnce: readonly OnlyOnce[] = [
  {
    prepare: nothing,
    ask: (admin, own) => admin.insertClient(makeClient({ clientId: own })),
    answer: 'inserted',
  },
  {
    prepare: nothing,
    ask: (admin, own) => admin.insertReseller(makeReseller({ resellerId: own })),
    answer: 'inserted',
  },
  {
    prepare: nothing,
    ask: (admin, own, hash) => admin.insertAuthorizationCode(hash, makeCode({ clientId: own })),
    answer: undefined,
  },
  {
    prepare: nothing,
    ask: (admin, own, hash) => admin.insertCredential('api_key', hash, makeCredential(own)),
    answer: 'inserted',
  },
  { prepare: nothing, ask: (admin, own) => admin.insertLicense(makeLicense(own)), answer: 'inserted' },
  { prepare: aClient, ask: (admin, own, hash) => admin.rotateClientSecret(own, hash), answer: true },
  { prepare: aClient, ask: (admin, own) => admin.revokeClient(own, 7), answer: true },
  { prepare: aSpentCode, ask: (admin, own) => admin.revokeCredential({ id: own }, 7), answer: true },
  { prepare: aSpentCode, ask: (admin, _, hash) => admin.revokeAccessTokensOfCode(hash, 7), answer: 1 },
  {
    prepare: aSpentCode,
    ask: (admin, own) => admin.revokeAccess({ clientId: own }, 7),
    answer: { tokens: 1, codes: 0 },
  },
  {
    prepare: (seed, own) => seed.insertLicense(makeLicense(own)),
    ask: (admin, own) => admin.deleteLicense(own),
    answer: true,
  },
  {
    prepare: async (seed, own, hash) => {
      await seed.purgeExpired(1)
      await aSpentCode(seed, own, hash)
    },
    ask: (admin) => admin.purgeExpired(1),
    answer: { codes: 1, tokens: 1, idempotency: 0 },
  },
]

/** Returns list calls that are refused. */
function misreadings(listing: BoundListing): readonly (() => MaybePromise<unknown>)[] {
  const page = { limit: 5, after: 'no mark' }
  return readings(listing, page).slice(0, -1)
}

function readings(
  listing: BoundListing,
  page: { readonly limit: number; readonly after?: string } = { limit: 5 },
): readonly (() => MaybePromise<unknown>)[] {
  return [
    () => listing.clients(page),
    () => listing.resellers(page),
    () => listing.credentials({ ...page, kind: 'api_key' }),
    () => listing.licenses(page),
    () => listing.countLicenses({}),
  ]
}

async function setUp(admin: BoundAdmin): Promise<void> {
  await admin.insertClient(makeClient())
  await admin.insertClient(makeClient({ clientId: nameOf('revoked'), revokedAt: 1 }))
  await admin.insertReseller(makeReseller())
  await race(2, (index) => admin.insertAuthorizationCode(hashOf(1 + index), makeCode()))
  await admin.redeemAuthorizationCode(hashOf(1), 5, makeToken(1))
  await admin.insertCredential('api_key', hashOf(1), makeCredential(nameOf('id')))
  await admin.insertLicense(makeLicense(nameOf('taken')), keyOf(1))
}

export const cutCases: readonly ContractCase[] = [
  {
    name: 'an exchange whose connection is cut is done completely or not at all, or a client spends its code for nothing',
    needs: ['seed', 'cutAfter'],
    run: ({ storage, seed, cutAfter }) =>
      inTurn(cuts, async (replies) => {
        await seed.insertAuthorizationCode(hashOf(100 + replies), makeCode())
        await cutAfter(replies)
        const answer = await orRefused('unavailable', () =>
          storage.redeemAuthorizationCode(hashOf(100 + replies), 5, makeToken(replies)),
        )
        const again = await untilAnswered(() => storage.findAuthorizationCode(hashOf(100 + replies)))
        // The server may still be doing what it was sent before the cut.
        const code = await seed.findAuthorizationCode(hashOf(100 + replies))
        const token = await seed.findCredential('access_token', hashOf(replies))
        if (answer !== null) strictEqual(answer, true, 'no other caller has spent it')
        if (answer === true) strictEqual(again?.redeemedAt, 5, 'an acknowledged write is stored')
        strictEqual(
          token !== null,
          code?.redeemedAt === 5,
          `cut after ${replies}: code and token, or neither`,
        )
        const late = await seed.redeemAuthorizationCode(hashOf(100 + replies), 6, makeToken(100 + replies))
        strictEqual(late, token === null, 'an unspent code can be spent, a spent one cannot')
      }),
  },
  {
    name: 'generating again after a cut connection leaves one license, or a dropped connection bills twice',
    needs: ['seed', 'cutAfter'],
    run: ({ storage, seed, listing, cutAfter }) =>
      inTurn(cuts, async (replies) => {
        const place = placeOf(`cut-${replies}`)
        const makeOwn = (attempt: number): License => makeLicense(nameOf(`${replies}-${attempt}`), place)
        let attempts = 0
        await cutAfter(replies)
        const first = await orRefused('unavailable', () =>
          storage.insertLicense(makeOwn(0), keyOf(200 + replies)),
        )
        const answer = await untilAnswered(() =>
          storage.insertLicense(makeOwn((attempts += 1)), keyOf(200 + replies)),
        )
        if (first !== null) strictEqual(first, 'inserted')
        const found = await race(attempts + 1, (index) => seed.findLicense(nameOf(`${replies}-${index}`)))
        const there = found.filter((license) => license !== null)
        strictEqual(there.length, 1, `cut after ${replies}: one license for one idempotency key`)
        if (typeof answer !== 'string') strictEqual(answer.replay, there[0]?.licenseKey)
        if (first === 'inserted') ok(found[0], 'an acknowledged write is stored')
        const keys = found.map((_, index) => nameOf(`${replies}-${index}`))
        await listsAgree({ seed, listing }, keys, [place])
      }),
  },
  {
    name: 'a license whose change is cut is listed and counted where it is found, or support does not find it by its domain',
    needs: ['admin', 'seed', 'listing', 'cutAfter'],
    run: ({ admin, seed, listing, cutAfter }) =>
      inTurn(moves.entries(), async ([number, move]) =>
        inTurn(cuts.slice(0, 6), async (replies) => {
          const [from, to] = [`from-${number}-${replies}`, `to-${number}-${replies}`].map(placeOf) as [
            Place,
            Place,
          ]
          const key = nameOf(`${number}-${replies}`)
          await seed.insertLicense(makeLicense(key, from))
          await cutAfter(replies)
          await orRefused('unavailable', () => move(admin, key, from, to))
          await listsAgree({ seed, listing }, [key, `${key}-new`], [from, to])
        }),
      ),
  },
  {
    name: 'a change acknowledged before its connection is cut is stored, or a confirmed revocation never happened',
    needs: ['admin', 'seed', 'cutAfter'],
    run: ({ admin, seed, cutAfter }) =>
      inTurn(cuts, async (replies) => {
        const [key, clientId, id] = [`license-${replies}`, `client-${replies}`, `id-${replies}`].map(
          nameOf,
        ) as [string, string, string]
        await seed.insertLicense(makeLicense(key))
        await seed.insertClient(makeClient({ clientId }))
        await seed.insertAuthorizationCode(hashOf(300 + replies), makeCode({ clientId }))
        await seed.insertCredential('api_key', hashOf(300 + replies), makeCredential(id))
        await cutAfter(replies)
        const update = { licenseKey: key, resellerId: nameOf('reseller'), patch: { status: 'new' }, at: 7 }
        const updated = await orRefused('unavailable', () => admin.updateLicense(update))
        const revoked = await orRefused('unavailable', () => admin.revokeClient(clientId, 7))
        const ended = await orRefused('unavailable', () => admin.revokeCredential({ id }, 7))
        const closed = await untilAnswered(() => admin.revokeClient(clientId, 8))
        if (updated !== null) strictEqual((await seed.findLicense(key))?.status, 'new')
        if (revoked !== null) strictEqual((await seed.findClient(clientId))?.revokedAt, 7)
        if (ended !== null)
          strictEqual((await seed.findCredential('api_key', hashOf(300 + replies)))?.revokedAt, 7)
        if (revoked !== null) strictEqual(closed, false)
        const late = await seed.redeemAuthorizationCode(hashOf(300 + replies), 9, makeToken(300 + replies))
        strictEqual(late, false, 'a repeated revocation finishes the one that was cut')
      }),
  },
  {
    name: 'an answer for a change whose connection is cut is true, or a change that was made is reported as refused',
    needs: ['admin', 'seed', 'cutAfter'],
    run: ({ admin, seed, cutAfter }) =>
      inTurn(onlyOnce.entries(), async ([number, { prepare, ask, answer }]) =>
        inTurn(cuts.slice(0, 8), async (replies) => {
          const own = nameOf(`${number}-${replies}`)
          const hash = hashOf(1000 * (number + 1) + replies)
          await prepare(seed, own, hash)
          await cutAfter(replies)
          const first = await orRefused('unavailable', async () => [await ask(admin, own, hash)])
          if (first !== null) equalValues(first, [answer])
          // The cut may come after the answer.
          await untilAnswered(() => admin.findClient(own))
          const kept = (await seed.findClient(own))?.secretHashes.map((each) => Uint8Array.from(each))
          if (kept?.length === 2) equalValues(kept, [hash, hashOf(1)], 'a secret is added once')
        }),
      ),
  },
  {
    name: 'after a hundred refused calls the store answers as before, or each refusal keeps a connection until none is left',
    needs: ['admin'],
    async run({ admin, listing }) {
      await setUp(admin)
      await inTurn(Array.from({ length: 20 }), () =>
        inTurn(refusals(admin), (ask) =>
          rejectsAs('conflict', ask, 'a row that exists, or a client that is revoked'),
        ),
      )
      await inTurn(Array.from({ length: 20 }), () => inTurn(noes(admin), (ask) => ask()))
      if ((listing as BoundListing | undefined) !== undefined)
        await inTurn(Array.from({ length: 20 }), () =>
          inTurn(misreadings(listing), (ask) => rejectsAs('invalid', ask, 'an invalid page mark')),
        )
      const calls = race(20, (index) => admin.findClient(nameOf(index % 2 === 0 ? 'client' : 'revoked')))
      const hangs = (): Error => new Error(`after a hundred refusals: no answer in ${hangsAfterMs} ms`)
      const found = await inTime(hangsAfterMs, () => calls, hangs)
      strictEqual(countOf<unknown>(found, null), 0)
      strictEqual(
        await admin.redeemAuthorizationCode(hashOf(2), 6, makeToken(2)),
        true,
        'no row is left locked',
      )
    },
  },
  {
    name: 'calls under way when the store is closed still finish, or a shutdown fails requests that were accepted',
    needs: ['admin', 'seed', 'close'],
    async run({ admin, close, listing }) {
      await setUp(admin)
      const asked: readonly (() => MaybePromise<unknown>)[] = [
        ...noes(admin),
        () => admin.revokeClient(nameOf('client'), 9),
        () => admin.revokeAccess({ clientId: nameOf('client') }, 9),
        () => admin.purgeExpired(1),
        () => admin.insertAuthorizationCode(hashOf(77), makeCode({ clientId: nameOf('other') })),
        () => admin.revokeAccessTokensOfCode(hashOf(1), 9),
        () => admin.insertCredential('reseller_token', hashOf(8), makeCredential(nameOf('new'))),
        () => admin.findClient(nameOf('client')),
        () => admin.findAuthorizationCode(hashOf(2)),
        () => admin.findCredential('api_key', hashOf(1)),
        () => admin.findLicense(nameOf('taken')),
        ...((listing as BoundListing | undefined) === undefined ? [] : readings(listing)),
      ]
      const answers = Promise.allSettled(asked.map(async (ask) => ask()))
      await close()
      const failed = (await answers).flatMap((answer, index) =>
        answer.status === 'rejected' ? [`${String(asked[index])}: ${String(answer.reason)}`] : [],
      )
      equalValues(failed, [])
    },
  },
  {
    name: 'a repeated find sees the changes of another instance, or it returns what another has revoked',
    needs: ['admin', 'secondAdmin'],
    async run({ admin, secondAdmin }) {
      const look = async (): Promise<unknown[]> => [
        (await secondAdmin.findClient(nameOf('client')))?.revokedAt,
        (await secondAdmin.findAuthorizationCode(hashOf(2)))?.redeemedAt,
        (await secondAdmin.findCredential('access_token', hashOf(1)))?.revokedAt,
        (await secondAdmin.findCredential('api_key', hashOf(1)))?.revokedAt,
        (await secondAdmin.findLicense(nameOf('taken')))?.status,
      ]
      equalValues(await look(), [undefined, undefined, undefined, undefined, undefined])
      await setUp(admin)
      equalValues(await look(), [null, null, null, null, 'valid'])
      await admin.redeemAuthorizationCode(hashOf(2), 6, makeToken(2))
      await admin.revokeAccessTokensOfCode(hashOf(1), 7)
      await admin.revokeCredential({ id: nameOf('id') }, 8)
      await admin.revokeClient(nameOf('client'), 9)
      await admin.changeLicense(nameOf('taken'), { status: 'invalid' }, 10)
      equalValues(await look(), [9, 6, 7, 8, 'invalid'])
    },
  },
]
