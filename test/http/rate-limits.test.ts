/** What the host's rate limiter is asked, and what its decisions and failures do. */
import { createAdmin, createUtilityApi, type RateLimiter } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { sendToFetch, type TestAnswer } from './support/send.ts'
import { createWorld, generateRequest, licenseHeaders, type World } from './support/world.ts'
import { addressKey } from '../../src/bounds/address-key.ts'
import { eventually } from '../support/eventually.ts'
import { jsonRequest, tokenFields, type TokenFields } from './support/token-request.ts'

const storage = memoryStorage()
const { token } = await createAdmin({ storage }).createReseller()
const unavailable = { status: 503, headers: { 'retry-after': '1' }, json: { error: 'unavailable' } }

const generate = generateRequest(token)

let world: World
const keys: string[] = []
let decide: RateLimiter['consume']

beforeEach(async () => {
  keys.length = 0
  decide = async () => ({ allowed: true })
  const rateLimiter: RateLimiter = {
    consume(key) {
      keys.push(key)
      return decide(key)
    },
  }
  world = await createWorld('Node http', { rateLimiter })
})
afterEach(() => world.close())

const exchange = async (changes: TokenFields = {}): Promise<TestAnswer> =>
  world.send(jsonRequest(await tokenFields(world, changes)))
const generateAs = (secret: string): Promise<TestAnswer> => world.send(generateRequest(secret))

test('count by caller once it is known, and by address if credentials fail', async () => {
  await generateAs(world.resellerToken)
  expect(keys.splice(0)).toStrictEqual([`reseller_token:${world.resellerId}`])
  await generateAs('wrong')
  expect(keys.splice(0)).toStrictEqual(['address:127.0.0.1'])
  await exchange()
  expect(keys.splice(0)).toStrictEqual([`client:${world.clientId}`])
  await exchange({ client_secret: 'wrong' })
  expect(keys.splice(0)).toStrictEqual(['address:127.0.0.1'])
  await world.send({ method: 'GET', path: '/nowhere' })
  await world.send({ method: 'OPTIONS', path: '/v3/tools/dnscheck' })
  expect(keys).toStrictEqual([])
})

test('count by caller if all that fails is a scope or a permission', async () => {
  const strict = await createWorld('Node http', {
    rateLimiter: { consume: async (key) => (keys.push(key), { allowed: true }) },
    dns: { requiredScope: 'dns:other' },
    blockgame: { requiredPermission: 'other' },
  })
  onTestFinished(() => strict.close())
  const bearer = { Authorization: `Bearer ${strict.accessToken}` }
  const dnsCheck = { method: 'GET', path: '/v3/tools/dnscheck', headers: bearer }
  expect((await strict.send(dnsCheck)).json).toMatchObject({ error: 'insufficient_scope' })
  expect(keys.splice(0)).toStrictEqual([expect.stringMatching(/^access_token:/)])
  const key = { Basic: strict.apiKey }
  const lookup = { method: 'GET', path: '/v4/games/blockgame/lookup', headers: key }
  expect((await strict.send(lookup)).json).toMatchObject({ message: 'The API key lacks the permission.' })
  expect(keys.splice(0)).toStrictEqual([expect.stringMatching(/^api_key:/)])
})

test("do not count another reseller's license as failed credentials, although it is a 401", async () => {
  const licenseKey = await world.generate()
  keys.length = 0
  const { json, status } = await world.send({
    method: 'PUT',
    path: `/v2/reseller/${licenseKey}/update`,
    headers: { Authorization: `Bearer ${world.otherResellerToken}`, 'X-Status': 'invalid' },
  })
  expect([status, json]).toMatchObject([401, { error: 'license_owner_mismatch' }])
  expect(keys).toHaveLength(1)
  expect(keys[0]).toMatch(/^reseller_token:/)
})

test('are answered with 429, Retry-After, and the codes of the endpoint', async () => {
  decide = async () => ({ allowed: false, retryAfterSeconds: 1.2 })
  const headers = { 'retry-after': '2' }
  expect(await generateAs(world.resellerToken)).toMatchObject({
    status: 429,
    headers,
    json: { error: 'too_many_requests' },
  })
  expect(await generateAs('wrong')).toMatchObject({ status: 429, headers })
  expect(await exchange()).toMatchObject({
    status: 429,
    headers,
    json: { error: 'temporarily_unavailable' },
  })
  expect((await world.admin.listLicenses({})).licenses).toHaveLength(0)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -3, undefined])(
  'a limiter that refuses for %s seconds refuses, with a Retry-After that is valid',
  async (retryAfterSeconds) => {
    decide = async () => ({ allowed: false, retryAfterSeconds: retryAfterSeconds as number })
    const { status, headers } = await generateAs(world.resellerToken)
    expect([status, headers['retry-after']]).toEqual([429, '1'])
  },
)

