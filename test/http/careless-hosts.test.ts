/** What hosts get wrong: stores, clients, clocks, callbacks and requests that do not keep their promises. */
import { inspect } from 'node:util'
import {
  createAdmin,
  createUtilityApi,
  randomKeys,
  UtilityApiError,
  type DnsAnswer,
  type DnsQuestion,
  type UtilityApiOptions,
} from 'utility-api'
import type { AdminStorage, StorageCall } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { licenseHeaders, redirectUri } from './support/world.ts'
import { grantFields } from './support/grant.ts'

const storage = memoryStorage()
const clock = fixedClock()
const admin = createAdmin({ storage, clock })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { token } = await admin.createReseller()

const generate = (): Request =>
  new Request('http://localhost/v2/reseller/licenses/generate', {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, ...licenseHeaders },
  })

async function exchange(): Promise<Request> {
  const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
  return new Request('http://localhost/v4/oauth2/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(grantFields({ clientId, clientSecret }, code, redirectUri)),
  })
}

/** Answers a request with options of its own; the message of each error that is logged stands beside. */
async function answer(
  request: Request,
  options: Partial<UtilityApiOptions> = {},
): Promise<{
  status: number
  error: unknown
  message: unknown
  retryAfter: string | null
  causes: string[]
}> {
  const causes: string[] = []
  const error = (_: string, fields?: object): void => void causes.push(inspect(fields))
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error }
  const response = await createUtilityApi({ storage, clock, logger, ...options }).fetch(request)
  const body = (await response.json()) as { error?: unknown; message?: unknown }
  return {
    status: response.status,
    error: body.error,
    message: body.message,
    retryAfter: response.headers.get('Retry-After'),
    causes,
  }
}

/** The store with a method that answers something else. */
function answering(method: keyof AdminStorage, value: unknown): AdminStorage {
  return { ...storage, [method]: () => value }
}

test.each<[keyof AdminStorage, unknown]>([
  ['findCredential', undefined],
  ['findCredential', Promise.resolve(undefined)],
  ['insertLicense', undefined],
  ['insertLicense', Promise.resolve({ rowCount: 1 })],
  ['insertLicense', true],
])('%s answers %o: the database failed, nothing is called done', async (method, value) => {
  const { status, error, causes } = await answer(generate(), { storage: answering(method, value) })
  expect({ status, error }).toEqual({ status: 500, error: 'database_error' })
  expect(causes.join('')).toContain(`The storage's ${method} returned what it must not`)
})

test('a ping that resolves to false is a failure', async () => {
  const api = createUtilityApi({ storage: answering('ping', Promise.resolve(false)), logger: false })
  expect(await api.health()).toEqual({ storage: 'failed' })
})

test.each<[keyof AdminStorage, unknown]>([
  ['findClient', undefined],
  ['findAuthorizationCode', undefined],
  ['redeemAuthorizationCode', { rowCount: 0 }],
  ['redeemAuthorizationCode', Promise.resolve(1)],
])('%s answers %o: no token is sent', async (method, value) => {
  const { status, error } = await answer(await exchange(), { storage: answering(method, value) })
  expect({ status, error }).toEqual({ status: 500, error: 'server_error' })
})

test.each([undefined, false, null, 0, 'done'])('an update answered with %o is not done', async (value) => {
  const { licenseKey } = await generateOne()
  const request = new Request(`http://localhost/v2/reseller/${licenseKey}/update`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'X-Status': 'invalid' },
  })
  const { status, error } = await answer(request, { storage: answering('updateLicense', value) })
  expect({ status, error }).toEqual({ status: 500, error: 'database_error' })
})

async function generateOne(): Promise<{ licenseKey: string }> {
  const response = await createUtilityApi({ storage, clock }).fetch(generate())
  const { data } = (await response.json()) as { data: { license_key: string } }
  return { licenseKey: data.license_key }
}

