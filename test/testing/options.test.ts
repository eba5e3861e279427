import { fakeBlockgameServer, fakeDnsServer, faultyStorage, storageContract } from 'utility-api/testing'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'

// An option that is ignored would leave a test green that tests something else.

const misspelled = {
  fakeDnsServer: [() => fakeDnsServer({ record: [] } as object), 'record: is not an option; records is.'],
  fakeBlockgameServer: [
    () => fakeBlockgameServer({ delay: 5 } as object),
    'delay: is not an option; delayMs is.',
  ],
  storageContract: [
    async () => storageContract(() => ({ storage: memoryStorage(), close() {} }), { seed: 5 } as object),
    'seed: is not an option; seeds is.',
  ],
  faultyStorage: [
    async () => faultyStorage(memoryStorage(), { seed: 1, seeds: 5 } as { seed: number }),
    'seeds: is not an option; seed is.',
  ],
} as const

const seeds = 'seeds: must be a list of at least one integer.'
const calls = 'calls: must be a positive integer.'

test.each([
  [{ seeds: [] }, seeds],
  [{ seeds: 1 }, seeds],
  [{ seeds: [1, 1.5] }, seeds],
  [{ seeds: null }, seeds],
  [{ calls: 0 }, calls],
  [{ calls: -5 }, calls],
  [{ calls: NaN }, calls],
  [{ calls: 2.5 }, calls],
  [{ calls: '500' }, calls],
])('storageContract refuses %j, with which no history would test anything', (options, message) => {
  const make = () => ({ storage: memoryStorage(), close() {} })
  expect(() => storageContract(make, options as object)).toThrow(
    expect.objectContaining({ code: 'invalid_options', message }),
  )
})

const rate = 'rate: must be a number from 0 to 1.'

test.each([
  [{}, 'seed: must be an integer.'],
  [{ seed: 1.5 }, 'seed: must be an integer.'],
  [{ seed: 1, rate: -0.1 }, rate],
  [{ seed: 1, rate: 20 }, rate],
  [{ seed: 1, rate: '1' }, rate],
])('faultyStorage refuses %j', (options, message) => {
  expect(() => faultyStorage(memoryStorage(), options as { seed: number })).toThrow(
    expect.objectContaining({ code: 'invalid_options', message }),
  )
})

test.each(Object.entries(misspelled))('%s refuses a misspelled option', async (_, [call, message]) => {
  await expect(call()).rejects.toMatchObject({ code: 'invalid_options', message })
})
