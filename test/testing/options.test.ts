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

test.each([
  ['fakeDnsServer', fakeDnsServer, { drop: true }, 'drop: must be a number of queries.'],
  ['fakeDnsServer', fakeDnsServer, { drop: NaN }, 'drop: must be a number of queries.'],
  ['fakeDnsServer', fakeDnsServer, { delayMs: '5' }, 'delayMs: must be a number.'],
  ['fakeDnsServer', fakeDnsServer, { truncate: 1 }, 'truncate: must be true or false.'],
  [
    'fakeDnsServer',
    fakeDnsServer,
    { rcode: 'FOO' },
    'rcode: must be the name or the number of a response code.',
  ],
  [
    'fakeDnsServer',
    fakeDnsServer,
    { rcode: 4096 },
    'rcode: must be the name or the number of a response code.',
  ],
  ['fakeDnsServer', fakeDnsServer, { records: {} }, 'records: must be a list.'],
  ['fakeDnsServer', fakeDnsServer, { ip: '0.0.0.0' }, "ip: must be '127.0.0.1' or '::1'."],
  ['fakeBlockgameServer', fakeBlockgameServer, { pong: 'no' }, "pong: must be true, false or 'close'."],
  [
    'fakeBlockgameServer',
    fakeBlockgameServer,
    { era: 'x' },
    "era: must be 'modern' or '1.6' or '1.4' or 'beta'.",
  ],
  ['fakeBlockgameServer', fakeBlockgameServer, { delayMs: -1 }, 'delayMs: must not be negative.'],
  [
    'fakeBlockgameServer',
    fakeBlockgameServer,
    { chunkBytes: 0 },
    'chunkBytes: must be a whole number from 1 to 2147483647.',
  ],
  ['fakeBlockgameServer', fakeBlockgameServer, { script: 'kick' }, 'script: must be a function.'],
  [
    'fakeBlockgameServer',
    fakeBlockgameServer,
    { port: 70_000 },
    'port: must be a whole number from 0 to 65535.',
  ],
] as const)(
  '%s refuses a value that it would take for another, in %o',
  async (_, start, options, message) => {
    await expect(start(options as object)).rejects.toMatchObject({ code: 'invalid_options', message })
  },
)