test('a store may take its call apart, and finds nothing else in it', async () => {
  const calls: StorageCall[] = []
  const findClient: AdminStorage['findClient'] = (id, call) => {
    const { timeLeftMs } = call
    calls.push({ ...call })
    expect(timeLeftMs()).toBeGreaterThan(0)
    return storage.findClient(id, call)
  }
  expect((await answer(await exchange(), { storage: { ...storage, findClient } })).status).toBe(200)
  expect(calls[0]?.timeLeftMs()).toBeGreaterThan(0)
  expect(inspect(calls, { depth: 9, showHidden: true })).not.toContain(clientSecret)
})

test.each<[string, () => PromiseLike<unknown>]>([
  [
    'throws from then',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- as promises of other libraries are
      then() {
        throw new Error('from then')
      },
    }),
  ],
  [
    'is fulfilled with a promise that never settles',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- as promises of other libraries are
      then: (resolve) => Promise.resolve(resolve?.(new Promise(() => {}) as never)) as never,
    }),
  ],
])('a promise of another library that %s is a failed database', async (_, promise) => {
  const { status, error } = await answer(generate(), {
    storage: answering('findCredential', promise()),
    storageTimeoutMs: 50,
  })
  expect({ status, error }).toEqual({ status: 500, error: 'database_error' })
})

test('the time of a rate limiter is not taken from the storage', async () => {
  const consume = (): Promise<{ allowed: true }> =>
    new Promise((resolve) => setTimeout(resolve, 400, { allowed: true }))
  const options = { rateLimiter: { consume }, storageTimeoutMs: 300 }
  expect((await answer(generate(), options)).status).toBe(200)
})

test('a rate limiter may ask for a wait of any length: it is sent in digits', async () => {
  const consume = async (): Promise<{ allowed: false; retryAfterSeconds: number }> => ({
    allowed: false,
    retryAfterSeconds: 1e21,
  })
  const { status, retryAfter } = await answer(generate(), { rateLimiter: { consume } })
  expect({ status, retryAfter }).toEqual({ status: 429, retryAfter: '2147483647' })
})

test('a rate limiter that has decided leaves no timer behind', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const consume = async (): Promise<{ allowed: true }> => ({ allowed: true })
  const before = timers()
  for (let count = 0; count < 20; count += 1) await answer(generate(), { rateLimiter: { consume } })
  // Not 0: timers of the test runner come and go.
  expect(timers() - before).toBeLessThan(10)
})

const hostFault = { status: 500, error: 'server_error' }
const broken = { status: 400, error: 'invalid_request' }

test.each<[string, () => unknown, (typeof hostFault | typeof broken)?]>([
  ['nothing', () => undefined],
  ['text', () => 'grant_type=authorization_code'],
  ['a promise of nothing', async () => undefined],
  [
    'an exception',
    () => {
      throw new Error('no body')
    },
    broken,
  ],
])('a mount whose body() gives %s gets an answer', async (_, body, expected = hostFault) => {
  const request = {
    method: 'POST',
    url: '/v4/oauth2/token',
    header: (name: string) => (name === 'Content-Type' ? 'application/json' : null),
    body: body as () => Promise<Uint8Array>,
  }
  const { status, body: text } = await createUtilityApi({ storage }).dispatch(request)
  expect({ status, error: (JSON.parse(String(text)) as { error: unknown }).error }).toEqual(expected)
})

test.each<[string, (request: Request) => unknown]>([
  ['was read', (request) => request.text()],
  ['is being read', (request) => request.body?.getReader()],
])(
  'a body that %s before the request is passed on is a mistake of the host, not of the client',
  async (_, read) => {
    const errors: object[] = []
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (_text: string, fields = {}) => errors.push(fields),
    }
    const body = new URLSearchParams({ grant_type: 'authorization_code' })
    const request = new Request('http://localhost/v4/oauth2/token', { method: 'POST', body })
    await Promise.race([read(request), undefined])
    expect((await createUtilityApi({ storage, logger }).fetch(request)).status).toBe(500)
    expect(errors).toMatchObject([{ cause: { name: 'HostFault' } }])
  },
)

