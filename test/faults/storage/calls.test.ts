/** Every fault at every call of every operation, one at a time. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import type { AdminStorage, StorageListing } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { hashSecret } from '../../../src/domain/secret.ts'
import { call } from '../../storage/support/call.ts'
import { newLicense } from '../../storage/support/license.ts'
import { idleClients } from '../../support/idle-clients.ts'
import { faults, faultyStorage, type AskedCall } from './faulty.ts'
import { grantFields } from '../../http/support/grant.ts'

const enoughMs = 20_000
/** What storage has where it is waited for in vain. */
const shortMs = 500
const redirectUri = 'https://client.example/callback'

interface World {
  readonly admin: Admin
  readonly storage: AdminStorage
  readonly token: string
  readonly licenseKey: string
  readonly accessToken: string
  readonly apiKey: string
  readonly exchange: Readonly<Record<string, string>>
}

async function createWorld(): Promise<World> {
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
  const { token, resellerId } = await admin.createReseller()
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const { apiKey } = await admin.createApiKey()
  const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: 'a b' })
  const licenseKey = 'LIC-of-another-kind'
  await storage.insertLicense(newLicense(licenseKey, { resellerId }), undefined, call)
  const exchange = grantFields({ clientId, clientSecret }, code, redirectUri)
  return { admin, storage, token, licenseKey, accessToken, apiKey, exchange }
}

function serve(storage: AdminStorage, timeoutMs: number): UtilityApi {
  return createUtilityApi({ storage, storageTimeoutMs: timeoutMs, ...idleClients })
}

type Send = (api: UtilityApi) => Promise<Response>

interface Operation {
  readonly name: string
  /** How many calls it makes. */
  readonly calls: number
  /** Makes the request; done before the store breaks. */
  readonly prepare: (world: World) => Promise<Send>
  /** What a repeat is answered where the store has done its work, or has not. */
  readonly repeat: (worked: boolean) => number
}

function request(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Send {
  return (api) =>
    api.fetch(
      new Request(`http://localhost${path}`, { method, headers, ...(body !== undefined && { body }) }),
    )
}

const json = { 'Content-Type': 'application/json' }
const exchange = ({ exchange: body }: World): Send =>
  request('POST', '/v4/oauth2/token', json, JSON.stringify(body))

function generate({ token }: World, more: Readonly<Record<string, string>> = {}): Send {
  const fields = { 'X-Registered-To': 'New', 'X-Domain-Or-IP': 'b.example', 'X-Status': 'valid' }
  return request('POST', '/v2/reseller/licenses/generate', {
    Authorization: `Bearer ${token}`,
    ...fields,
    ...more,
  })
}

const operations: readonly Operation[] = [
  {
    name: 'an exchange',
    calls: 3,
    prepare: async (world) => exchange(world),
    repeat: (worked) => (worked ? 400 : 200),
  },
  {
    name: 'the replay of an exchange',
    calls: 3,
    async prepare(world) {
      await exchange(world)(serve(world.storage, enoughMs))
      return exchange(world)
    },
    repeat: () => 400,
  },
  { name: 'a license', calls: 2, prepare: async (world) => generate(world), repeat: () => 200 },
  {
    name: 'a license with an idempotency key',
    calls: 2,
    prepare: async (world) => generate(world, { 'Idempotency-Key': 'once' }),
    repeat: () => 200,
  },
  {
    name: 'an update',
    calls: 2,
    prepare: async ({ token, licenseKey }) =>
      request('PUT', `/v2/reseller/${licenseKey}/update`, {
        Authorization: `Bearer ${token}`,
        'X-Registered-To': 'After',
      }),
    repeat: () => 200,
  },
  {
    name: 'a DNS check',
    calls: 1,
    prepare: async ({ accessToken }) =>
      request('GET', '/v3/tools/dnscheck', {
        Authorization: `Bearer ${accessToken}`,
        'X-Domain': 'a.example',
        'X-Record-Type': 'A',
      }),
    repeat: () => 200,
  },
  {
    name: 'a game server lookup',
    calls: 1,
    prepare: async ({ apiKey }) =>
      request('GET', '/v4/games/blockgame/lookup', { Basic: apiKey, 'X-Address': '1.1.1.1' }),
    repeat: () => 200,
  },
]

/** All rows there are. */
async function rowsOf({ storage, exchange: { code = '' } }: World): Promise<object> {
  const listing = storage.listing as StorageListing
  return {
    licenses: (await listing.licenses({ limit: 1000 }, call)).licenses,
    tokens: (await listing.credentials({ kind: 'access_token', limit: 1000 }, call)).credentials,
    code: await storage.findAuthorizationCode(hashSecret(code), call),
  }
}

async function tryOne(
  name: string,
  { prepare, repeat, ...operation }: Operation,
  failing: number,
): Promise<void> {
  const { works, waits, answer } = faults(2 * shortMs)[name]!
  const where = `${operation.name}, call ${failing + 1}`
  const world = await createWorld()
  const send = await prepare(world)
  const before = await rowsOf(world)
  let calls = 0
  const store = faultyStorage(world.storage, (asked: AskedCall) =>
    (calls += 1) === failing + 1 ? answer(asked) : asked.work(),
  )
  const response = await send(serve(store, waits ? shortMs : enoughMs))
  const { error } = (await response.json()) as { error?: string }
  expect([response.status, error], where).toEqual([500, expect.stringMatching(/^(database|server)_error$/)])
  // What has not begun when the answer went out must not begin afterwards.
  await sleep(waits ? 3 * shortMs : 10)
  expect(calls, `${where}: nothing is asked of a store that failed`).toBe(failing + 1)
  const isLast = failing + 1 === operation.calls
  if (!works || !isLast) expect(await rowsOf(world), where).toEqual(before)

  const again = await send(serve(world.storage, enoughMs))
  expect(again.status, `${where}: the same again`).toBe(repeat(works && isLast))
  const { licenses } = (await rowsOf(world)) as { licenses: { registeredTo: string }[] }
  const made = licenses.filter(({ registeredTo }) => registeredTo === 'New').length
  expect(made, `${where}: licenses`).toBeLessThanOrEqual(operation.name === 'a license' && works ? 2 : 1)
}

test('the calls of each operation are counted right', async () => {
  for (const { prepare, calls } of operations) {
    const world = await createWorld()
    const send = await prepare(world)
    let made = 0
    const store = faultyStorage(world.storage, ({ work }) => {
      made += 1
      return work()
    })
    await send(serve(store, enoughMs))
    expect(made).toBe(calls)
  }
})

test.each(Object.keys(faults(0)))('a store that %s', async (name) => {
  const attempts = operations.flatMap((operation) =>
    Array.from({ length: operation.calls }, (_, failing) => tryOne(name, operation, failing)),
  )
  await Promise.all(attempts)
})
