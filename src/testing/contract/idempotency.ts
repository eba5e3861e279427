import { strictEqual } from 'node:assert/strict'
import type { BoundStorage } from './bound.ts'
import {
  countOf,
  equalValues,
  hashOf,
  makeIdempotencyKey,
  makeLicense,
  nameOf,
  raceOverTurns,
  type ContractCase,
} from './context.ts'

async function raceForOneAnswer(stores: readonly BoundStorage[], at = 1000): Promise<void> {
  const storeOf = (index: number): BoundStorage => stores[index % stores.length] as BoundStorage
  const expiresAt = at + 4000
  const outcomes = await raceOverTurns(20, (index) => {
    const key = makeIdempotencyKey({ requestHash: hashOf(index), at, expiresAt })
    return storeOf(index).insertLicense(makeLicense(nameOf(`key-${index}`)), key)
  })
  strictEqual(countOf<unknown>(outcomes, 'inserted'), 1, 'exactly one caller inserts')
  const winner = outcomes.indexOf('inserted')
  const replay = { replay: nameOf(`key-${winner}`), requestHash: hashOf(winner) }
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
      strictEqual(await storage.insertLicense(makeLicense(nameOf('first')), makeIdempotencyKey()), 'inserted')
      const again = await storage.insertLicense(
        makeLicense(nameOf('second')),
        makeIdempotencyKey({ requestHash: hashOf(3) }),
      )
      equalValues(again, { replay: nameOf('first'), requestHash: hashOf(2) })
      strictEqual(await seed.findLicense(nameOf('second')), null)
    },
  },
  {
    name: 'a repeat gets the key of a license that was changed, moved or deleted since, or a payment is answered twice',
    needs: ['admin'],
    async run({ admin }) {
      const key = makeIdempotencyKey()
      const first = { replay: nameOf('first'), requestHash: hashOf(2) }
      const again = (): unknown => admin.insertLicense(makeLicense(nameOf('second')), key)
      await admin.insertLicense(makeLicense(nameOf('first')), key)
      await admin.changeLicense(nameOf('first'), { registeredTo: 'new', resellerId: 'other' }, 2000)
      equalValues(await again(), first)
      await admin.deleteLicense(nameOf('first'))
      equalValues(await again(), first)
      strictEqual(await admin.findLicense(nameOf('second')), null)
    },
  },
  {
    name: 'each reseller has its own idempotency keys, or resellers read the licenses of others',
    needs: ['seed'],
    async run({ storage, seed }) {
      await storage.insertLicense(makeLicense(nameOf('first')), makeIdempotencyKey())
      const theirs = makeIdempotencyKey({ resellerId: 'other' })
      strictEqual(
        await storage.insertLicense(makeLicense(nameOf('second'), { resellerId: 'other' }), theirs),
        'inserted',
      )
      strictEqual((await seed.findLicense(nameOf('second')))?.resellerId, 'other')
      const third = makeIdempotencyKey({ keyHash: hashOf(9) })
      strictEqual(await storage.insertLicense(makeLicense(nameOf('third')), third), 'inserted')
    },
  },
  {
    name: 'an idempotency key is forgotten at its expiry and not before, or new orders get old answers',
    async run({ storage }) {
      // When a license was created says nothing, because it may have been years before, in another system.
      const ask = (key: string, at: number, requestHash = hashOf(2)): unknown =>
        storage.insertLicense(
          makeLicense(nameOf(key), { createdAt: 10_000 - at }),
          makeIdempotencyKey({ at, requestHash, expiresAt: at < 5000 ? 5000 : 9000 }),
        )
      strictEqual(await ask('first', 1000), 'inserted')
      equalValues(await ask('late', 4999), { replay: nameOf('first'), requestHash: hashOf(2) })
      strictEqual(await ask('second', 5000, hashOf(3)), 'inserted')
      equalValues(await ask('third', 8999), { replay: nameOf('second'), requestHash: hashOf(3) })
    },
  },
  {
    name: 'an idempotency key without an expiry is never forgotten, or a payment that is reported again is sold again',
    async run({ storage }) {
      const ask = (key: string, at: number): unknown =>
        storage.insertLicense(makeLicense(nameOf(key)), makeIdempotencyKey({ at, expiresAt: null }))
      strictEqual(await ask('first', 1000), 'inserted')
      const first = { replay: nameOf('first'), requestHash: hashOf(2) }
      equalValues(await ask('second', Number.MAX_SAFE_INTEGER), first)
    },
  },
  {
    name: 'inserting a key that exists stores no idempotency key, or a retry gets an answer without a license',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('taken')))
      strictEqual(
        await storage.insertLicense(makeLicense(nameOf('taken')), makeIdempotencyKey()),
        'key_taken',
      )
      strictEqual(await storage.insertLicense(makeLicense(nameOf('free')), makeIdempotencyKey()), 'inserted')
    },
  },
  {
    name: 'inserting a key that exists leaves an expired idempotency key expired, or a retry gets the license of another',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('first')), makeIdempotencyKey({ expiresAt: 5000 }))
      await storage.insertLicense(makeLicense(nameOf('taken')))
      const renewed = makeIdempotencyKey({ at: 6000 })
      strictEqual(await storage.insertLicense(makeLicense(nameOf('taken')), renewed), 'key_taken')
      strictEqual(await storage.insertLicense(makeLicense(nameOf('free')), renewed), 'inserted')
    },
  },
  {
    name: 'a repeat is answered even if the new key that it brings exists, or a retry fails that succeeded before',
    async run({ storage }) {
      await storage.insertLicense(makeLicense(nameOf('first')), makeIdempotencyKey())
      const again = await storage.insertLicense(makeLicense(nameOf('first')), makeIdempotencyKey())
      equalValues(again, { replay: nameOf('first'), requestHash: hashOf(2) })
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
      await storage.insertLicense(makeLicense(nameOf('old')), makeIdempotencyKey({ expiresAt: 5000 }))
      await raceForOneAnswer([storage], 6000)
    },
  },
  {
    name: 'twenty repeats over two instances of a request that was forgotten: one license, or a second server makes another',
    needs: ['second'],
    async run({ storage, second }) {
      await storage.insertLicense(makeLicense(nameOf('old')), makeIdempotencyKey({ expiresAt: 5000 }))
      await raceForOneAnswer([storage, second], 6000)
    },
  },
]
