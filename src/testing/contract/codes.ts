import { rejects, strictEqual } from 'node:assert/strict'
import type { BoundStorage } from './bound.ts'
import {
  countOf,
  equalValues,
  hashOf,
  makeCode,
  makeToken,
  nameOf,
  race,
  raceOverTurns,
  type ContractCase,
} from './context.ts'

const code = hashOf(100)

/** Lets 50 callers spend one code. Exactly one may win, and only the winner's token may exist. */
async function raceForOneCode(stores: readonly BoundStorage[]): Promise<void> {
  const storeOf = (index: number): BoundStorage => stores[index % stores.length] as BoundStorage
  const won = await raceOverTurns(50, (index) =>
    storeOf(index).redeemAuthorizationCode(code, 5, makeToken(index)),
  )
  strictEqual(countOf(won, true), 1, 'exactly one caller redeems the code')
  const found = await race(50, (index) => storeOf(index).findCredential('access_token', hashOf(index)))
  equalValues(
    found.map((token) => token !== null),
    won,
    'only the token of that caller exists',
  )
}

export const codeCases: readonly ContractCase[] = [
  {
    name: 'a code is read back as it was issued, or client, redirect URI and PKCE are checked against wrong values',
    needs: ['seed'],
    async run({ storage, seed }) {
      const codes = [
        makeCode(),
        makeCode({ codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', scope: '' }),
      ]
      await race(2, (index) => seed.insertAuthorizationCode(hashOf(index), codes[index] ?? makeCode()))
      equalValues(await race(2, (index) => storage.findAuthorizationCode(hashOf(index))), codes)
    },
  },
  {
    name: 'an unknown code is null and cannot be redeemed, or guesses end in errors or in tokens',
    async run({ storage }) {
      strictEqual(await storage.findAuthorizationCode(code), null)
      strictEqual(await storage.redeemAuthorizationCode(code, 5, makeToken(1)), false)
      strictEqual(await storage.findCredential('access_token', hashOf(1)), null)
    },
  },
  {
    name: 'the token of a redeemed code can be read at once and is complete, or a client is refused with a new token',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertAuthorizationCode(code, makeCode())
      strictEqual(await storage.redeemAuthorizationCode(code, 5, makeToken(1)), true)
      const { hash: _, ...token } = makeToken(1)
      equalValues(await storage.findCredential('access_token', hashOf(1)), { ...token, revokedAt: null })
    },
  },
  {
    name: 'a spent code stays spent and can be found, or a replay is not noticed and a thief keeps the token',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertAuthorizationCode(code, makeCode())
      await storage.redeemAuthorizationCode(code, 5, makeToken(1))
      strictEqual(await storage.redeemAuthorizationCode(code, 6, makeToken(2)), false)
      equalValues(await storage.findAuthorizationCode(code), makeCode({ redeemedAt: 5 }))
      strictEqual(await storage.findCredential('access_token', hashOf(2)), null)
    },
  },
  {
    name: 'fifty callers redeem one code: one token, or a stolen code gives a second one',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertAuthorizationCode(code, makeCode())
      await raceForOneCode([storage])
    },
  },
  {
    name: 'fifty callers redeem one code over two instances: one token, or a second server redeems the code again',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      await seed.insertAuthorizationCode(code, makeCode())
      await raceForOneCode([storage, second])
    },
  },
  {
    name: 'fifty codes at once: each gives its own token, or honest clients are refused at busy moments',
    needs: ['seed'],
    async run({ storage, seed }) {
      await race(50, (index) => seed.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      const won = await raceOverTurns(50, (index) =>
        storage.redeemAuthorizationCode(hashOf(100 + index), 5, makeToken(index)),
      )
      strictEqual(countOf(won, true), 50)
      const found = await race(50, (index) => storage.findCredential('access_token', hashOf(index)))
      equalValues(
        found.map((token) => token?.id),
        won.map((_, index) => nameOf(`token-${index}`)),
      )
    },
  },
  {
    name: 'a code stays unspent if its token cannot be stored, or a failure costs a client its only code',
    needs: ['seed'],
    async run({ storage, seed }) {
      await race(2, (index) => seed.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      await storage.redeemAuthorizationCode(hashOf(100), 5, makeToken(1))
      const taken = makeToken(1, { id: nameOf('another') })
      await rejects(
        async () => storage.redeemAuthorizationCode(hashOf(101), 6, taken),
        'a taken hash is refused',
      )
      strictEqual((await storage.findAuthorizationCode(hashOf(101)))?.redeemedAt, null)
      strictEqual(await storage.redeemAuthorizationCode(hashOf(101), 7, makeToken(2, { id: taken.id })), true)
    },
  },
  {
    name: 'a failing write fails no other write of the moment, or one bad request fails many good ones',
    needs: ['seed'],
    async run({ storage, seed }) {
      await race(20, (index) => seed.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      const outcomes = await race(20, async (index) => {
        const token = makeToken(index < 2 ? 0 : index, { id: nameOf(`token-${index}`) })
        try {
          return await storage.redeemAuthorizationCode(hashOf(100 + index), 5, token)
        } catch {
          return 'failed'
        }
      })
      equalValues([countOf<unknown>(outcomes, true), countOf<unknown>(outcomes, 'failed')], [19, 1])
    },
  },
  {
    name: 'the store does not check expiry, or its clock overrides the one that was configured',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertAuthorizationCode(code, makeCode({ expiresAt: 1 }))
      equalValues(await storage.findAuthorizationCode(code), makeCode({ expiresAt: 1 }))
      strictEqual(await storage.redeemAuthorizationCode(code, 2, makeToken(1, { expiresAt: 1 })), true)
      strictEqual((await storage.findCredential('access_token', hashOf(1)))?.expiresAt, 1)
    },
  },
  {
    name: "revoking a code's token revokes that token only, once, or a replay leaves it valid or revokes others",
    needs: ['seed'],
    async run({ storage, seed }) {
      await race(2, (index) => seed.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      await race(2, (index) => storage.redeemAuthorizationCode(hashOf(100 + index), 5, makeToken(index)))
      strictEqual(await storage.revokeAccessTokensOfCode(hashOf(100), 7), 1)
      strictEqual(await storage.revokeAccessTokensOfCode(hashOf(100), 8), 0)
      strictEqual(await storage.revokeAccessTokensOfCode(hashOf(999), 8), 0)
      const tokens = await race(2, (index) => storage.findCredential('access_token', hashOf(index)))
      equalValues(
        tokens.map((token) => token?.revokedAt),
        [7, null],
      )
    },
  },
]
