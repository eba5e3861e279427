import { randomKeys } from 'utility-api'
import type { LicenseUpdate, UtilityStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { callerNamed, callWith } from './support/calls.ts'
import { timedStorage } from '../../src/storage/timed-storage.ts'
import { updateLicense, type UpdateLicenseInput } from '../../src/operations/update-license.ts'

const keyGenerator = randomKeys()
const clock = fixedClock()

/** Updates by a key, and tells what storage was asked. */
async function update(
  input: UpdateLicenseInput,
): Promise<{ updates: LicenseUpdate[]; code: string | undefined }> {
  const updates: LicenseUpdate[] = []
  const storage: UtilityStorage = {
    ...memoryStorage(),
    updateLicense(change) {
      updates.push(change)
      return 'not_found'
    },
  }
  const parts = { keyPrefix: 'LIC-', statuses: ['valid'], allowWildcards: false }
  const operation = updateLicense({ storage: timedStorage(storage), clock, keyGenerator, ...parts })
  const run = async (): Promise<unknown> => operation.run(input, callerNamed('r-1'), callWith())
  const error: unknown = await run().catch((thrown: unknown) => thrown)
  return { updates, code: (error as { code?: string }).code }
}

test('a key that fails its check symbols is not looked up', async () => {
  const key = keyGenerator.licenseKey('LIC-')
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  expect(await update({ licenseKey: wrong, status: 'valid' })).toStrictEqual({
    updates: [],
    code: 'license_not_found',
  })
})

test('a key is looked up in its canonical form, for its reseller, with only the sent fields', async () => {
  const key = keyGenerator.licenseKey('LIC-')
  const { updates } = await update({ licenseKey: `LIC-${key.slice(4).toLowerCase()}`, status: 'valid' })
  expect(updates).toStrictEqual([
    { licenseKey: key, resellerId: 'r-1', patch: { status: 'valid' }, at: clock.now() },
  ])
})

test('without a field storage is not called', async () => {
  expect(await update({ licenseKey: 'OLD-1' })).toStrictEqual({ updates: [], code: 'invalid_request' })
})