test('a request without a body that can be read is answered, and null is no context', async () => {
  const { fetch } = createUtilityApi({ storage })
  const headers = new Headers({ 'Content-Length': '5' })
  for (const body of [undefined, { on: () => {} }]) {
    const request = { method: 'GET', url: 'http://localhost/', headers, body } as never
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect((await fetch(request, null as never)).status).toBe(404)
  }
  const withoutUrl = { method: 'GET', headers } as never
  await expect(fetch(withoutUrl)).rejects.toMatchObject({ code: 'invalid_argument' })
})

test('what a host writes into an error stays with it', async () => {
  const errorBody = (error: UtilityApiError): object => {
    Object.assign(error.headers, { 'X-Leak': 'alice' })
    return {}
  }
  await answer(new Request('http://localhost/'), { errorBody })
  const { headers } = await createUtilityApi({ storage }).fetch(new Request('http://localhost/'))
  expect(headers.get('X-Leak')).toBeNull()
  const given = { Allow: 'GET' }
  expect(new UtilityApiError('not_found', 'None.', { headers: given }).headers).not.toBe(given)
})

const rejecting = (): object => ({
  // oxlint-disable-next-line unicorn/no-thenable -- as promises of other libraries are
  then: (_: unknown, reject?: (reason: Error) => void) => reject?.(new Error('later')),
})

test('callbacks that return a promise of another library, or change their mind, end nothing', async () => {
  let times = 0
  const fickle = { toJSON: () => ((times += 1) === 1 ? { error: 'own' } : undefined) }
  const request = (): Request => new Request('http://localhost/')
  expect((await answer(request(), { errorBody: rejecting })).error).toBe('not_found')
  expect((await answer(request(), { errorBody: () => fickle })).error).toBe('own')
  const { causes } = await answer(request(), { onRequestEnd: () => rejecting() as never })
  await new Promise((resolve) => setImmediate(resolve))
  expect(causes.join('')).toContain('later')
})

test('with a clock that returns no number, every code has expired', async () => {
  const { status, error } = await answer(await exchange(), { clock: { now: () => Number.NaN } })
  expect({ status, error }).toEqual({ status: 400, error: 'invalid_grant' })
})

const parse = randomKeys().parseLicenseKey

test.each(['x'.repeat(129), 'LIC\n1', 'LIC\u202e1', 'LIC-00000-00000-00000-00000-00001', '', 5])(
  'a generated license key that could not be found again is not sold: %j',
  async (licenseKey) => {
    const keyGenerator = {
      ...randomKeys(),
      licenseKey: () => licenseKey as string,
      parseLicenseKey: licenseKey === '' || typeof licenseKey === 'number' ? (text: string) => text : parse,
    }
    const { status, error } = await answer(generate(), { keyGenerator })
    expect({ status, error }).toEqual({ status: 500, error: 'internal_error' })
  },
)

test.each(['a,b', 'a b', 'a=b', 'é', '', 5])(
  'a generated access token that no header could carry is not sold, and its code stays unspent: %j',
  async (secret) => {
    const request = await exchange()
    const keyGenerator = { ...randomKeys(), secret: () => secret as string }
    const { status, error, causes } = await answer(request.clone(), { keyGenerator })
    expect({ status, error }).toEqual({ status: 500, error: 'server_error' })
    expect(causes.join('')).toContain('The key generator made a secret')
    expect((await answer(request)).status).toBe(200)
  },
)

test.each(['invalid_argument', 'invalid_options'] as const)(
  'an error %s of a client of the host is told to the log, not to strangers',
  async (code) => {
    const status = (): never => {
      throw new UtilityApiError(code, 'db.internal is no address.')
    }
    const { apiKey } = await admin.createApiKey()
    const request = new Request('http://localhost/v4/games/blockgame/lookup', {
      headers: { Basic: apiKey, 'X-Address': 'play.example.com' },
    })
    const client = { status, close: async () => {} }
    const { causes, ...answered } = await answer(request, { blockgame: { client } })
    expect(answered).toMatchObject({ status: 500, error: 'internal_error', message: 'Something went wrong.' })
    expect(causes.join('')).toContain('db.internal')
  },
)

