import { notDeepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import type { BoundListing } from './bound.ts'
import {
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
  type ContractCase,
} from './context.ts'
import { show } from './model.ts'

export const copyCases: readonly ContractCase[] = [
  {
    name: 'values that a store returns are copies, or a change in one request shows up in another',
    needs: ['seed'],
    async run({ storage, seed, listing }) {
      await seed.insertClient(makeClient())
      await seed.insertReseller(makeReseller())
      await seed.insertAuthorizationCode(hashOf(1), makeCode())
      await seed.insertCredential('api_key', hashOf(1), makeCredential(nameOf('key')))
      await storage.insertLicense(makeLicense(nameOf('key')))
      const client = await storage.findClient(nameOf('client'))
      ok(client)
      client.secretHashes[0]?.fill(9)
      Object.assign(client.redirectUris, ['evil:/'])
      Object.assign((await storage.findAuthorizationCode(hashOf(1))) ?? {}, { clientId: 'evil' })
      Object.assign((await storage.findCredential('api_key', hashOf(1))) ?? {}, { scope: '*' })
      Object.assign((await seed.findLicense(nameOf('key'))) ?? {}, { status: 'evil' })
      const again = await storage.findClient(nameOf('client'))
      equalValues(again?.secretHashes[0], hashOf(1))
      equalValues(again?.redirectUris, makeClient().redirectUris)
      equalValues(await storage.findAuthorizationCode(hashOf(1)), makeCode())
      equalValues(await storage.findCredential('api_key', hashOf(1)), makeCredential(nameOf('key')))
      equalValues(await seed.findLicense(nameOf('key')), makeLicense(nameOf('key')))
      if ((listing as BoundListing | undefined) === undefined) return
      const pages = (): Promise<unknown[]> =>
        Promise.all([
          listing.clients({ limit: 5 }),
          listing.resellers({ limit: 5 }),
          listing.credentials({ kind: 'api_key', limit: 5 }),
          listing.licenses({ limit: 5 }),
        ])
      const before = show(await pages())
      for (const page of await pages())
        for (const rows of Object.values(page as object))
          Object.assign((rows as object[])[0] ?? {}, { name: 'evil', status: 'evil' })
      strictEqual(show(await pages()), before)
    },
  },
  {
    name: 'values given to a store are copied, or a reused buffer changes a stored secret',
    needs: ['seed'],
    async run({ storage, seed }) {
      const secret = hashOf(1)
      const uris = ['https://app.example/callback']
      await seed.insertClient(makeClient({ secretHashes: [secret], redirectUris: uris }))
      const license = { ...makeLicense(nameOf('key')) }
      const key = makeIdempotencyKey()
      await storage.insertLicense(license, key)
      secret.fill(9)
      uris[0] = 'evil:/'
      key.requestHash.fill(9)
      license.status = 'evil'
      const client = await storage.findClient(nameOf('client'))
      equalValues(client?.redirectUris, makeClient().redirectUris)
      notDeepStrictEqual(Uint8Array.from(client?.secretHashes[0] ?? []), secret)
      equalValues(await seed.findLicense(nameOf('key')), makeLicense(nameOf('key')))
      const replay = await storage.insertLicense(makeLicense(nameOf('other')), key)
      ok(typeof replay === 'object')
      strictEqual(replay.replay, nameOf('key'))
      equalValues(replay.requestHash, hashOf(2))
    },
  },
  {
    name: 'redirect URIs in lists are copies, or a page that was read changes where codes are sent',
    needs: ['admin', 'listing'],
    async run({ admin, listing }) {
      await admin.insertClient(makeClient())
      await inTurn([1, 2], async () => {
        const [client] = (await listing.clients({ limit: 5 })).clients
        ok(client)
        equalValues(client.redirectUris, makeClient().redirectUris)
        Object.assign(client.redirectUris, ['evil:/'])
      })
      equalValues((await admin.findClient(nameOf('client')))?.redirectUris, makeClient().redirectUris)
    },
  },
  {
    name: 'stored answers are copies, or the second repeat gets what the caller of the first made of it',
    async run({ storage }) {
      const license = makeLicense(nameOf('key'))
      await storage.insertLicense(license, makeIdempotencyKey())
      await inTurn([1, 2], async () => {
        const again = await storage.insertLicense(license, makeIdempotencyKey())
        ok(typeof again === 'object')
        equalValues(again.requestHash, hashOf(2))
        again.requestHash.fill(9)
      })
    },
  },
  {
    name: 'values given to any other method are copied too, or a reused object changes a secret or a code',
    needs: ['admin'],
    async run({ admin }) {
      const hashes = [1, 2, 3, 4].map(hashOf) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
      const [secret, codeHash, keyHash, tokenHash] = hashes
      const rows = [makeCode(), makeCredential(nameOf('key')), makeToken(4, { hash: tokenHash })] as const
      const redirectUris = ['https://app.example/new']
      await admin.insertClient(makeClient())
      await admin.rotateClientSecret(nameOf('client'), secret)
      await admin.updateClient(nameOf('client'), { redirectUris })
      await admin.insertAuthorizationCode(codeHash, rows[0])
      await admin.insertCredential('api_key', keyHash, rows[1])
      await admin.redeemAuthorizationCode(codeHash, 5, rows[2])
      for (const row of rows) Object.assign(row, { scope: 'evil' })
      for (const hash of hashes) hash.fill(9)
      redirectUris[0] = 'evil:/'
      const client = await admin.findClient(nameOf('client'))
      equalValues(client?.redirectUris, ['https://app.example/new'])
      equalValues(client?.secretHashes[0], hashOf(1))
      equalValues(await admin.findAuthorizationCode(hashOf(2)), makeCode({ redeemedAt: 5 }))
      equalValues(await admin.findCredential('api_key', hashOf(3)), makeCredential(nameOf('key')))
      strictEqual((await admin.findCredential('access_token', hashOf(4)))?.scope, makeToken(4).scope)
      strictEqual(await admin.revokeAccessTokensOfCode(hashOf(2), 9), 1)
    },
  },
]
