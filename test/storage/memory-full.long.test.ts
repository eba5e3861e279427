import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { call } from './support/call.ts'

test('refuses row 1,000,001 instead of forgetting an older one or exhausting memory', async () => {
  const storage = memoryStorage()
  const license = {
    registeredTo: 'Ada',
    domainOrIp: 'a',
    comparedDomain: 'a',
    status: 'valid',
    resellerId: 'r',
    createdAt: 1,
    updatedAt: 1,
    reference: null,
    expiresAt: null,
  }
  for (let index = 0; index < 1_000_000; index += 1)
    void storage.insertLicense({ ...license, licenseKey: `${index}` }, undefined, call)
  expect(() => storage.insertLicense({ ...license, licenseKey: 'more' }, undefined, call)).toThrow(/full/)
  expect(await storage.findLicense('0', call)).not.toBeNull()
})
