import { fakeBlockgameServer, fakeDnsServer, storageContract } from 'utility-api/testing'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'

// An option that is ignored would leave a test green that tests something else.

const misspelled = {
  fakeDnsServer: [() => fakeDnsServer({ record: [] } as object), 'record: is not an option.'],
  fakeBlockgameServer: [() => fakeBlockgameServer({ delay: 5 } as object), 'delay: is not an option.'],
  storageContract: [
    async () => storageContract(() => ({ storage: memoryStorage(), close() {} }), { seed: 5 } as object),
    'seed: is not an option.',
  ],
} as const

test.each(Object.entries(misspelled))('%s refuses a misspelled option', async (_, [call, message]) => {
  await expect(call()).rejects.toMatchObject({ code: 'invalid_options', message })
})