test('are waited for within the bounds of requests under way', async () => {
  const asked: (() => void)[] = []
  const consume: RateLimiter['consume'] = () =>
    new Promise((resolve) => asked.push(() => resolve({ allowed: true })))
  const api = createUtilityApi({ storage, maxInFlight: 4, rateLimiter: { consume } })
  const send = (): Promise<TestAnswer> => sendToFetch(api, generate)
  const waiting = [send(), send()]
  await eventually(() => expect(asked).toHaveLength(2))
  expect(await send()).toMatchObject(unavailable)
  for (const decideNow of asked) decideNow()
  expect(await Promise.all(waiting)).toMatchObject([{ status: 200 }, { status: 200 }])
})

test('the address of a request is looked up only where it is counted, and an error of that is answered', async () => {
  const context = {
    get ip(): string {
      throw new Error('The host does not know.')
    },
  }
  const send = (options: object): Promise<Response> =>
    createUtilityApi({ storage, ...options }).fetch(
      new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST' }),
      context,
    )
  expect((await send({})).status).toBe(401)
  expect((await send({ rateLimiter: { consume: decide } })).status).toBe(500)
})

test.each<[string, RateLimiter['consume']]>([
  ['rejects', () => Promise.reject(new Error('down'))],
  [
    'throws',
    () => {
      throw new Error('down')
    },
  ],
  ['decides nothing', async () => undefined as never],
  ['decides null', async () => null as never],
])('a limiter that %s lets everybody through', async (_, consume) => {
  decide = consume
  expect(await generateAs(world.resellerToken)).toMatchObject({ status: 200 })
})

test('a limiter that hangs is asked about no more strangers at once than requests may be in progress', async () => {
  let asked = 0
  const consume = (key: string): Promise<{ allowed: true }> => {
    if (!key.startsWith('address:')) return Promise.resolve({ allowed: true })
    asked += 1
    return new Promise(() => {})
  }
  const api = createUtilityApi({ storage, maxInFlight: 4, rateLimiter: { consume } })
  const path = 'http://localhost/v2/reseller/licenses/generate'
  const ask = (authorization: string): Promise<Response> => {
    const headers = { ...licenseHeaders, Authorization: authorization }
    return api.fetch(new Request(path, { method: 'POST', headers }), { ip: '192.0.2.1' })
  }
  const held = Array.from({ length: 4 }, () => ask('Basic no'))
  const refused = await Promise.all(['Basic no', 'Bearer no', 'Bearer no'].map(ask))
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503])
  expect(asked).toBe(4)
  // Those whose credentials are right need none of these places.
  expect((await ask(`Bearer ${token}`)).status).toBe(200)
  for (const answer of held) expect((await answer).status).toBe(401)
  expect((await Promise.all(['Bearer no', 'Bearer no'].map(ask))).map(({ status }) => status)).toEqual([
    401, 401,
  ])
})

test('a limiter that hangs is waited for one second, and the log is told', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const warn = vi.fn()
    const logger = { debug: warn, info: warn, warn, error: warn }
    const consume = vi.fn(() => new Promise<never>(() => {}))
    const api = createUtilityApi({ storage, logger, rateLimiter: { consume } })
    const answer = sendToFetch(api, generate)
    while (consume.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(999)
    expect(warn).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(warn).toHaveBeenCalledExactlyOnceWith('The rate limiter failed; the request goes on.', {
      requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      cause: new Error('No decision within 1000 ms.'),
    })
    expect(await answer).toMatchObject({ status: 200 })
  } finally {
    vi.useRealTimers()
  }
})

test.each([
  ['192.0.2.7', 'address:192.0.2.7'],
  ['::ffff:192.0.2.7', 'address:192.0.2.7'],
  // No IPv4 address, although it begins like one.
  ['::ff00:c000:207', 'address:::/64'],
  ['2001:db8::7:1', 'address:2001:db8::/64'],
  ['fe80::1%eth0', 'address:fe80::/64'],
  ['unknown', 'address:unknown'],
])('failures from %s count against %s', (ip, key) => {
  expect(addressKey(ip)).toBe(key)
})
