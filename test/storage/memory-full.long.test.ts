import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { call } from './support/call.ts'
import { newLicense } from './support/license.ts'

test('refuses row 1,000,001 instead of forgetting an older one or exhausting memory', async () => {
  const storage = memoryStorage()
  const license = newLicense('more')
  for (let index = 0; index < 1_000_000; index += 1)
    void storage.insertLicense({ ...license, licenseKey: `${index}` }, undefined, call)
  expect(() => storage.insertLicense(license, undefined, call)).toThrow(/full/)
  expect(await storage.findLicense('0', call)).not.toBeNull()
})
