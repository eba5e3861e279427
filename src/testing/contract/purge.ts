import { strictEqual } from 'node:assert/strict'
import type { License } from '../../domain/license.ts'
import type { NewIdempotencyKey } from '../../ports/storage.ts'
import type { BoundAdmin, BoundStorage } from './bound.ts'
import {
  equalValues,
  fill,
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
  race,
  raceBeside,
  racing,
  type ContractCase,
} from './context.ts'

const nothing = { codes: 0, tokens: 0, idempotency: 0 }

/** When a purge begins, of forty other calls. */
const places = [0, 16, 'while it runs'] as const

/** Spends expired codes while they are purged. What was spent must be there, so that a replay can still revoke it. */
async function racePurge(purger: BoundAdmin, spender: BoundStorage): Promise<void> {
  await inTurn(places.entries(), async ([round, place]) => {
    const numberOf = (index: number): number => 40 * round + index
    const codeOf = (index: number): Uint8Array => hashOf(1000 + numberOf(index))
    await race(40, (index) => purger.insertAuthorizationCode(codeOf(index), makeCode({ expiresAt: 10 })))
    const won = await raceBeside(
      () => purger.purgeExpired(10),
      place,
      40,
      (index) => spender.redeemAuthorizationCode(codeOf(index), 9, makeToken(numberOf(index))),
    )
    const revoked = await race(40, (index) => purger.revokeAccessTokensOfCode(codeOf(index), 11))
    equalValues(
      revoked,
      won.map((each) => (each ? 1 : 0)),
    )
  })
}

/** Returns a license, and an idempotency key with this number that comes with it. */
function licenseOf(
  number: number,
  { at, expiresAt }: Pick<NewIdempotencyKey, 'at' | 'expiresAt'>,
): [License, NewIdempotencyKey] {
  const key = makeIdempotencyKey({ keyHash: hashOf(number), at, expiresAt })
  return [makeLicense(nameOf(`key-${number}-${at}`)), key]
}

/** Renews expired idempotency keys while they are purged. All must be there afterwards. */
async function raceRenewal(purger: BoundAdmin, renewer: BoundStorage): Promise<void> {
  await inTurn(places.entries(), async ([round, place]) => {
    const own = (index: number, at: number, expiresAt: number): [License, NewIdempotencyKey] =>
      licenseOf(40 * round + index, { at, expiresAt })
    await race(40, (index) => purger.insertLicense(...own(index, 1, 10)))
    await raceBeside(
      () => purger.purgeExpired(10),
      place,
      40,
      (index) => renewer.insertLicense(...own(index, 20, 9000)),
    )
    const again = await race(40, (index) => purger.insertLicense(...own(index, 30, 9000)))
    strictEqual(again.filter((result) => typeof result === 'string').length, 0, 'all are answered')
  })
}

