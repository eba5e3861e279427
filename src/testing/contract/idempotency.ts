import { strictEqual } from 'node:assert/strict'
import type { License } from '../../domain/license.ts'
import type { NewIdempotencyKey } from '../../ports/storage.ts'
import type { BoundStorage } from './bound.ts'
import {
  countOf,
  equalValues,
  hashOf,
  makeLicense,
  nameOf,
  raceOverTurns,
  type ContractCase,
} from './context.ts'

function idempotencyKey(fields: Partial<NewIdempotencyKey> = {}): NewIdempotencyKey {
  return {
    resellerId: nameOf('reseller'),
    keyHash: hashOf(1),
    requestHash: hashOf(2),
    expiresAt: 5000,
    ...fields,
  }
}

async function raceForOneAnswer(stores: readonly BoundStorage[], createdAt = 1000): Promise<void> {
  const storeOf = (index: number): BoundStorage => stores[index % stores.length] as BoundStorage
  const licenseOf = (index: number): License => makeLicense(nameOf(`key-${index}`), { createdAt })
  const expiresAt = createdAt + 4000
  const outcomes = await raceOverTurns(20, (index) =>
    storeOf(index).insertLicense(licenseOf(index), idempotencyKey({ requestHash: hashOf(index), expiresAt })),
  )
  strictEqual(countOf<unknown>(outcomes, 'inserted'), 1, 'exactly one caller inserts')
  const winner = outcomes.indexOf('inserted')
  const replay = { replay: licenseOf(winner), requestHash: hashOf(winner) }
  equalValues(
    outcomes,
    outcomes.map((_, index) => (index === winner ? 'inserted' : replay)),
  )
}

export const idempotencyCases: readonly ContractCase[] = [
  {
    name: 'a repeat gets the first answer and writes nothing, or a retry bills the customer twice',
    needs: ['seed'],
    async run({ storage, seed }) {
      strictEqual(await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey()), 'inserted')
      const again = await storage.insertLicense(
        makeLicense(nameOf('second')),
        idempotencyKey({ requestHash: hashOf(3) }),
      )
      equalValues(again, { replay: makeLicense(nameOf('first')), requestHash: hashOf(2) })
      strictEqual(await seed.findLicense(nameOf('second')), null)
    },
  },
  {
    name: 'a repeat gets the first answer unchanged, or it shows what was changed since',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey())
      const update = {
        licenseKey: nameOf('first'),
        resellerId: nameOf('reseller'),
        patch: { status: 'invalid' },
        at: 2000,
      }
      strictEqual(await storage.updateLicense(update), 'updated')
      const again = await storage.insertLicense(makeLicense(nameOf('second')), idempotencyKey())
      equalValues(again, { replay: makeLicense(nameOf('first')), requestHash: hashOf(2) })
    },
  },
  {
    name: 'each reseller has its own idempotency keys, or resellers read the licenses of others',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey())
      const theirs = idempotencyKey({ resellerId: 'other' })
      strictEqual(
        await storage.insertLicense(makeLicense(nameOf('second'), { resellerId: 'other' }), theirs),
        'inserted',
      )
      strictEqual((await seed.findLicense(nameOf('second')))?.resellerId, 'other')
      const third = idempotencyKey({ keyHash: hashOf(9) })
      strictEqual(await storage.insertLicense(makeLicense(nameOf('third')), third), 'inserted')
    },
  },
  {
    name: 'an idempotency key is forgotten at its expiry and not before, or new orders get old answers',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey())
      const late = makeLicense(nameOf('late'), { createdAt: 4999 })
      equalValues(await storage.insertLicense(late, idempotencyKey()), {
        replay: makeLicense(nameOf('first')),
        requestHash: hashOf(2),
      })
      const renewed = idempotencyKey({ requestHash: hashOf(3), expiresAt: 9000 })
      const second = makeLicense(nameOf('second'), { createdAt: 5000 })
      strictEqual(await storage.insertLicense(second, renewed), 'inserted')
      const third = await storage.insertLicense(makeLicense(nameOf('third'), { createdAt: 6000 }), renewed)
      equalValues(third, { replay: second, requestHash: hashOf(3) })
    },
  },
  {
    name: 'inserting a key that exists stores no idempotency key, or a retry gets an answer without a license',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('taken')))
      strictEqual(await storage.insertLicense(makeLicense(nameOf('taken')), idempotencyKey()), 'key_taken')
      strictEqual(await storage.insertLicense(makeLicense(nameOf('free')), idempotencyKey()), 'inserted')
    },
  },
  {
    name: 'inserting a key that exists leaves an expired idempotency key expired, or a retry gets the license of another',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey())
      await storage.insertLicense(makeLicense(nameOf('taken')))
      const renewed = idempotencyKey({ expiresAt: 9000 })
      const taken = makeLicense(nameOf('taken'), { createdAt: 6000 })
      strictEqual(await storage.insertLicense(taken, renewed), 'key_taken')
      const free = makeLicense(nameOf('free'), { createdAt: 6000 })
      strictEqual(await storage.insertLicense(free, renewed), 'inserted')
    },
  },
  {
    name: 'a repeat is answered even if the new key that it brings exists, or a retry fails that succeeded before',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey())
      const again = await storage.insertLicense(makeLicense(nameOf('first')), idempotencyKey())
      equalValues(again, { replay: makeLicense(nameOf('first')), requestHash: hashOf(2) })
    },
  },
  {
    name: 'twenty repeats at once: one license, or an impatient client gets twenty',
    async run({ storage }) {
      await raceForOneAnswer([storage])
    },
  },
  {
    name: 'twenty repeats at once over two instances: one license, or a retry through a second server makes another',
    needs: ['second'],
    async run({ storage, second }) {
      await raceForOneAnswer([storage, second])
    },
  },
  {
    name: 'twenty repeats at once of a request that was forgotten: one license, or an impatient client gets twenty',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('old')), idempotencyKey())
      await raceForOneAnswer([storage], 6000)
    },
  },
  {
    name: 'twenty repeats over two instances of a request that was forgotten: one license, or a second server makes another',
    needs: ['second'],
    async run({ storage, second }) {
      await storage.insertLicense(makeLicense(nameOf('old')), idempotencyKey())
      await raceForOneAnswer([storage, second], 6000)
    },
  },
]
