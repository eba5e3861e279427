import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { InsertLicenseResult, NewIdempotencyKey, UtilityStorage } from '../../ports/storage.ts'
import { countOf, hashOf, makeLicense, race, type ContractCase } from './context.ts'

function idempotencyKey(fields: Partial<NewIdempotencyKey> = {}): NewIdempotencyKey {
  return { resellerId: 'reseller', keyHash: hashOf(1), requestHash: hashOf(2), expiresAt: 5000, ...fields }
}

/** A replay in plain bytes, or the outcome as it is. */
function plain(result: InsertLicenseResult): unknown {
  return typeof result === 'string' ? result : { ...result, requestHash: Uint8Array.from(result.requestHash) }
}

async function raceForOneAnswer(stores: readonly UtilityStorage[]): Promise<void> {
  const storeOf = (index: number): UtilityStorage => stores[index % stores.length] as UtilityStorage
  const outcomes = await race(20, (index) =>
    storeOf(index).insertLicense(makeLicense(`key-${index}`), idempotencyKey({ requestHash: hashOf(index) })),
  )
  strictEqual(countOf<unknown>(outcomes, 'inserted'), 1, 'exactly one caller may insert')
  const winner = outcomes.indexOf('inserted')
  const replay = { replay: makeLicense(`key-${winner}`), requestHash: hashOf(winner) }
  deepStrictEqual(
    outcomes.map(plain),
    outcomes.map((_, index) => (index === winner ? 'inserted' : replay)),
  )
}

export const idempotencyCases: readonly ContractCase[] = [
  {
    name: 'a repeat gets the first answer and writes nothing, or a retry bills the customer twice',
    needs: ['seed'],
    async run({ storage, seed }) {
      strictEqual(await storage.insertLicense(makeLicense('first'), idempotencyKey()), 'inserted')
      const again = await storage.insertLicense(
        makeLicense('second'),
        idempotencyKey({ requestHash: hashOf(3) }),
      )
      deepStrictEqual(plain(again), { replay: makeLicense('first'), requestHash: hashOf(2) })
      strictEqual(await seed.getLicense('second'), null)
    },
  },
  {
    name: 'a repeat gets the first answer as it was given, or it shows what was changed since',
    async run({ storage }) {
      await storage.insertLicense(makeLicense('first'), idempotencyKey())
      const update = { licenseKey: 'first', resellerId: 'reseller', patch: { status: 'invalid' }, at: 2000 }
      strictEqual(await storage.updateLicense(update), 'updated')
      const again = await storage.insertLicense(makeLicense('second'), idempotencyKey())
      deepStrictEqual(plain(again), { replay: makeLicense('first'), requestHash: hashOf(2) })
    },
  },
  {
    name: 'the same idempotency key of another reseller is another key, or resellers read the licences of others',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense('first'), idempotencyKey())
      const theirs = idempotencyKey({ resellerId: 'other' })
      strictEqual(
        await storage.insertLicense(makeLicense('second', { resellerId: 'other' }), theirs),
        'inserted',
      )
      strictEqual((await seed.getLicense('second'))?.resellerId, 'other')
      const third = idempotencyKey({ keyHash: hashOf(9) })
      strictEqual(await storage.insertLicense(makeLicense('third'), third), 'inserted')
    },
  },
  {
    name: 'an idempotency key is forgotten at its expiry and not before, or old answers return for new orders',
    async run({ storage }) {
      await storage.insertLicense(makeLicense('first'), idempotencyKey())
      const late = makeLicense('late', { createdAt: 4999 })
      deepStrictEqual(plain(await storage.insertLicense(late, idempotencyKey())), {
        replay: makeLicense('first'),
        requestHash: hashOf(2),
      })
      const renewed = idempotencyKey({ requestHash: hashOf(3), expiresAt: 9000 })
      const second = makeLicense('second', { createdAt: 5000 })
      strictEqual(await storage.insertLicense(second, renewed), 'inserted')
      const third = await storage.insertLicense(makeLicense('third', { createdAt: 6000 }), renewed)
      deepStrictEqual(plain(third), { replay: second, requestHash: hashOf(3) })
    },
  },
  {
    name: 'a license key that is taken leaves no idempotency key behind, or the retry answers with nothing',
    async run({ storage }) {
      await storage.insertLicense(makeLicense('taken'))
      strictEqual(await storage.insertLicense(makeLicense('taken'), idempotencyKey()), 'key_taken')
      strictEqual(await storage.insertLicense(makeLicense('free'), idempotencyKey()), 'inserted')
    },
  },
  {
    name: 'a repeat is answered even if its own new key is taken, or a retry fails that had succeeded before',
    async run({ storage }) {
      await storage.insertLicense(makeLicense('first'), idempotencyKey())
      const again = await storage.insertLicense(makeLicense('first'), idempotencyKey())
      deepStrictEqual(plain(again), { replay: makeLicense('first'), requestHash: hashOf(2) })
    },
  },
  {
    name: 'twenty repeats at once: one licence, or an impatient client buys twenty',
    async run({ storage }) {
      await raceForOneAnswer([storage])
    },
  },
  {
    name: 'twenty repeats at once over two instances: one licence, or a retry through a second server buys again',
    needs: ['second'],
    async run({ storage, second }) {
      await raceForOneAnswer([storage, second])
    },
  },
]