export const purgeCases: readonly ContractCase[] = [
  {
    name: 'a purge deletes what has expired, to the millisecond, or expired rows accumulate',
    needs: ['admin'],
    async run({ admin }) {
      await inTurn([999, 1000, 1001], async (expiresAt) => {
        await admin.insertAuthorizationCode(hashOf(expiresAt), makeCode({ expiresAt }))
        await admin.insertCredential(
          'access_token',
          hashOf(expiresAt),
          makeCredential(`${expiresAt}`, { expiresAt }),
        )
        await admin.insertLicense(...licenseOf(expiresAt, { at: 1, expiresAt }))
      })
      equalValues(await admin.purgeExpired(1000), { codes: 2, tokens: 2, idempotency: 2 })
      equalValues(await admin.purgeExpired(1000), nothing)
      strictEqual(await admin.findAuthorizationCode(hashOf(1000)), null)
      strictEqual(await admin.findCredential('access_token', hashOf(1000)), null)
      equalValues(await admin.findAuthorizationCode(hashOf(1001)), makeCode({ expiresAt: 1001 }))
      strictEqual((await admin.findCredential('access_token', hashOf(1001)))?.id, '1001')
    },
  },
  {
    name: 'a purge keeps clients, resellers, API keys and licenses, or customers are deleted overnight',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ revokedAt: 1 }))
      await admin.insertReseller(makeReseller())
      await admin.insertCredential('reseller_token', hashOf(1), makeCredential(nameOf('a'), { expiresAt: 1 }))
      await admin.insertCredential(
        'api_key',
        hashOf(1),
        makeCredential(nameOf('b'), { expiresAt: 1, revokedAt: 1 }),
      )
      await admin.insertCredential('access_token', hashOf(1), makeCredential(nameOf('c'), { revokedAt: 1 }))
      await admin.insertLicense(makeLicense(nameOf('key'), { expiresAt: 1 }))
      equalValues(await admin.purgeExpired(Number.MAX_SAFE_INTEGER), nothing)
      strictEqual((await admin.findClient(nameOf('client')))?.clientId, nameOf('client'))
      strictEqual((await admin.findCredential('reseller_token', hashOf(1)))?.id, nameOf('a'))
      strictEqual((await admin.findCredential('api_key', hashOf(1)))?.id, nameOf('b'))
      strictEqual((await admin.findCredential('access_token', hashOf(1)))?.id, nameOf('c'))
      equalValues(await admin.findLicense(nameOf('key')), makeLicense(nameOf('key'), { expiresAt: 1 }))
    },
  },
  {
    name: 'a purge keeps an idempotency key without an expiry, or a payment that is reported again is sold again',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertLicense(...licenseOf(1, { at: 1, expiresAt: null }))
      equalValues(await admin.purgeExpired(Number.MAX_SAFE_INTEGER), nothing)
      const again = await admin.insertLicense(...licenseOf(1, { at: 2, expiresAt: null }))
      equalValues(again, { replay: nameOf('key-1-1'), requestHash: hashOf(2) })
    },
  },
  {
    name: 'a purge keeps a spent code while its token is valid, or a replay can no longer revoke the token',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertAuthorizationCode(hashOf(1), makeCode({ expiresAt: 100 }))
      await admin.redeemAuthorizationCode(hashOf(1), 5, makeToken(1, { expiresAt: 200 }))
      equalValues(await admin.purgeExpired(150), nothing)
      strictEqual(await admin.revokeAccessTokensOfCode(hashOf(1), 160), 1)
      equalValues(await admin.purgeExpired(200), { codes: 1, tokens: 1, idempotency: 0 })
    },
  },
  ...racing(
    racePurge,
    'a purge keeps a code that is spent at that moment, or a replay of it revokes nothing',
    'a purge keeps a code that another instance spends at that moment, or a replay of it revokes nothing',
  ),
  ...racing(
    raceRenewal,
    'a purge keeps an idempotency key that is renewed at that moment, or a retry makes a second license',
    'a purge keeps an idempotency key that another instance renews at that moment, or a retry makes a second license',
  ),
  {
    name: 'a purge deletes thousands of rows completely, or a busy service never gets rid of them',
    needs: ['admin'],
    async run({ admin }) {
      await fill(3300, (index) => {
        const number = Math.floor(index / 3)
        if (index % 3 === 0) return admin.insertAuthorizationCode(hashOf(number), makeCode({ expiresAt: 1 }))
        if (index % 3 === 1) return admin.insertLicense(...licenseOf(number, { at: 0, expiresAt: 1 }))
        const token = makeCredential(nameOf(`${number}`), { expiresAt: 1 })
        return admin.insertCredential('access_token', hashOf(number), token)
      })
      equalValues(await admin.purgeExpired(1), { codes: 1100, tokens: 1100, idempotency: 1100 })
    },
  },
  {
    name: 'a purge finds expired codes among many that it keeps, or it stops after the first thousand live tokens',
    needs: ['admin'],
    async run({ admin }) {
      const spend = async (index: number, expiresAt: number): Promise<void> => {
        await admin.insertAuthorizationCode(hashOf(index), makeCode({ expiresAt: 10 }))
        await admin.redeemAuthorizationCode(hashOf(index), 5, makeToken(index, { expiresAt }))
      }
      // Every fourth code is dead, with an expired token or none. All expire at once, in no order of their tokens.
      await fill(1500, (index) =>
        index % 8 === 0
          ? admin.insertAuthorizationCode(hashOf(index), makeCode({ expiresAt: 10 }))
          : spend(index, index % 8 === 4 ? 50 : 200),
      )
      equalValues(await admin.purgeExpired(100), { codes: 375, tokens: 187, idempotency: 0 })
      equalValues(await admin.purgeExpired(100), nothing)
      strictEqual(await admin.revokeAccessTokensOfCode(hashOf(1499), 110), 1)
    },
  },
]