const never = (): Promise<never> => new Promise(() => {})
const oneResolver = [{ location: 'Here', ip: '192.0.2.1', provider: 'None' }]

test('a DNS client that does not settle gives its place back at the deadline, and is told that it is over', async () => {
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const signals: (AbortSignal | undefined)[] = []
  const query = ({ signal }: DnsQuestion): Promise<never> => {
    signals.push(signal)
    return never()
  }
  const client = { query, close: async () => {} }
  const dns = { client, timeoutMs: 20, locations: oneResolver, maxConcurrentPerResolver: 1 }
  const api = createUtilityApi({ storage, clock, dns })
  for (const domain of ['a.example', 'b.example']) {
    const headers = { Authorization: `Bearer ${accessToken}`, 'X-Domain': domain, 'X-Record-Type': 'A' }
    // oxlint-disable-next-line no-await-in-loop -- the second needs the place of the first
    const response = await api.fetch(new Request('http://localhost/v3/tools/dnscheck', { headers }))
    // oxlint-disable-next-line no-await-in-loop
    expect(await response.json()).toMatchObject([{ status: 'TIMEOUT', resolved: false }])
  }
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
})

test('a DNS client that fails at its deadline is heard before it is given up', async () => {
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const query = ({ timeoutMs }: DnsQuestion): Promise<DnsAnswer> =>
    new Promise((resolve) =>
      setTimeout(resolve, timeoutMs, {
        status: 'UNREACHABLE',
        records: [],
        cnameChain: [],
        transport: 'udp',
        latencyMs: 0,
      }),
    )
  const dns = { client: { query, close: async () => {} }, timeoutMs: 20, locations: oneResolver }
  const headers = { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'a.example', 'X-Record-Type': 'A' }
  const response = await createUtilityApi({ storage, clock, dns }).fetch(
    new Request('http://localhost/v3/tools/dnscheck', { headers }),
  )
  expect(await response.json()).toMatchObject([{ status: 'UNREACHABLE' }])
})

test('the signal of a DNS client that has settled in time does not abort', async () => {
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const signals: (AbortSignal | undefined)[] = []
  const nothing: DnsAnswer = { status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 0 }
  const query = async ({ signal }: DnsQuestion): Promise<DnsAnswer> => {
    signals.push(signal)
    return nothing
  }
  const dns = { client: { query, close: async () => {} }, locations: oneResolver }
  const headers = { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'a.example', 'X-Record-Type': 'A' }
  const request = new Request('http://localhost/v3/tools/dnscheck', { headers })
  expect((await createUtilityApi({ storage, clock, dns }).fetch(request)).status).toBe(200)
  expect(signals.map((signal) => signal?.aborted)).toEqual([false])
})

test('a game client that does not settle gives its place back at the deadline and is told that it is over, and the log says so', async () => {
  const { apiKey } = await admin.createApiKey()
  const signals: (AbortSignal | undefined)[] = []
  const status = ({ signal }: { readonly signal?: AbortSignal }): Promise<never> => {
    signals.push(signal)
    return never()
  }
  const told: unknown[] = []
  const logger = {
    debug: () => {},
    warn: () => {},
    error: () => {},
    info: (_: string, fields?: object) => void told.push(fields),
  }
  const blockgame = { client: { status, close: async () => {} }, timeoutMs: 20, maxConcurrent: 1 }
  const api = createUtilityApi({ storage, clock, blockgame, logger })
  for (const host of ['a.example', 'b.example']) {
    const headers = { Basic: apiKey, 'X-Address': host }
    // oxlint-disable-next-line no-await-in-loop -- the second needs the place of the first
    const response = await api.fetch(new Request('http://localhost/v4/games/blockgame/lookup', { headers }))
    // oxlint-disable-next-line no-await-in-loop
    expect(await response.json()).toMatchObject({ error: 'server_check_failed' })
  }
  const cause = new Error('The client did not settle within its timeoutMs.')
  expect(told).toMatchObject([
    { reason: 'timeout', cause },
    { reason: 'timeout', cause },
  ])
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
})
