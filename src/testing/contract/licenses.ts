import { strictEqual } from 'node:assert/strict'
import type { License, LicenseChange, LicensePatch } from '../../domain/license.ts'
import type { NewIdempotencyKey } from '../../ports/storage.ts'
import type { BoundAdmin, BoundStorage } from './bound.ts'
import {
  countOf,
  equalValues,
  inTurn,
  loosePatch,
  makeIdempotencyKey,
  makeLicense,
  nameOf,
  race,
  raceOverTurns,
  racing,
  type ContractCase,
} from './context.ts'

async function raceForOneKey(
  seed: BoundStorage,
  stores: readonly BoundStorage[],
  idempotencyOf: (resellerId: string) => NewIdempotencyKey | undefined = () => undefined,
): Promise<void> {
  const storeOf = (index: number): BoundStorage => stores[index % stores.length] as BoundStorage
  const outcomes = await raceOverTurns(20, (index) => {
    const resellerId = `${index}`
    return storeOf(index).insertLicense(makeLicense(nameOf('key'), { resellerId }), idempotencyOf(resellerId))
  })
  strictEqual(countOf<unknown>(outcomes, 'inserted'), 1, 'exactly one caller inserts')
  strictEqual(countOf<unknown>(outcomes, 'key_taken'), 19, 'all others are told that the key exists')
  const winner = `${outcomes.indexOf('inserted')}`
  strictEqual((await seed.findLicense(nameOf('key')))?.resellerId, winner)
}

/** Runs twenty rounds in which three callers each change one field of the same license at the same time. */
async function raceForOneLicense(seed: BoundStorage, stores: readonly BoundStorage[]): Promise<void> {
  const storeOf = (index: number): BoundStorage => stores[index % stores.length] as BoundStorage
  await race(20, (index) => storeOf(0).insertLicense(makeLicense(nameOf(`key-${index}`))))
  const fields = ['registeredTo', 'domainOrIp', 'status'] as const
  const outcomes = await raceOverTurns(60, (index) =>
    storeOf(index).updateLicense({
      licenseKey: nameOf(`key-${Math.floor(index / 3)}`),
      resellerId: nameOf('reseller'),
      patch: { [fields[index % 3] ?? 'status']: 'new' },
      at: 2000,
    }),
  )
  strictEqual(countOf(outcomes, 'updated'), 60)
  const found = await race(20, (index) => seed.findLicense(nameOf(`key-${index}`)))
  equalValues(
    found,
    found.map((_, index) => makeLicense(nameOf(`key-${index}`), changed)),
  )
}

function keyOf(resellerId: string): NewIdempotencyKey {
  return makeIdempotencyKey({ resellerId })
}

/**
 * Changes, updates and deletes twenty licenses at once. None may be left. Where one lock orders the calls, a method that
 * does not wait for it is finished before the last ones have their turn, so a second round starts with the deletions.
 */
async function raceDeletion(admin: BoundAdmin, other: BoundStorage): Promise<void> {
  const change = (licenseKey: string): unknown => admin.changeLicense(licenseKey, { status: 'new' }, 2000)
  const update = (licenseKey: string): unknown =>
    other.updateLicense({ licenseKey, resellerId: nameOf('reseller'), patch: { status: 'new' }, at: 2000 })
  const remove = (licenseKey: string): unknown => admin.deleteLicense(licenseKey)
  const rounds = [
    [change, update, remove, update],
    [remove, change, update, update],
  ]
  await inTurn(rounds.entries(), async ([round, calls]) => {
    const licenseKeyOf = (index: number): string => nameOf(`key-${round}-${index % 20}`)
    await race(20, (index) => admin.insertLicense(makeLicense(licenseKeyOf(index))))
    const outcomes = await raceOverTurns(80, (index) => calls[Math.floor(index / 20)]?.(licenseKeyOf(index)))
    strictEqual(countOf<unknown>(outcomes, 'not_owner'), 0)
    const removed = outcomes.filter((_, index) => calls[Math.floor(index / 20)] === remove)
    strictEqual(countOf<unknown>(removed, true), 20, 'all are deleted')
    const left = await race(20, (index) => admin.findLicense(licenseKeyOf(index)))
    strictEqual(countOf(left, null), 20, 'none comes back')
  })
}

