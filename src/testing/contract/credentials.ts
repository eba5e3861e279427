import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { Client, CredentialKind } from '../../domain/access.ts'
import {
  countOf,
  hashOf,
  inTurn,
  makeClient,
  makeCredential,
  race,
  rejectsAs,
  type ContractCase,
} from './context.ts'

const kinds: readonly CredentialKind[] = ['access_token', 'reseller_token', 'api_key']

/** Whether hashes are Buffers is the store's own affair; their bytes are not. */
function plain(client: Client | null): unknown {
  return client && { ...client, secretHashes: client.secretHashes.map((each) => Uint8Array.from(each)) }
}

export const credentialCases: readonly ContractCase[] = [
  {
    name: 'a client comes back as it was stored, or its secrets and redirect URIs no longer match',
    needs: ['seed'],
    async run({ storage, seed }) {
      const clients = [
        makeClient({ clientId: 'one', name: 'One' }),
        makeClient({
          clientId: 'two',
          secretHashes: [hashOf(2), hashOf(1)],
          redirectUris: ['b:/', 'a:/?x=[1,"2"]'],
        }),
        makeClient({ clientId: 'none', secretHashes: [], redirectUris: [], revokedAt: 7 }),
      ]
      await inTurn(clients, (client) => seed.insertClient(client))
      const found = await race(3, (index) => storage.findClient(clients[index]?.clientId ?? ''))
      deepStrictEqual(found.map(plain), clients)
      strictEqual(await storage.findClient('nobody'), null)
    },
  },
  {
    name: 'a credential comes back as it was stored, revoked and expired ones too, or the wrong ones are let in',
    needs: ['seed'],
    async run({ storage, seed }) {
      const credentials = [
        makeCredential('a', { scope: 'blockgame:lookup dns:check', name: 'Ops' }),
        makeCredential('b', { expiresAt: 0, revokedAt: 0 }),
        makeCredential('c', { expiresAt: 5, revokedAt: 3 }),
      ]
      await race(3, (index) =>
        seed.insertCredential('api_key', hashOf(index), credentials[index] ?? makeCredential('')),
      )
      deepStrictEqual(await race(3, (index) => storage.findCredential('api_key', hashOf(index))), credentials)
    },
  },
  {
    name: 'a credential is found under its own kind only, or an API key opens what needs a reseller token',
    needs: ['seed'],
    async run({ storage, seed }) {
      await seed.insertCredential('api_key', hashOf(1), makeCredential('key'))
      deepStrictEqual(
        await race(
          3,
          async (index) => (await storage.findCredential(kinds[index] ?? 'api_key', hashOf(1)))?.id,
        ),
        [undefined, undefined, 'key'],
      )
      await seed.insertCredential('reseller_token', hashOf(1), makeCredential('token'))
      strictEqual((await storage.findCredential('reseller_token', hashOf(1)))?.id, 'token')
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.id, 'key')
    },
  },
  {
    name: 'hashes are compared whole, bytes 00 and FF included, or another secret opens the account',
    needs: ['seed'],
    async run({ storage, seed }) {
      const base = hashOf(0)
      await seed.insertCredential('api_key', base, makeCredential('base'))
      const others = Array.from(base, (byte, index) => base.with(index, byte ^ 0xff))
      const found = await race(32, (index) => storage.findCredential('api_key', others[index] ?? base))
      strictEqual(countOf(found, null), 32)
      await race(32, (index) =>
        seed.insertCredential('api_key', others[index] ?? base, makeCredential(`${index}`)),
      )
      const ids = await race(
        32,
        async (index) => (await storage.findCredential('api_key', others[index] ?? base))?.id,
      )
      deepStrictEqual(
        ids,
        others.map((_, index) => `${index}`),
      )
    },
  },
  {
    name: 'a hash or id that is taken is a conflict and leaves the row, or a new secret takes over an account',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertCredential('api_key', hashOf(1), makeCredential('one'))
      const sameHash = (): unknown => admin.insertCredential('api_key', hashOf(1), makeCredential('two'))
      const sameId = (): unknown => admin.insertCredential('access_token', hashOf(2), makeCredential('one'))
      await rejectsAs('conflict', sameHash, 'taken hash')
      await rejectsAs('conflict', sameId, 'taken id')
      deepStrictEqual(await admin.findCredential('api_key', hashOf(1)), makeCredential('one'))
      strictEqual(await admin.findCredential('access_token', hashOf(2)), null)
    },
  },
  {
    name: 'a code that is taken is a conflict and leaves the row, or a spent code is made fresh again',
    needs: ['admin'],
    async run({ admin }) {
      const code = {
        clientId: 'a',
        redirectUri: 'a:/',
        scope: '',
        codeChallenge: null,
        expiresAt: 9,
        redeemedAt: 3,
      }
      await admin.insertAuthorizationCode(hashOf(1), code)
      const again = (): unknown => admin.insertAuthorizationCode(hashOf(1), { ...code, redeemedAt: null })
      await rejectsAs('conflict', again, 'taken code')
      deepStrictEqual(await admin.findAuthorizationCode(hashOf(1)), code)
    },
  },
  {
    name: 'revoking a credential works by hash and by id, once, or a leaked secret stays alive',
    needs: ['admin'],
    async run({ admin }) {
      await race(3, (index) =>
        admin.insertCredential(kinds[index] ?? 'api_key', hashOf(index), makeCredential(`${index}`)),
      )
      strictEqual(await admin.revokeCredential({ hash: hashOf(0) }, 5), true)
      strictEqual(await admin.revokeCredential({ id: '1' }, 6), true)
      strictEqual(await admin.revokeCredential({ id: '0' }, 9), false)
      strictEqual(await admin.revokeCredential({ hash: hashOf(1) }, 9), false)
      strictEqual(await admin.revokeCredential({ id: 'nobody' }, 9), false)
      strictEqual(await admin.revokeCredential({ hash: hashOf(77) }, 9), false)
      const found = await race(3, (index) => admin.findCredential(kinds[index] ?? 'api_key', hashOf(index)))
      deepStrictEqual(
        found.map((each) => each?.revokedAt),
        [5, 6, null],
      )
    },
  },
  {
    name: 'a hash is revoked in every kind it stands under, or half of a leaked secret stays alive',
    needs: ['admin'],
    async run({ admin }) {
      await inTurn(kinds, (kind) => admin.insertCredential(kind, hashOf(1), makeCredential(kind)))
      strictEqual(await admin.revokeCredential({ hash: hashOf(1) }, 5), true)
      await inTurn(kinds, async (kind) =>
        strictEqual((await admin.findCredential(kind, hashOf(1)))?.revokedAt, 5),
      )
    },
  },
  {
    name: 'a credential revoked through one instance is revoked in all, or a leaked secret lives on elsewhere',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      await seed.insertCredential('api_key', hashOf(1), makeCredential('key'))
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.revokedAt, null)
      strictEqual((await second.findCredential('api_key', hashOf(1)))?.revokedAt, null)
      await seed.revokeCredential({ id: 'key' }, 5)
      strictEqual((await storage.findCredential('api_key', hashOf(1)))?.revokedAt, 5)
      strictEqual((await second.findCredential('api_key', hashOf(1)))?.revokedAt, 5)
    },
  },
  {
    name: 'twenty callers create one client: one does, or the others hold secrets that never work',
    needs: ['admin'],
    async run({ admin }) {
      const outcomes = await race(20, (index) =>
        admin.insertClient(makeClient({ secretHashes: [hashOf(index)] })),
      )
      strictEqual(countOf(outcomes, 'inserted'), 1)
      strictEqual(countOf(outcomes, 'taken'), 19)
      const winner = makeClient({ secretHashes: [hashOf(outcomes.indexOf('inserted'))] })
      deepStrictEqual(plain(await admin.findClient('client')), winner)
    },
  },
  {
    name: 'rotated secrets replace the ones before, or a secret that was withdrawn still opens the account',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ name: 'Shop' }))
      strictEqual(await admin.setClientSecrets('client', [hashOf(3), hashOf(2)]), true)
      deepStrictEqual(
        plain(await admin.findClient('client')),
        makeClient({ secretHashes: [hashOf(3), hashOf(2)], name: 'Shop' }),
      )
      strictEqual(await admin.setClientSecrets('nobody', [hashOf(3)]), false)
      strictEqual(await admin.findClient('nobody'), null)
    },
  },
  {
    name: 'a client is revoked once and keeps the time, or a revoked client goes on or history is rewritten',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      strictEqual(await admin.revokeClient('client', 5), true)
      strictEqual(await admin.revokeClient('client', 9), false)
      strictEqual(await admin.revokeClient('nobody', 9), false)
      deepStrictEqual(plain(await admin.findClient('client')), makeClient({ revokedAt: 5 }))
    },
  },
]
