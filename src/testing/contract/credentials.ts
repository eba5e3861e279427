import { strictEqual } from 'node:assert/strict'
import { credentialKinds, type CredentialKind } from '../../domain/credentials.ts'
import type { MaybePromise } from '../../domain/maybe-promise.ts'
import {
  countOf,
  equalValues,
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeReseller,
  makeToken,
  nameOf,
  orRefused,
  race,
  raceOverTurns,
  rejectsAs,
  type ContractCase,
} from './context.ts'

export const credentialCases: readonly ContractCase[] = [
  {
    name: 'a credential is read back as it was stored, even if revoked or expired, or the wrong ones are accepted',
    needs: ['seed'],
    async run({ storage, seed }) {
      const credentials = [
        makeCredential(nameOf('a'), { scope: 'dns:check blockgame:lookup', name: 'Ops' }),
        makeCredential(nameOf('b'), { expiresAt: 0, revokedAt: 0 }),
        makeCredential(nameOf('c'), { expiresAt: 5, revokedAt: 3 }),
      ]
      await race(3, (index) =>
        seed.insertCredential('api_key', hashOf(index), credentials[index] ?? makeCredential(nameOf(''))),
      )
      equalValues(await race(3, (index) => storage.findCredential('api_key', hashOf(index))), credentials)
    },
  },
  {
    name: 'a credential is found only under its own kind, or an API key is accepted as a reseller token',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertReseller(makeReseller())
      await seed.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      equalValues(
        await race(
          3,
          async (index) => (await storage.findCredential(credentialKinds[index] ?? 'api_key', hashOf(1)))?.id,
        ),
        [undefined, undefined, nameOf('key')],
      )
      await seed.insertCredential('reseller_token', hashOf(1), makeCredential(nameOf('token')))
      strictEqual((await storage.findCredential('reseller_token', hashOf(1)))?.id, nameOf('token'))
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.id, nameOf('key'))
    },
  },
  {
    name: 'hashes are compared completely, bytes 00 and FF included, or another secret is accepted',
    needs: ['seed'],
    async run({ storage, seed }) {
      const base = hashOf(0)
      await seed.insertCredential('api_key', base, makeCredential(nameOf('base')))
      const others = Array.from(base, (byte, index) => base.with(index, byte ^ 0xff))
      const found = await race(32, (index) => storage.findCredential('api_key', others[index] ?? base))
      strictEqual(countOf(found, null), 32)
      await race(32, (index) =>
        seed.insertCredential('api_key', others[index] ?? base, makeCredential(nameOf(`${index}`))),
      )
      const ids = await race(
        32,
        async (index) => (await storage.findCredential('api_key', others[index] ?? base))?.id,
      )
      equalValues(
        ids,
        others.map((_, index) => nameOf(`${index}`)),
      )
    },
  },
  {
    name: 'a hash in the middle of a larger buffer is read without the bytes around it, or a secret is never found again',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      await seed.insertClient(makeClient())
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.id, nameOf('key'))
      const client = await storage.findClient(nameOf('client'))
      equalValues(client?.secretHashes, [hashOf(1)])
    },
  },
  {
    name: 'inserting a hash or id that exists is a conflict and leaves its row, or a new secret takes over an account',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertCredential('api_key', hashOf(1), makeCredential(nameOf('one')))
      const sameHash = (): unknown =>
        admin.insertCredential('api_key', hashOf(1), makeCredential(nameOf('two')))
      const sameId = (): unknown =>
        admin.insertCredential('access_token', hashOf(2), makeCredential(nameOf('one')))
      await rejectsAs('conflict', sameHash, 'taken hash')
      await rejectsAs('conflict', sameId, 'taken id')
      equalValues(await admin.findCredential('api_key', hashOf(1)), makeCredential(nameOf('one')))
      strictEqual(await admin.findCredential('access_token', hashOf(2)), null)
      // What was refused takes neither its id nor its hash.
      const later = await admin.insertCredential('access_token', hashOf(2), makeCredential(nameOf('two')))
      strictEqual(later, 'inserted')
    },
  },
  {
    name: 'twenty callers insert credentials of one id: one succeeds, or revoking the id leaves a secret that works',
    needs: ['admin'],
    async run({ admin }) {
      const outcomes = await raceOverTurns(20, (index) =>
        orRefused('conflict', () => {
          const kind = index % 2 === 0 ? 'api_key' : 'access_token'
          return admin.insertCredential(kind, hashOf(index), makeCredential(nameOf('id')))
        }),
      )
      strictEqual(countOf<unknown>(outcomes, 'inserted'), 1)
      const found = await race(20, (index) =>
        admin.findCredential(index % 2 === 0 ? 'api_key' : 'access_token', hashOf(index)),
      )
      strictEqual(countOf(found, null), 19)
    },
  },
  {
    name: 'twenty callers insert credentials of one hash: one succeeds, or two owners share a secret',
    needs: ['admin'],
    async run({ admin }) {
      const outcomes = await raceOverTurns(20, (index) =>
        orRefused('conflict', () =>
          admin.insertCredential('api_key', hashOf(1), makeCredential(nameOf(`${index}`))),
        ),
      )
      strictEqual(countOf<unknown>(outcomes, 'inserted'), 1)
      const winner = nameOf(`${outcomes.indexOf('inserted')}`)
      strictEqual((await admin.findCredential('api_key', hashOf(1)))?.id, winner)
    },
  },
  {
    name: 'twenty exchanges for tokens of one id: one succeeds, or revoking the id leaves a token that works',
    needs: ['admin'],
    async run({ admin }) {
      await race(20, (index) => admin.insertAuthorizationCode(hashOf(100 + index), makeCode()))
      const outcomes = await raceOverTurns(20, (index) =>
        orRefused('conflict', () =>
          admin.redeemAuthorizationCode(hashOf(100 + index), 5, makeToken(index, { id: nameOf('id') })),
        ),
      )
      strictEqual(countOf<unknown>(outcomes, true), 1)
      const found = await race(20, (index) => admin.findAuthorizationCode(hashOf(100 + index)))
      strictEqual(
        found.filter((code) => code?.redeemedAt === null).length,
        19,
        'the other codes stay unspent',
      )
    },
  },
  {
    name: 'issuing a code that exists is a conflict and leaves its row, or a spent code becomes valid again',
    needs: ['admin'],
    async run({ admin }) {
      const code = makeCode({ scope: '', expiresAt: 9, redeemedAt: 3 })
      await admin.insertAuthorizationCode(hashOf(1), code)
      const again = (): unknown => admin.insertAuthorizationCode(hashOf(1), { ...code, redeemedAt: null })
      await rejectsAs('conflict', again, 'taken code')
      equalValues(await admin.findAuthorizationCode(hashOf(1)), code)
    },
  },
  {
    name: 'twenty callers issue one code: one succeeds, or two browsers share a code',
    needs: ['admin'],
    async run({ admin }) {
      const outcomes = await raceOverTurns(20, (index) =>
        orRefused('conflict', () =>
          admin.insertAuthorizationCode(hashOf(1), makeCode({ expiresAt: 100 + index })),
        ),
      )
      strictEqual(countOf<unknown>(outcomes, null), 19)
      const winner = outcomes.findIndex((outcome) => outcome !== null)
      strictEqual((await admin.findAuthorizationCode(hashOf(1)))?.expiresAt, 100 + winner)
    },
  },
  {
    name: 'twenty callers revoke one credential: one is told so, or the time of a revocation moves',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertCredential('api_key', hashOf(1), makeCredential(nameOf('one')))
      const byId = await raceOverTurns(20, (index) =>
        admin.revokeCredential({ id: nameOf('one') }, 100 + index),
      )
      strictEqual(countOf(byId, true), 1)
      strictEqual((await admin.findCredential('api_key', hashOf(1)))?.revokedAt, 100 + byId.indexOf(true))
      await race(2, (index) => admin.insertAuthorizationCode(hashOf(2 + index), makeCode()))
      await race(2, (index) => admin.redeemAuthorizationCode(hashOf(2 + index), 5, makeToken(2 + index)))
      const ofCode = await raceOverTurns(20, () => admin.revokeAccessTokensOfCode(hashOf(2), 7))
      strictEqual(countOf(ofCode, 1), 1)
      strictEqual(countOf(ofCode, 0), 19)
      const ofClient = await raceOverTurns(20, () => admin.revokeAccess({ clientId: nameOf('client') }, 8))
      strictEqual(
        ofClient.reduce((sum, { tokens }) => sum + tokens, 0),
        1,
      )
    },
  },
  {
    name: 'a credential is revoked by hash and by id, once, or a leaked secret still works',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertReseller(makeReseller())
      await race(3, (index) =>
        admin.insertCredential(
          credentialKinds[index] ?? 'api_key',
          hashOf(index),
          makeCredential(nameOf(`${index}`)),
        ),
      )
      strictEqual(await admin.revokeCredential({ hash: hashOf(0) }, 5), true)
      strictEqual(await admin.revokeCredential({ id: nameOf('1') }, 6), true)
      strictEqual(await admin.revokeCredential({ id: nameOf('0') }, 9), false)
      strictEqual(await admin.revokeCredential({ hash: hashOf(1) }, 9), false)
      strictEqual(await admin.revokeCredential({ id: nameOf('nobody') }, 9), false)
      strictEqual(await admin.revokeCredential({ hash: hashOf(77) }, 9), false)
      const found = await race(3, (index) =>
        admin.findCredential(credentialKinds[index] ?? 'api_key', hashOf(index)),
      )
      equalValues(
        found.map((each) => each?.revokedAt),
        [5, 6, null],
      )
    },
  },
  {
    name: 'a hash stored under two kinds is revoked in both, or half of a leaked secret still works',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertReseller(makeReseller())
      await inTurn(credentialKinds, (kind) =>
        admin.insertCredential(kind, hashOf(1), makeCredential(nameOf(kind))),
      )
      strictEqual(await admin.revokeCredential({ hash: hashOf(1) }, 5), true)
      await inTurn(credentialKinds, async (kind) =>
        strictEqual((await admin.findCredential(kind, hashOf(1)))?.revokedAt, 5),
      )
    },
  },
  {
    name: 'a credential revoked through one instance is revoked in all, or a leaked secret still works elsewhere',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      await seed.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.revokedAt, null)
      strictEqual((await second.findCredential('api_key', hashOf(1)))?.revokedAt, null)
      await seed.revokeCredential({ id: nameOf('key') }, 5)
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.revokedAt, 5)
      strictEqual((await second.findCredential('api_key', hashOf(1)))?.revokedAt, 5)
    },
  },
  {
    name: 'inserting a reseller id that exists is taken, or a second reseller takes over licenses',
    needs: ['admin'],
    async run({ admin }) {
      const outcomes = await raceOverTurns(20, (index) =>
        admin.insertReseller(makeReseller({ createdAt: index })),
      )
      strictEqual(countOf(outcomes, 'inserted'), 1)
      strictEqual(countOf(outcomes, 'taken'), 19)
      const first = makeReseller({ createdAt: outcomes.indexOf('inserted') })
      equalValues(await admin.findReseller(first.resellerId), first)
    },
  },
  {
    name: 'a reseller is found as it was inserted, by exactly its id, or a license is sold for one that is not there',
    needs: ['admin'],
    async run({ admin }) {
      const labeled = makeReseller({
        resellerId: nameOf('labeled'),
        name: '',
        createdAt: 8_000_000_000_000_001,
      })
      strictEqual(await admin.findReseller(nameOf('reseller')), null)
      await admin.insertReseller(makeReseller())
      await admin.insertReseller(labeled)
      equalValues(await admin.findReseller(nameOf('reseller')), makeReseller())
      equalValues(await admin.findReseller(nameOf('labeled')), labeled)
      equalValues([await admin.findReseller(nameOf('RESELLER')), await admin.findReseller('')], [null, null])
    },
  },
  {
    name: 'a reseller inserted through one instance gets tokens through another, or a new reseller waits for a restart',
    needs: ['admin', 'secondAdmin'],
    async run({ admin, secondAdmin }) {
      const insert = (): MaybePromise<string> =>
        secondAdmin.insertCredential('reseller_token', hashOf(1), makeCredential(nameOf('token')))
      strictEqual(await insert(), 'no_owner')
      await admin.insertReseller(makeReseller())
      strictEqual(await insert(), 'inserted')
    },
  },
  {
    name: 'only a reseller token requires that its owner exists, or a mistyped id becomes a reseller',
    needs: ['admin'],
    async run({ admin }) {
      const insert = (kind: CredentialKind, number: number): MaybePromise<string> =>
        admin.insertCredential(kind, hashOf(number), makeCredential(nameOf(`${number}`)))
      strictEqual(await insert('reseller_token', 1), 'no_owner')
      strictEqual(await admin.findCredential('reseller_token', hashOf(1)), null)
      strictEqual(await insert('access_token', 2), 'inserted')
      strictEqual(await insert('api_key', 3), 'inserted')
      await admin.insertReseller(makeReseller({ resellerId: nameOf('RESELLER') }))
      strictEqual(await insert('reseller_token', 1), 'no_owner')
      await admin.insertReseller(makeReseller())
      strictEqual(await insert('reseller_token', 1), 'inserted')
    },
  },
]
