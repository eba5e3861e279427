import { createAdmin, type Admin, type AdminStorage } from 'utility-api'
import { callWithin, type StorageCall } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timedAdminStorage } from '../../src/storage/timed-admin-storage.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const never = (): Promise<never> => new Promise(() => {})
const silent = (methods: object): object =>
  Object.fromEntries(Object.keys(methods).map((name) => [name, never]))

/** A storage that answers nothing but what is given. */
function hanging(answering: Partial<AdminStorage> = {}): AdminStorage {
  const storage = memoryStorage()
  const listing = silent(storage.listing as object)
  return { ...(silent(storage) as AdminStorage), listing: listing as never, ...answering }
}

const license = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }
const code = { clientId: 'a', redirectUri: 'https://a.example/', scope: '' }
const asked = { ...code, kind: 'ask', state: null, codeChallenge: null } as const
const query = new URLSearchParams({ client_id: 'a', response_type: 'code', redirect_uri: code.redirectUri })

type Asking = Exclude<keyof Admin, 'authorizationServerMetadata' | 'protectedResourceMetadata'>

const calls: { readonly [Method in Asking]: (admin: Admin) => Promise<unknown> } = {
  createClient: (admin) => admin.createClient({ redirectUris: [] }),
  updateClient: (admin) => admin.updateClient('a', {}),
  rotateClientSecret: (admin) => admin.rotateClientSecret('a'),
  revokeClient: (admin) => admin.revokeClient('a'),
  readAuthorizationRequest: (admin) => admin.readAuthorizationRequest(query, { scopes: [] }),
  grantAuthorization: (admin) => admin.grantAuthorization(asked),
  denyAuthorization: (admin) => admin.denyAuthorization(asked),
  issueAuthorizationCode: (admin) => admin.issueAuthorizationCode(code),
  createReseller: (admin) => admin.createReseller(),
  createResellerToken: (admin) => admin.createResellerToken('shop'),
  createAccessToken: (admin) => admin.createAccessToken({ scope: '', clientId: 'a' }),
  createApiKey: (admin) => admin.createApiKey(),
  revoke: (admin) => admin.revoke({ id: 'a' }),
  revokeAccess: (admin) => admin.revokeAccess({ clientId: 'a' }),
  listClients: (admin) => admin.listClients(),
  listResellers: (admin) => admin.listResellers(),
  listCredentials: (admin) => admin.listCredentials({ kind: 'api_key' }),
  listLicenses: (admin) => admin.listLicenses(),
  countLicenses: (admin) => admin.countLicenses(),
  createLicense: (admin) => admin.createLicense(license),
  getLicense: (admin) => admin.getLicense('a'),
  updateLicense: (admin) => admin.updateLicense('a', { status: 'valid' }),
  deleteLicense: (admin) => admin.deleteLicense('a'),
  purgeExpired: (admin) => admin.purgeExpired(),
}

test.each(Object.entries(calls))('%s does not wait for a storage that hangs', async (method, work) => {
  const ended = vi.fn()
  const call = work(createAdmin({ storage: hanging() })).catch((error: unknown) => error)
  void call.finally(ended)
  const timeoutMs = method === 'purgeExpired' ? 600_000 : 30_000
  await vi.advanceTimersByTimeAsync(timeoutMs - 100)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(100)
  expect(ended).toHaveBeenCalled()
  expect(await call).toMatchObject({
    name: 'StorageError',
    kind: 'unavailable',
    // A write may have happened all the same.
    retryable: false,
    message: expect.stringMatching(/^The storage's \w+ did not answer in time\.$/),
  })
  expect(vi.getTimerCount()).toBe(0)
})

test('all that a method asks the storage has one deadline, and nothing begins after it', async () => {
  const insertCredential = vi.fn(never)
  const slow = (ms: number) => () =>
    new Promise<'inserted'>((resolve) => setTimeout(() => resolve('inserted'), ms))
  const ask = async (ms: number): Promise<unknown> => {
    const admin = createAdmin({ storage: hanging({ insertReseller: slow(ms), insertCredential }) })
    const call = admin.createReseller().catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(30_000)
    return call
  }
  expect(await ask(20_000)).toMatchObject({
    message: "The storage's insertCredential did not answer in time.",
  })
  const [, , , call] = insertCredential.mock.calls[0] as unknown as [unknown, unknown, unknown, StorageCall]
  expect(call.timeLeftMs()).toBeLessThanOrEqual(0)
  expect(await ask(31_000)).toMatchObject({ message: "The storage's insertReseller did not answer in time." })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(insertCredential).toHaveBeenCalledTimes(1)
})

test('what has no time left is not begun', async () => {
  const findLicense = vi.fn(never)
  const found = timedAdminStorage(hanging({ findLicense })).findLicense('a', callWithin(0))
  await expect(found).rejects.toMatchObject({ kind: 'unavailable' })
  expect(findLicense).not.toHaveBeenCalled()
})

test('a storage that hangs keeps no program alive', () => {
  vi.useRealTimers()
  const findLicense = vi.fn(never)
  const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const before = timers()
  createAdmin({ storage: hanging({ findLicense }) })
    .getLicense('a')
    .catch(() => 'its time is over long after this test')
  // In the same turn, so that no timer of the test runner comes between.
  expect(findLicense).toHaveBeenCalledOnce()
  expect(timers()).toBe(before)
})

test('a storage is called as the object that it is', async () => {
  const inner = memoryStorage()
  const storage = {
    ...inner,
    asked: [] as string[],
    async findLicense(licenseKey: string, call: StorageCall) {
      this.asked.push(licenseKey)
      return inner.findLicense(licenseKey, call)
    },
  }
  expect(await createAdmin({ storage }).getLicense('a')).toBeNull()
  expect(storage.asked).toEqual(['a'])
})
