import { callWithin, StorageError, withCheckedRows, type AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { newCredential } from './support/rows.ts'

const call = callWithin(Infinity)
const credential = newCredential('token')

test('a storage whose methods are those of a class keeps them all', async () => {
  class Store {
    readonly #inner = memoryStorage()
    findCredential(...args: Parameters<AdminStorage['findCredential']>) {
      return this.#inner.findCredential(...args)
    }
    insertCredential(...args: Parameters<AdminStorage['insertCredential']>) {
      return this.#inner.insertCredential(...args)
    }
  }
  const others = memoryStorage()
  for (const [name, method] of Object.entries(others))
    if (!(name in Store.prototype)) Object.assign(Store.prototype, { [name]: method })
  const lacking = { ...others, insertReseller: undefined }
  expect(() => withCheckedRows(lacking as never)).toThrow(/^storage: must have .* lacks insertReseller\.$/)
  const store = withCheckedRows(new Store() as unknown as AdminStorage)
  const hash = new Uint8Array(32)
  await store.insertCredential('api_key', hash, credential, call)
  expect(await store.findCredential('api_key', hash, call)).toEqual(credential)
})

test('a refusal names the method and the member, and is a rejection', async () => {
  const wrong = { ...credential, expiresAt: Number.NaN }
  const refusal = memoryStorage().insertCredential('api_key', new Uint8Array(32), wrong, call)
  await expect(refusal).rejects.toEqual(
    new StorageError(
      'invalid',
      'insertCredential: expiresAt must be null or integer milliseconds since the epoch.',
    ),
  )
})

test('null instead of an object is a rejection too, and nothing is thrown', async () => {
  const storage = memoryStorage()
  const nothing = null as never
  const calls: Record<string, () => unknown> = {
    insertClient: () => storage.insertClient(nothing, call),
    updateClient: () => storage.updateClient('client', nothing, call),
    insertAuthorizationCode: () => storage.insertAuthorizationCode(new Uint8Array(32), nothing, call),
    insertReseller: () => storage.insertReseller(nothing, call),
    insertCredential: () => storage.insertCredential('api_key', new Uint8Array(32), nothing, call),
    revokeCredential: () => storage.revokeCredential(nothing, 1, call),
    revokeAccess: () => storage.revokeAccess('client' as never, 1, call),
    insertLicense: () => storage.insertLicense(nothing, undefined, call),
    changeLicense: () => storage.changeLicense('LIC-1', nothing, 1, call),
  }
  for (const [name, attempt] of Object.entries(calls)) {
    // oxlint-disable-next-line no-await-in-loop
    await expect(attempt(), name).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(new RegExp(`^${name}: .* must come in an object\\.$`)),
    })
  }
})
