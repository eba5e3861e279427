import { createAdmin, createUtilityApi } from 'utility-api'
import { callWithin, StorageError, type AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { faultyStorage, sequentialKeys, type FaultyStorageCall } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { licenseHeaders } from '../support/license-headers.ts'

const seeds = Number(process.env['SHOP_SEEDS'] ?? 200)

/** A shop that sells one license to one customer and tries until it has one. Returns how many the customer then has. */
async function sell(seed: number, keyOf: (attempt: number) => string | undefined): Promise<number> {
  const storage = memoryStorage()
  const keyGenerator = sequentialKeys()
  let attempt = 0
  const admin = createAdmin({ storage, keyGenerator })
  const { token } = await admin.createReseller()
  const api = createUtilityApi({
    storage: faultyStorage(storage, { seed }),
    keyGenerator,
    storageTimeoutMs: 50,
    logger: false,
  })
  const request = (): Request => {
    attempt += 1
    const headers = new Headers(licenseHeaders(token))
    const key = keyOf(attempt)
    if (key !== undefined) headers.set('Idempotency-Key', key)
    return new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST', headers })
  }
  // oxlint-disable-next-line no-await-in-loop -- one try after the other
  while ((await api.fetch(request())).status === 500);
  await api.close()
  return storage.listing?.countLicenses({}, callWithin(1000)) as number
}

/** Sells by many seeds at once, since a late answer takes its time. */
async function sellBy(count: number, keyOf: (attempt: number) => string | undefined): Promise<number[]> {
  const sold: number[] = []
  for (let first = 1; first <= count; first += 100) {
    const some = Array.from({ length: Math.min(100, count + 1 - first) }, (_, index) => first + index)
    // oxlint-disable-next-line no-await-in-loop -- so many at once, and no more
    sold.push(...(await Promise.all(some.map((seed) => sell(seed, keyOf)))))
  }
  return sold
}

test.each([
  ['without an idempotency key', () => undefined],
  ['with a new key each time', (attempt: number) => `order-1-${attempt}`],
])('a shop that tries again %s sells twice within 50 seeds', async (_, keyOf) => {
  const sold = await sellBy(50, keyOf)
  const caughtBySeed = sold.findIndex((licenses) => licenses > 1) + 1
  expect(caughtBySeed).toBeGreaterThan(0)
})

test(`a shop that keeps to its key sells once by each of ${seeds} seeds`, async () => {
  const sold = await sellBy(seeds, () => 'order-1')
  expect(sold).toHaveLength(seeds)
  expect(sold.flatMap((licenses, index) => (licenses === 1 ? [] : [index + 1]))).toEqual([])
})

/** Inserts resellers one by one, and tells what each call answered, or the kind and `retryable` of its error. */
async function insertResellers(storage: AdminStorage, count: number): Promise<unknown[]> {
  const answers: unknown[] = []
  for (let index = 0; index < count; index += 1) {
    const reseller = { resellerId: `r${index}`, createdAt: 1 }
    try {
      // oxlint-disable-next-line no-await-in-loop -- the order is the point
      answers.push(await storage.insertReseller(reseller, callWithin(2)))
    } catch (error) {
      const { kind, retryable } = error as StorageError
      answers.push({ kind, retryable })
    }
  }
  return answers
}

test('each fault tells its caller what it says, and the log what happened', async () => {
  const storage = memoryStorage()
  const faulty = faultyStorage(storage, { seed: 3, rate: 0.7 })
  const answers = await insertResellers(faulty, 60)
  const told = (fault: FaultyStorageCall['fault'], done: boolean): unknown => {
    if (fault === null || (fault === 'late' && done)) return 'inserted'
    return { kind: 'unavailable', retryable: fault !== 'failed' }
  }
  expect(answers).toEqual(faulty.log.map(({ fault, done }) => told(fault, done)))
  const kinds = new Set(faulty.log.map(({ fault, done }) => `${fault} ${done}`))
  expect(kinds).toEqual(new Set(['null true', 'refused false', 'late true', 'late false', 'failed true']))
  const found = await Promise.all(
    faulty.log.map((_, index) => storage.findReseller(`r${index}`, callWithin(1000))),
  )
  expect(found.map((row) => row !== null)).toEqual(faulty.log.map(({ done }) => done))
  expect(faulty.log.map(({ outcome }) => outcome)).toEqual(
    faulty.log.map(({ done }) => (done ? { answer: 'inserted' } : undefined)),
  )
})

test('a late answer comes once nobody waits any more', async () => {
  const faulty = faultyStorage(memoryStorage(), { seed: 3, rate: 1 })
  let left = 0
  const call = { timeLeftMs: () => (left = left === 0 ? 3 : Math.min(left, 1) - 1) }
  while (faulty.log.at(-1)?.fault !== 'late') {
    left = 0
    // oxlint-disable-next-line no-await-in-loop -- until the fault that is meant
    await Promise.resolve(faulty.ping?.(call)).catch(() => {})
  }
  expect(left).toBeLessThanOrEqual(0)
})

test('the same seed gives the same faults, another seed others', async () => {
  const faultsOf = async (seed: number): Promise<unknown> => {
    const faulty = faultyStorage(memoryStorage(), { seed })
    await insertResellers(faulty, 50)
    return faulty.log
  }
  const [once, again, other] = await Promise.all([faultsOf(1), faultsOf(1), faultsOf(2)])
  expect(again).toEqual(once)
  expect(other).not.toEqual(once)
})

test('what the storage throws by itself is in the log and thrown on', async () => {
  const faulty = faultyStorage(memoryStorage(), { seed: 1, rate: 0 })
  await faulty.close?.()
  await expect(faulty.findClient('c', callWithin(1000))).rejects.toThrow(StorageError)
  expect(faulty.log).toEqual([
    {
      method: 'findClient',
      fault: null,
      done: true,
      outcome: { error: expect.objectContaining({ kind: 'unavailable' }) },
    },
  ])
})

test('lists fail too, and other methods do not', async () => {
  const faulty = faultyStorage(memoryStorage(), { seed: 1, rate: 1 })
  const lists = Array.from({ length: 20 }, async () => faulty.listing?.countLicenses({}, callWithin(1)))
  const answers = await Promise.allSettled(lists)
  expect(answers.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(5)
  expect(faulty.log.map(({ method }) => method)).toContain('listing.countLicenses')
  const { length } = faulty.log
  await faulty.close?.()
  expect(faulty.log).toHaveLength(length)
})

test('a store may be an instance of a class with private members, or frozen, and may lack what is optional', async () => {
  class Store {
    readonly #clients = new Map([['c', 'found']])
    findClient(id: string): string | undefined {
      return this.#clients.get(id)
    }
    migrate(): number {
      return this.#clients.size
    }
  }
  const faulty = faultyStorage(Object.freeze(new Store()) as unknown as AdminStorage & Store, {
    seed: 1,
    rate: 0,
  })
  expect(await faulty.findClient('c', callWithin(1000))).toBe('found')
  expect(faulty.migrate()).toBe(1)
  expect([faulty.ping, faulty.recordUse, faulty.listing]).toEqual([undefined, undefined, undefined])
  const frozen = faultyStorage(Object.freeze(memoryStorage()), { seed: 1, rate: 1 })
  await Promise.resolve(frozen.findClient('c', callWithin(1))).catch(() => {})
  expect(frozen.log).toHaveLength(1)
})