/** Gives twenty licenses to another reseller while theirs updates them. */
async function raceTransfer(admin: BoundAdmin, other: BoundStorage): Promise<void> {
  await race(20, (index) => admin.insertLicense(makeLicense(nameOf(`key-${index}`))))
  await raceOverTurns<unknown>(40, (index) => {
    const licenseKey = nameOf(`key-${index >> 1}`)
    const moved = { resellerId: nameOf('new'), status: 'moved' }
    if (index % 2 === 1) return admin.changeLicense(licenseKey, moved, 2000)
    const update = { licenseKey, resellerId: nameOf('reseller'), at: 2000 }
    return other.updateLicense({ ...update, patch: { status: 'old' } })
  })
  const found = await race(20, (index) => admin.findLicense(nameOf(`key-${index}`)))
  equalValues(
    found.map((license) => license?.status),
    found.map(() => 'moved'),
  )
}

const changed = { registeredTo: 'new', domainOrIp: 'new', status: 'new', updatedAt: 2000 }

export const licenseCases: readonly ContractCase[] = [
  {
    name: "a new license is read back as it was inserted, or a customer's key leads to wrong data",
    needs: ['seed'],
    async run({ storage, seed }) {
      const license = makeLicense(nameOf('key'), { updatedAt: 1001 })
      strictEqual(await storage.insertLicense(license), 'inserted')
      equalValues(await seed.findLicense(nameOf('key')), license)
      strictEqual(await seed.findLicense(nameOf('other')), null)
    },
  },
  {
    name: 'inserting a key that exists leaves its license unchanged, or one customer gets the license of another',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense(nameOf('key')))
      const other = makeLicense(nameOf('key'), { registeredTo: 'Eve', resellerId: 'other', createdAt: 2000 })
      strictEqual(await storage.insertLicense(other), 'key_taken')
      equalValues(await seed.findLicense(nameOf('key')), makeLicense(nameOf('key')))
    },
  },
  {
    name: 'twenty callers insert one key: one succeeds, or two customers share a key',
    needs: ['seed'],
    run: ({ storage, seed }) => raceForOneKey(seed, [storage]),
  },
  {
    name: 'twenty callers insert one key over two instances: one succeeds, or two servers issue the same key',
    needs: ['seed', 'second'],
    run: ({ storage, second, seed }) => raceForOneKey(seed, [storage, second]),
  },
  {
    name: 'twenty callers insert one key, each with an idempotency key: one succeeds, or two customers share a key',
    needs: ['seed'],
    run: ({ storage, seed }) => raceForOneKey(seed, [storage], keyOf),
  },
  {
    name: 'twenty callers with idempotency keys insert one key over two instances: one succeeds, or two servers issue it',
    needs: ['seed', 'second'],
    run: ({ storage, second, seed }) => raceForOneKey(seed, [storage, second], keyOf),
  },
  {
    name: 'an update to empty text is stored, or a removed value is still there',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense(nameOf('key')))
      const empty = { registeredTo: '', domainOrIp: '', status: '' }
      const update = { licenseKey: nameOf('key'), resellerId: nameOf('reseller'), patch: empty, at: 2000 }
      strictEqual(await storage.updateLicense(update), 'updated')
      equalValues(
        await seed.findLicense(nameOf('key')),
        makeLicense(nameOf('key'), { ...empty, updatedAt: 2000 }),
      )
    },
  },
  {
    name: 'an update changes only the fields that were sent, or a new status erases the name',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense(nameOf('key')))
      await storage.insertLicense(makeLicense(nameOf('other')))
      const update = { licenseKey: nameOf('key'), resellerId: nameOf('reseller') }
      strictEqual(
        await storage.updateLicense({ ...update, patch: { status: 'invalid' }, at: 2000 }),
        'updated',
      )
      equalValues(
        await seed.findLicense(nameOf('key')),
        makeLicense(nameOf('key'), { status: 'invalid', updatedAt: 2000 }),
      )
      await storage.updateLicense({ ...update, patch: { registeredTo: 'new', domainOrIp: 'new' }, at: 2000 })
      await storage.updateLicense({ ...update, patch: { status: 'new' }, at: 2000 })
      equalValues(await seed.findLicense(nameOf('key')), makeLicense(nameOf('key'), changed))
      equalValues(await seed.findLicense(nameOf('other')), makeLicense(nameOf('other')))
    },
  },
  {
    name: 'a field of a license that is there but undefined was not sent, or a new status erases the owner',
    needs: ['admin'],
    async run({ admin }) {
      const nothing = {
        registeredTo: undefined,
        domainOrIp: undefined,
        status: undefined,
        resellerId: undefined,
        reference: undefined,
      }
      await inTurn(Object.keys(nothing), async (field) => {
        await admin.insertLicense(makeLicense(nameOf(field), { expiresAt: 5000 }))
        const change = loosePatch<LicenseChange>({ ...nothing, expiresAt: undefined, [field]: 'new' })
        strictEqual(await admin.changeLicense(nameOf(field), change, 2000), true)
        const license = makeLicense(nameOf(field), { expiresAt: 5000, [field]: 'new', updatedAt: 2000 })
        equalValues(await admin.findLicense(nameOf(field)), license)
      })
      await admin.insertLicense(makeLicense(nameOf('key')))
      const patch = loosePatch<LicensePatch>({
        registeredTo: 'new',
        domainOrIp: undefined,
        status: undefined,
      })
      const update = { licenseKey: nameOf('key'), resellerId: nameOf('reseller'), patch, at: 2000 }
      strictEqual(await admin.updateLicense(update), 'updated')
      const updated = makeLicense(nameOf('key'), { registeredTo: 'new', updatedAt: 2000 })
      equalValues(await admin.findLicense(nameOf('key')), updated)
    },
  },
  {
    name: 'a change to the same values moves the time of the last change, or a copy elsewhere never learns of it',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      const update = { licenseKey: nameOf('key'), resellerId: nameOf('reseller'), at: 2000 }
      strictEqual(await admin.updateLicense({ ...update, patch: { status: 'valid' } }), 'updated')
      strictEqual((await admin.findLicense(nameOf('key')))?.updatedAt, 2000)
      strictEqual(await admin.changeLicense(nameOf('key'), { status: 'valid' }, 3000), true)
      strictEqual((await admin.findLicense(nameOf('key')))?.updatedAt, 3000)
    },
  },
  {
    name: "another reseller's update changes nothing, or anyone with a token can change the licenses of others",
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense(nameOf('key')))
      const update = {
        licenseKey: nameOf('key'),
        resellerId: 'RESELLER',
        patch: { status: 'invalid' },
        at: 2000,
      }
      strictEqual(await storage.updateLicense(update), 'not_owner')
      equalValues(await seed.findLicense(nameOf('key')), makeLicense(nameOf('key')))
    },
  },
  {
    name: 'an update of an unknown key is not_found and creates nothing, or typing errors become licenses',
    async run({ storage, seed }) {
      const update = {
        licenseKey: nameOf('key'),
        resellerId: nameOf('reseller'),
        patch: { status: 'invalid' },
        at: 2000,
      }
      strictEqual(await storage.updateLicense(update), 'not_found')
      if (seed !== undefined) strictEqual(await seed.findLicense(nameOf('key')), null)
    },
  },
  {
    name: 'concurrent updates of different fields all take effect, or a confirmed change is lost',
    needs: ['seed'],
    run: ({ storage, seed }) => raceForOneLicense(seed, [storage]),
  },
  {
    name: 'concurrent updates over two instances all take effect, or a second server loses confirmed changes',
    needs: ['seed', 'second'],
    run: ({ storage, second, seed }) => raceForOneLicense(seed, [storage, second]),
  },
  {
    name: 'what one instance has written the other reads at once, or support reads outdated licenses',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      await storage.insertLicense(makeLicense(nameOf('key')))
      equalValues(await seed.findLicense(nameOf('key')), makeLicense(nameOf('key')))
      const update = {
        licenseKey: nameOf('key'),
        resellerId: nameOf('reseller'),
        patch: { status: 'new' },
        at: 2000,
      }
      strictEqual(await second.updateLicense(update), 'updated')
      strictEqual((await seed.findLicense(nameOf('key')))?.status, 'new')
      strictEqual(await storage.insertLicense(makeLicense(nameOf('key'))), 'key_taken')
    },
  },
  {
    name: "the service's owner changes any license and only the fields that were sent, or a transfer loses the name",
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      await admin.insertLicense(makeLicense(nameOf('other')))
      strictEqual(await admin.changeLicense(nameOf('key'), { resellerId: nameOf('new') }, 2000), true)
      const moved = { resellerId: nameOf('new'), updatedAt: 2000 }
      equalValues(await admin.findLicense(nameOf('key')), makeLicense(nameOf('key'), moved))
      const fields = { registeredTo: 'new', domainOrIp: 'new.example', status: 'new' }
      strictEqual(await admin.changeLicense(nameOf('key'), fields, 3000), true)
      equalValues(
        await admin.findLicense(nameOf('key')),
        makeLicense(nameOf('key'), { ...moved, ...fields, updatedAt: 3000 }),
      )
      equalValues(await admin.findLicense(nameOf('other')), makeLicense(nameOf('other')))
      strictEqual(await admin.changeLicense(nameOf('nobody'), fields, 3000), false)
      strictEqual(await admin.findLicense(nameOf('nobody')), null)
    },
  },
  {
    name: 'a reference and an end are stored, changed and taken away alone, or a renewal is lost or never ends',
    needs: ['admin'],
    async run({ admin }) {
      const sold = { reference: 'pay_1/pro', expiresAt: 9000 }
      await admin.insertLicense(makeLicense(nameOf('key'), sold))
      equalValues(await admin.findLicense(nameOf('key')), makeLicense(nameOf('key'), sold))
      const changes: LicenseChange[] = [
        { reference: null },
        { expiresAt: null },
        { status: 'new' },
        { expiresAt: 0, reference: '~' },
      ]
      await inTurn(changes.entries(), async ([index, change]) => {
        strictEqual(await admin.changeLicense(nameOf('key'), change, 2000), true)
        const fields = Object.assign({}, sold, ...changes.slice(0, index + 1)) as Partial<License>
        const expected = makeLicense(nameOf('key'), { ...fields, updatedAt: 2000 })
        equalValues(await admin.findLicense(nameOf('key')), expected)
      })
    },
  },
  {
    name: 'a license that changes hands can be updated only by its new reseller, or the old one still controls it',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      await admin.changeLicense(nameOf('key'), { resellerId: nameOf('new') }, 2000)
      const update = { licenseKey: nameOf('key'), patch: { status: 'new' }, at: 3000 }
      strictEqual(await admin.updateLicense({ ...update, resellerId: nameOf('reseller') }), 'not_owner')
      strictEqual(await admin.updateLicense({ ...update, resellerId: nameOf('new') }), 'updated')
    },
  },
  {
    name: 'a license that changes hands through one instance is lost in all, or its old reseller controls it elsewhere',
    needs: ['admin', 'second'],
    async run({ admin, second }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      const update = { licenseKey: nameOf('key'), patch: { status: 'new' }, at: 2000 }
      strictEqual(await second.updateLicense({ ...update, resellerId: nameOf('reseller') }), 'updated')
      await admin.changeLicense(nameOf('key'), { resellerId: nameOf('new') }, 3000)
      strictEqual(await second.updateLicense({ ...update, resellerId: nameOf('reseller') }), 'not_owner')
      strictEqual(await second.updateLicense({ ...update, resellerId: nameOf('new') }), 'updated')
    },
  },
  ...racing(
    raceTransfer,
    'an update while a license changes hands comes before or is refused, or its old reseller changes it once more',
    'an update elsewhere while a license changes hands comes before or is refused, or its old reseller changes it',
  ),
  {
    name: 'concurrent changes and updates of different fields all take effect, or a confirmed one is lost',
    needs: ['admin'],
    async run({ admin }) {
      await race(20, (index) => admin.insertLicense(makeLicense(nameOf(`key-${index}`))))
      await raceOverTurns(40, (index) => {
        const licenseKey = nameOf(`key-${index >> 1}`)
        if (index % 2 === 0) return admin.changeLicense(licenseKey, { registeredTo: 'new' }, 2000)
        const update = { licenseKey, resellerId: nameOf('reseller'), at: 2000 }
        return admin.updateLicense({ ...update, patch: { status: 'new' } })
      })
      const found = await race(20, (index) => admin.findLicense(nameOf(`key-${index}`)))
      const both = { registeredTo: 'new', status: 'new', updatedAt: 2000 }
      equalValues(
        found,
        found.map((_, index) => makeLicense(nameOf(`key-${index}`), both)),
      )
    },
  },
  {
    name: 'deleting a license deletes it everywhere and deletes no other, or a license sold twice stays valid',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      await admin.insertLicense(makeLicense(nameOf('KEY')))
      strictEqual(await admin.deleteLicense(nameOf('key')), true)
      strictEqual(await admin.deleteLicense(nameOf('key')), false)
      strictEqual(await admin.findLicense(nameOf('key')), null)
      const update = { licenseKey: nameOf('key'), resellerId: nameOf('reseller'), patch: { status: 'new' } }
      strictEqual(await admin.updateLicense({ ...update, at: 2000 }), 'not_found')
      equalValues(await admin.findLicense(nameOf('KEY')), makeLicense(nameOf('KEY')))
      strictEqual(await admin.insertLicense(makeLicense(nameOf('key'))), 'inserted')
    },
  },
  ...racing(
    raceDeletion,
    'a license deleted while it is changed stays deleted, or one that was sold twice comes back',
    'an update of a license being deleted is made or finds none, or its owner is told that another one owns it',
  ),
  {
    name: 'twenty callers delete one license: one is told so, or it is refunded twice',
    needs: ['admin'],
    async run({ admin }) {
      await admin.insertLicense(makeLicense(nameOf('key')))
      const told = await raceOverTurns(20, () => admin.deleteLicense(nameOf('key')))
      strictEqual(countOf(told, true), 1)
    },
  },
]
