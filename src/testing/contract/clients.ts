import { ok, strictEqual } from 'node:assert/strict'
import type { ClientPatch } from '../../ports/storage.ts'
import type { BoundAdmin } from './bound.ts'
import {
  countOf,
  equalValues,
  hashOf,
  inTurn,
  loosePatch,
  makeClient,
  makeLicense,
  nameOf,
  race,
  raceOverTurns,
  type ContractCase,
} from './context.ts'

/** Checks that two of the secrets told to racing callers are valid, and that the first one no longer is. */
async function raceRotations(stores: readonly BoundAdmin[]): Promise<void> {
  const storeOf = (index: number): BoundAdmin => stores[index % stores.length] as BoundAdmin
  await storeOf(0).insertClient(makeClient({ secretHashes: [hashOf(0)] }))
  // At once: of those that go on, the last two alone could be judged, and they may not overlap.
  const rotated = await race(10, (index) =>
    storeOf(index).rotateClientSecret(nameOf('client'), hashOf(index + 1)),
  )
  strictEqual(countOf(rotated, true), 10)
  const client = await storeOf(0).findClient(nameOf('client'))
  const hashes = (client?.secretHashes ?? []).map((hash) => Buffer.from(hash).toString('hex'))
  const handedOut = new Set(rotated.map((_, index) => Buffer.from(hashOf(index + 1)).toString('hex')))
  strictEqual(new Set(hashes).size, 2, 'two secrets are valid')
  ok(
    hashes.every((hash) => handedOut.has(hash)),
    'both were returned by these rotations',
  )
  await storeOf(1).rotateClientSecret(nameOf('client'), hashOf(99))
  const after = await storeOf(0).findClient(nameOf('client'))
  equalValues(
    after?.secretHashes.map((hash) => Buffer.from(hash).toString('hex')),
    [Buffer.from(hashOf(99)).toString('hex'), hashes[0]],
    'the secret before the rotation stays',
  )
}

/** Changes all there is of ten clients at once, in two orders. Each change must stay. */
async function raceChanges(admin: BoundAdmin, other: BoundAdmin): Promise<void> {
  const redirectUris = ['app:/new']
  await race(10, (index) => admin.insertClient(makeClient({ clientId: nameOf(`${index}`) })))
  await raceOverTurns<unknown>(40, (index) => {
    const clientId = nameOf(`${index >> 2}`)
    const position = index % 8 < 4 ? index % 4 : 3 - (index % 4)
    if (position === 0) return admin.updateClient(clientId, { name: 'Shop' })
    if (position === 1) return other.updateClient(clientId, { redirectUris })
    if (position === 2) return other.rotateClientSecret(clientId, hashOf(2))
    return admin.revokeClient(clientId, 9)
  })
  const found = await race(10, (index) => admin.findClient(nameOf(`${index}`)))
  const all = { name: 'Shop', redirectUris, secretHashes: [hashOf(2), hashOf(1)], revokedAt: 9 }
  equalValues(
    found,
    found.map((_, index) => makeClient({ clientId: nameOf(`${index}`), ...all })),
  )
}

