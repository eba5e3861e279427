import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { callWithin, type StorageListing } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { closable } from '../../adapters/storage/shared/closing.ts'

test('closing waits for the calls inside, whether they succeed or fail', async () => {
  const [good, bad] = [Promise.withResolvers<null>(), Promise.withResolvers<boolean>()]
  const { listing, ...methods } = memoryStorage()
  const own = { ...methods, findLicense: () => good.promise, deleteLicense: () => bad.promise }
  const storage = closable(own, listing as StorageListing)
  const call = callWithin(5000)
  const [found, written] = [storage.findLicense('a', call), storage.deleteLicense('a', call)]
  let isClosed = false
  const closed = Promise.resolve(storage.close?.()).then(() => (isClosed = true))
  good.resolve(null)
  await found
  await turn()
  expect(isClosed).toBe(false)
  bad.reject(new Error('full'))
  await expect(written).rejects.toThrow('full')
  await turn()
  expect(isClosed).toBe(true)
  await closed
})
