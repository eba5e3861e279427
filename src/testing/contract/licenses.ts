import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { UtilityStorage } from '../../ports/storage.ts'
import { countOf, makeLicense, race, type ContractCase } from './context.ts'

async function raceForOneKey(stores: readonly UtilityStorage[]): Promise<number> {
  const storeOf = (index: number): UtilityStorage => stores[index % stores.length] as UtilityStorage
  const outcomes = await race(20, (index) =>
    storeOf(index).insertLicense(makeLicense('key', { resellerId: `${index}` })),
  )
  strictEqual(countOf<unknown>(outcomes, 'inserted'), 1, 'exactly one caller may insert')
  strictEqual(countOf<unknown>(outcomes, 'key_taken'), 19, 'the others are told')
  return outcomes.indexOf('inserted')
}

/** Twenty rounds in which three callers change one field each of the same licence at the same time. */
async function raceForOneLicense(stores: readonly UtilityStorage[]): Promise<void> {
  const storeOf = (index: number): UtilityStorage => stores[index % stores.length] as UtilityStorage
  const fields = ['registeredTo', 'domainOrIp', 'status'] as const
  const outcomes = await race(60, (index) =>
    storeOf(index).updateLicense({
      licenseKey: `key-${Math.floor(index / 3)}`,
      resellerId: 'reseller',
      patch: { [fields[index % 3] ?? 'status']: 'new' },
      at: 2000,
    }),
  )
  strictEqual(countOf(outcomes, 'updated'), 60)
}

const changed = { registeredTo: 'new', domainOrIp: 'new', status: 'new', updatedAt: 2000 }

export const licenseCases: readonly ContractCase[] = [
  {
    name: 'a new licence can be read back whole, or a customer holds a key that means nothing',
    needs: ['seed'],
    async run({ storage, seed }) {
      const license = makeLicense('key', { updatedAt: 1001 })
      strictEqual(await storage.insertLicense(license), 'inserted')
      deepStrictEqual(await seed.getLicense('key'), license)
      strictEqual(await seed.getLicense('other'), null)
    },
  },
  {
    name: 'a key that is taken leaves its licence as it is, or one customer gets the licence of another',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense('key'))
      const other = makeLicense('key', { registeredTo: 'Eve', resellerId: 'other', createdAt: 2000 })
      strictEqual(await storage.insertLicense(other), 'key_taken')
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key'))
    },
  },
  {
    name: 'twenty callers with one key: one inserts, or two customers share a key',
    needs: ['seed'],
    async run({ storage, seed }) {
      const winner = await raceForOneKey([storage])
      strictEqual((await seed.getLicense('key'))?.resellerId, `${winner}`)
    },
  },
  {
    name: 'twenty callers with one key over two instances: one inserts, or two servers hand out one key',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      const winner = await raceForOneKey([storage, second])
      strictEqual((await seed.getLicense('key'))?.resellerId, `${winner}`)
    },
  },
  {
    name: 'an update to empty text is one, or what was taken away is still there',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense('key'))
      const empty = { registeredTo: '', domainOrIp: '', status: '' }
      const update = { licenseKey: 'key', resellerId: 'reseller', patch: empty, at: 2000 }
      strictEqual(await storage.updateLicense(update), 'updated')
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key', { ...empty, updatedAt: 2000 }))
    },
  },
  {
    name: 'an update changes the sent fields only, or a new status wipes the name',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense('key'))
      await storage.insertLicense(makeLicense('other'))
      const update = { licenseKey: 'key', resellerId: 'reseller' }
      strictEqual(
        await storage.updateLicense({ ...update, patch: { status: 'invalid' }, at: 2000 }),
        'updated',
      )
      deepStrictEqual(
        await seed.getLicense('key'),
        makeLicense('key', { status: 'invalid', updatedAt: 2000 }),
      )
      await storage.updateLicense({ ...update, patch: { registeredTo: 'new', domainOrIp: 'new' }, at: 2000 })
      await storage.updateLicense({ ...update, patch: { status: 'new' }, at: 2000 })
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key', changed))
      deepStrictEqual(await seed.getLicense('other'), makeLicense('other'))
    },
  },
  {
    name: 'another reseller changes nothing, or anyone with a token rewrites the licences of others',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense('key'))
      const update = { licenseKey: 'key', resellerId: 'RESELLER', patch: { status: 'invalid' }, at: 2000 }
      strictEqual(await storage.updateLicense(update), 'not_owner')
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key'))
    },
  },
  {
    name: 'an update of an unknown key is not_found and creates nothing, or typing errors become licences',
    async run({ storage, seed }) {
      const update = { licenseKey: 'key', resellerId: 'reseller', patch: { status: 'invalid' }, at: 2000 }
      strictEqual(await storage.updateLicense(update), 'not_found')
      if (seed !== undefined) strictEqual(await seed.getLicense('key'), null)
    },
  },
  {
    name: 'parallel updates of different fields all stay, or a change that was confirmed is lost',
    needs: ['seed'],
    async run({ storage, seed }) {
      await race(20, (index) => storage.insertLicense(makeLicense(`key-${index}`)))
      await raceForOneLicense([storage])
      const found = await race(20, (index) => seed.getLicense(`key-${index}`))
      deepStrictEqual(
        found,
        found.map((_, index) => makeLicense(`key-${index}`, changed)),
      )
    },
  },
  {
    name: 'parallel updates over two instances all stay, or a second server loses confirmed changes',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      await race(20, (index) => storage.insertLicense(makeLicense(`key-${index}`)))
      await raceForOneLicense([storage, second])
      const found = await race(20, (index) => seed.getLicense(`key-${index}`))
      deepStrictEqual(
        found,
        found.map((_, index) => makeLicense(`key-${index}`, changed)),
      )
    },
  },
  {
    name: 'what one instance has answered the other sees at once, or support reads licences of yesterday',
    needs: ['seed', 'second'],
    async run({ storage, second, seed }) {
      await storage.insertLicense(makeLicense('key'))
      deepStrictEqual(await seed.getLicense('key'), makeLicense('key'))
      const update = { licenseKey: 'key', resellerId: 'reseller', patch: { status: 'new' }, at: 2000 }
      strictEqual(await second.updateLicense(update), 'updated')
      strictEqual((await seed.getLicense('key'))?.status, 'new')
      strictEqual(await storage.insertLicense(makeLicense('key')), 'key_taken')
    },
  },
]