export const clientCases: readonly ContractCase[] = [
  {
    name: 'a client is read back as it was stored, or its secrets and redirect URIs no longer match',
    needs: ['seed'],
    async run({ storage, seed }) {
      const clients = [
        makeClient({ clientId: 'one', name: 'One' }),
        makeClient({
          clientId: 'two',
          secretHashes: [hashOf(2), hashOf(1)],
          redirectUris: ['b:/', 'a:/?x=[1,"2"]|b:/;c:/\\'],
        }),
        makeClient({ clientId: 'none', secretHashes: [], redirectUris: [], revokedAt: 7 }),
      ]
      await inTurn(clients, (client) => seed.insertClient(client))
      const found = await race(3, (index) => storage.findClient(clients[index]?.clientId ?? ''))
      equalValues(found, clients)
      strictEqual(await storage.findClient('nobody'), null)
    },
  },
  {
    name: 'twenty callers insert one client: one succeeds, or the others have secrets that never work',
    needs: ['admin'],
    async run({ admin }) {
      const outcomes = await raceOverTurns(20, (index) =>
        admin.insertClient(makeClient({ secretHashes: [hashOf(index)] })),
      )
      strictEqual(countOf(outcomes, 'inserted'), 1)
      strictEqual(countOf(outcomes, 'taken'), 19)
      const winner = makeClient({ secretHashes: [hashOf(outcomes.indexOf('inserted'))] })
      equalValues(await admin.findClient(nameOf('client')), winner)
    },
  },
  {
    name: 'a rotation puts the new secret first and keeps the one before, or a secret rotated out still works',
    needs: ['admin'],
    async run({ admin }) {
      const all = { name: 'Shop', revokedAt: 7 }
      await admin.insertClient(makeClient({ ...all, secretHashes: [hashOf(2), hashOf(1)] }))
      strictEqual(await admin.rotateClientSecret(nameOf('client'), hashOf(3)), true)
      equalValues(
        await admin.findClient(nameOf('client')),
        makeClient({ ...all, secretHashes: [hashOf(3), hashOf(2)] }),
      )
      strictEqual(await admin.rotateClientSecret(nameOf('nobody'), hashOf(3)), false)
      strictEqual(await admin.findClient(nameOf('nobody')), null)
    },
  },
  {
    name: 'a rotation gives a client without a secret its first one, or that client can never authenticate',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ secretHashes: [] }))
      strictEqual(await admin.rotateClientSecret(nameOf('client'), hashOf(3)), true)
      equalValues(await admin.findClient(nameOf('client')), makeClient({ secretHashes: [hashOf(3)] }))
    },
  },
  {
    name: 'a client keeps its type, and a public one gets no secret, or a stranger is taken for a client',
    needs: ['admin'],
    async run({ admin }) {
      const secret = { secretHashes: [hashOf(1)] }
      const rows = [
        makeClient({ clientId: nameOf('public'), clientType: 'public', secretHashes: [] }),
        makeClient({ clientId: nameOf('odd'), clientType: 'public', ...secret }),
        makeClient({ clientId: nameOf('confidential'), clientType: 'confidential', ...secret }),
      ]
      await inTurn(rows, async (row) => {
        strictEqual(await admin.insertClient(row), 'inserted')
        const isPublic = row.clientType === 'public'
        strictEqual(await admin.rotateClientSecret(row.clientId, hashOf(2)), !isPublic)
        strictEqual(await admin.updateClient(row.clientId, { name: 'Shop' }), true)
        const secretHashes = isPublic ? row.secretHashes : [hashOf(2), hashOf(1)]
        equalValues(await admin.findClient(row.clientId), { ...row, name: 'Shop', secretHashes })
      })
    },
  },
  {
    name: 'concurrent rotations leave two of the new secrets, or an operator has one that never works',
    needs: ['admin'],
    run: ({ admin }) => raceRotations([admin]),
  },
  {
    name: 'rotations over two instances leave two of the new secrets, or an operator has one that never works',
    needs: ['admin', 'secondAdmin'],
    run: ({ admin, secondAdmin }) => raceRotations([admin, secondAdmin]),
  },
  {
    name: 'a rotation through one instance is known to all, or a secret that was rotated out works again',
    needs: ['admin', 'secondAdmin'],
    async run({ admin, secondAdmin }) {
      await admin.insertClient(makeClient())
      await secondAdmin.rotateClientSecret(nameOf('client'), hashOf(2))
      await admin.rotateClientSecret(nameOf('client'), hashOf(3))
      await secondAdmin.rotateClientSecret(nameOf('client'), hashOf(4))
      const secretHashes = [hashOf(4), hashOf(3)]
      equalValues(await admin.findClient(nameOf('client')), makeClient({ secretHashes }))
    },
  },
  {
    name: 'concurrent changes of all that a client has all take effect, or a new name undoes new redirect URIs',
    needs: ['admin'],
    run: ({ admin }) => raceChanges(admin, admin),
  },
  {
    name: 'changes of a client over two instances all take effect, or one server undoes what another was told',
    needs: ['admin', 'secondAdmin'],
    run: ({ admin, secondAdmin }) => raceChanges(admin, secondAdmin),
  },
  {
    name: 'concurrent updates, rotations and a revocation all take effect, or a new name revives a revoked client',
    needs: ['admin'],
    run: ({ admin }) =>
      inTurn(Array.from({ length: 10 }).keys(), async (round) => {
        const clientId = nameOf(`round-${round}`)
        await admin.insertClient(makeClient({ clientId }))
        const done = await raceOverTurns(12, (index) => {
          if (index === round) return admin.rotateClientSecret(clientId, hashOf(2))
          if (index === round + 2) return admin.revokeClient(clientId, 9)
          return admin.updateClient(clientId, { name: `Shop ${index}` })
        })
        strictEqual(countOf(done, true), 12)
        const client = await admin.findClient(clientId)
        equalValues([client?.revokedAt, client?.secretHashes], [9, [hashOf(2), hashOf(1)]])
      }),
  },
  {
    name: 'a change to the same values succeeds, or the sender of a repeated update is told that the row does not exist',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      await admin.insertLicense(makeLicense(nameOf('key')))
      const update = {
        licenseKey: nameOf('key'),
        resellerId: nameOf('reseller'),
        patch: { status: 'new' },
        at: 9,
      }
      await inTurn([1, 2], async () => {
        strictEqual(await admin.updateLicense(update), 'updated')
        strictEqual(await admin.changeLicense(nameOf('key'), { status: 'new' }, 9), true)
        strictEqual(await admin.updateClient(nameOf('client'), { name: 'Shop' }), true)
      })
    },
  },
  {
    name: 'a rotation and a revocation at once both take effect, or a revoked client works again',
    needs: ['admin'],
    async run({ admin }) {
      await race(20, (index) => admin.insertClient(makeClient({ clientId: nameOf(`${index}`) })))
      await raceOverTurns(40, (index) => {
        const clientId = nameOf(`${index >> 1}`)
        return index % 2 === 0
          ? admin.rotateClientSecret(clientId, hashOf(2))
          : admin.revokeClient(clientId, 9)
      })
      const found = await race(20, (index) => admin.findClient(nameOf(`${index}`)))
      equalValues(
        found,
        found.map((_, index) =>
          makeClient({ clientId: nameOf(`${index}`), secretHashes: [hashOf(2), hashOf(1)], revokedAt: 9 }),
        ),
      )
    },
  },
  {
    name: 'an update of a client changes only the fields that were sent, or a new name sends codes elsewhere',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ revokedAt: 7 }))
      await admin.insertClient(makeClient({ clientId: nameOf('other') }))
      strictEqual(await admin.updateClient(nameOf('client'), { name: 'Shop' }), true)
      const named = makeClient({ revokedAt: 7, name: 'Shop' })
      equalValues(await admin.findClient(nameOf('client')), named)
      const redirectUris = ['https://app.example/newer', 'https://app.example/new']
      strictEqual(await admin.updateClient(nameOf('client'), { redirectUris }), true)
      equalValues(await admin.findClient(nameOf('client')), { ...named, redirectUris })
      strictEqual(await admin.updateClient(nameOf('client'), { redirectUris: [] }), true)
      equalValues((await admin.findClient(nameOf('client')))?.redirectUris, [])
      strictEqual(await admin.updateClient(nameOf('nobody'), { name: 'Shop' }), false)
      strictEqual(await admin.findClient(nameOf('nobody')), null)
      equalValues(await admin.findClient(nameOf('other')), makeClient({ clientId: nameOf('other') }))
    },
  },
  {
    name: 'a field of a client that is there but undefined was not sent, or a new name erases the redirect URIs',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ name: 'Shop' }))
      const onlyName = loosePatch<ClientPatch>({ name: 'New', redirectUris: undefined })
      strictEqual(await admin.updateClient(nameOf('client'), onlyName), true)
      equalValues(await admin.findClient(nameOf('client')), makeClient({ name: 'New' }))
      const redirectUris = ['https://app.example/new']
      const onlyUris = loosePatch<ClientPatch>({ name: undefined, redirectUris })
      strictEqual(await admin.updateClient(nameOf('client'), onlyUris), true)
      equalValues(await admin.findClient(nameOf('client')), makeClient({ name: 'New', redirectUris }))
    },
  },
  {
    name: 'an update of a client to an empty name is stored, or a label that was removed is still there',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient({ name: 'Shop' }))
      strictEqual(await admin.updateClient(nameOf('client'), { name: '' }), true)
      strictEqual((await admin.findClient(nameOf('client')))?.name, '')
    },
  },
  {
    name: 'an update to ten redirect URIs of the greatest length is stored whole, or some of them never work',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      const redirectUris = Array.from({ length: 10 }, (_, index) => `app:/${`${index}`.repeat(2043)}`)
      strictEqual(await admin.updateClient(nameOf('client'), { redirectUris }), true)
      equalValues((await admin.findClient(nameOf('client')))?.redirectUris, redirectUris)
    },
  },
  {
    name: 'a client is revoked once and keeps that time, or a revoked client still works or its history changes',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      strictEqual(await admin.revokeClient(nameOf('client'), 5), true)
      strictEqual(await admin.revokeClient(nameOf('client'), 9), false)
      strictEqual(await admin.revokeClient('nobody', 9), false)
      equalValues(await admin.findClient(nameOf('client')), makeClient({ revokedAt: 5 }))
    },
  },
  {
    name: 'twenty callers revoke one client: one is told so, or the time of a revocation moves',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertClient(makeClient())
      const told = await raceOverTurns(20, (index) => admin.revokeClient(nameOf('client'), 100 + index))
      strictEqual(countOf(told, true), 1)
      strictEqual((await admin.findClient(nameOf('client')))?.revokedAt, 100 + told.indexOf(true))
    },
  },
]
