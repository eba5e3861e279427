/** Verification in routes of one's own: what each refusal is, and what it costs. */
import { createHook } from 'node:async_hooks'
import fc from 'fast-check'
import { bearerToken, createAdmin, createUtilityApi, UtilityApiError } from 'utility-api'
import { StorageError, type AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { describe, expect, test } from 'vitest'
import { hashSecret } from '../../src/domain/secret.ts'
import { callWithin } from '../../src/ports/storage-call.ts'
import { timedStorage } from '../../src/storage/timed-storage.ts'
import { apiKeyScheme } from '../../src/security/api-key.ts'
import { bearerScheme } from '../../src/security/bearer.ts'
import { grantFields } from './support/grant.ts'
import { licenseHeaders } from '../support/license-headers.ts'

const redirectUri = 'https://client.example/callback'
const bare = 'Bearer realm="utility-api"'
const invalid = `${bare}, error="invalid_token"`

function createWorld() {
  const memory = memoryStorage()
  const reads = { findCredential: 0, findLicense: 0 }
  const storage: AdminStorage = {
    ...memory,
    findCredential(...args) {
      reads.findCredential += 1
      return memory.findCredential(...args)
    },
    findLicense(...args) {
      reads.findLicense += 1
      return memory.findLicense(...args)
    },
  }
  const clock = fixedClock()
  const api = createUtilityApi({ storage, clock, dns: false, blockgame: false })
  return { storage, clock, api, reads, admin: createAdmin({ storage, clock }) }
}

async function refusal(work: () => unknown): Promise<UtilityApiError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof UtilityApiError) return error
    throw error
  }
  throw new Error('Nothing was refused.')
}

/** What a framework, and a client behind it, sees of a refusal. */
async function seen(work: () => unknown): Promise<object> {
  const { code, status, statusCode, expose, headers } = await refusal(work)
  expect(statusCode).toBe(status)
  expect(expose).toBe(status < 500)
  return { code, status, challenge: headers['WWW-Authenticate'] }
}

/** How many promises some work makes. */
async function promisesOf(work: () => unknown): Promise<number> {
  let count = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') count += 1
    },
  }).enable()
  const result = work()
  hook.disable()
  await result
  return count
}

test('where storage answers at once, a check makes no promise, and verifying only its own', async () => {
  const { api, admin, storage, clock } = createWorld()
  const parts = { storage: timedStorage(storage), clock }
  const presented = { body: new Map(), ...callWithin(5000) }
  const { accessToken } = await admin.createAccessToken({ scope: 'a' })
  const bearer = { ...presented, header: () => `Bearer ${accessToken}` }
  const access = bearerScheme(parts, 'access_token', '')
  expect(await promisesOf(() => access.authenticate(bearer))).toBe(0)
  expect(await promisesOf(() => api.verifyAccessToken(accessToken, { scope: 'a' }))).toBe(1)

  const { apiKey } = await admin.createApiKey()
  const keys = apiKeyScheme(parts)
  const key = { ...presented, header: () => apiKey }
  expect(await promisesOf(() => keys.authenticate(key))).toBe(0)
  expect(await promisesOf(() => api.verifyApiKey(apiKey))).toBe(1)
})

describe('bearerToken', () => {
  test.each(['Bearer a', 'bearer a', 'BEARER  a', ['Bearer a']])('takes %j', (header) => {
    expect(bearerToken(header)).toBe('a')
  })

  test.each([undefined, null, '', []])(
    '%j is no credential: its challenge tells of no error',
    async (header) => {
      expect(await seen(() => bearerToken(header))).toEqual({
        code: 'invalid_token',
        status: 401,
        challenge: bare,
      })
    },
  )

  test.each(['Bearer ', 'Bearer a b', 'Bearer a, Bearer b', ['Bearer a', 'Bearer b']])(
    '%j is malformed',
    async (header) => {
      expect(await seen(() => bearerToken(header))).toEqual({
        code: 'invalid_token',
        status: 401,
        challenge: invalid,
      })
    },
  )

  test.each(['Basic a', 'Bearer', 'Bearera', ' Bearer a', 'a'])(
    '%j is of another scheme: its challenge tells of no error',
    async (header) => {
      const refused = await refusal(async () => bearerToken(header))
      expect(refused.headers['WWW-Authenticate']).toBe(bare)
      expect(refused).toMatchObject({ code: 'invalid_token', message: expect.stringContaining('invalid') })
    },
  )
})

describe('verifyAccessToken', () => {
  test('returns what a token grants', async () => {
    const { api, admin, clock, storage } = createWorld()
    const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
    const own = await admin.createAccessToken({ scope: 'a b', lifetimeSeconds: 60 })
    const held = await admin.createAccessToken({ scope: '', clientId, subject: 'user-42' })
    expect(await api.verifyAccessToken(own.accessToken, { scope: 'b a' })).toEqual({
      tokenId: own.accessTokenId,
      clientId: null,
      subject: null,
      scope: 'a b',
      expiresAt: new Date(clock.now() + 60_000),
    })
    const forever = {
      id: 'a',
      ownerId: 'a',
      subject: null,
      scope: '',
      createdAt: 0,
      expiresAt: null,
      revokedAt: null,
    }
    await storage.insertCredential('access_token', hashSecret('from elsewhere'), forever, callWithin(1000))
    expect(await api.verifyAccessToken('from elsewhere')).toMatchObject({ tokenId: 'a', expiresAt: null })
    expect(await api.verifyAccessToken(held.accessToken)).toMatchObject({
      clientId,
      subject: 'user-42',
      scope: '',
    })
  })

  test('the subject of a code is the subject of its token', async () => {
    const { api, admin } = createWorld()
    const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: 'a', subject: 'ada' })
    const body = new URLSearchParams(grantFields({ clientId, clientSecret }, code, redirectUri))
    const answer = await api.handlers.exchangeToken(
      new Request('http://localhost/', { method: 'POST', body }),
    )
    const { access_token: token } = (await answer.json()) as { access_token: string }
    expect(await api.verifyAccessToken(token, { scope: 'a' })).toMatchObject({ clientId, subject: 'ada' })
  })

  test('an unknown, expired, revoked token and one of another kind are refused alike', async () => {
    const { api, admin, clock } = createWorld()
    const expected = { code: 'invalid_token', status: 401, challenge: invalid }
    const { token: other } = await admin.createReseller()
    const { apiKey } = await admin.createApiKey()
    const { accessToken } = await admin.createAccessToken({ scope: '', lifetimeSeconds: 60 })
    for (const text of ['unknown', '', other, apiKey])
      expect(await seen(() => api.verifyAccessToken(text))).toEqual(expected)

    const { accessToken: leaked } = await admin.createAccessToken({ scope: '' })
    await admin.revoke({ secret: leaked })
    expect(await seen(() => api.verifyAccessToken(leaked))).toEqual(expected)

    clock.advance(59_999)
    await api.verifyAccessToken(accessToken)
    clock.advance(1)
    expect(await seen(() => api.verifyAccessToken(accessToken))).toEqual(expected)
  })

  test('a scope that is lacking is named in the challenge', async () => {
    const { api, admin } = createWorld()
    const { accessToken } = await admin.createAccessToken({ scope: 'orders:read orders' })
    for (const scope of ['orders:write', 'orders:read orders:write', 'ORDERS']) {
      expect(await seen(() => api.verifyAccessToken(accessToken, { scope }))).toEqual({
        code: 'insufficient_scope',
        status: 403,
        challenge: `${bare}, error="insufficient_scope", scope="${scope}"`,
      })
    }
    await api.verifyAccessToken(accessToken, { scope: 'orders orders:read' })
  })

  test('nothing is kept: a revocation counts at the next call', async () => {
    const { api, admin, reads } = createWorld()
    const { accessToken, accessTokenId } = await admin.createAccessToken({ scope: '' })
    await api.verifyAccessToken(accessToken)
    await api.verifyAccessToken(accessToken)
    expect(reads.findCredential).toBe(2)
    await admin.revoke({ id: accessTokenId })
    expect(await seen(() => api.verifyAccessToken(accessToken))).toMatchObject({ code: 'invalid_token' })
  })
})

test('verifyResellerToken knows resellers’ tokens alone', async () => {
  const { api, admin } = createWorld()
  const { resellerId, resellerTokenId: tokenId, token } = await admin.createReseller()
  expect(await api.verifyResellerToken(token)).toEqual({ tokenId, resellerId })
  const withScope: (token: string, options: object) => Promise<unknown> = api.verifyResellerToken as never
  await expect(withScope(token, { scope: 'admin' })).rejects.toMatchObject({ code: 'invalid_argument' })
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const expected = { code: 'invalid_token', status: 401, challenge: invalid }
  expect(await seen(() => api.verifyResellerToken(accessToken))).toEqual(expected)
  await admin.revoke({ id: tokenId })
  expect(await seen(() => api.verifyResellerToken(token))).toEqual(expected)
})

test('verifyApiKey knows keys alone, and answers a lacking permission with 401', async () => {
  const { api, admin } = createWorld()
  const { apiKey, apiKeyId } = await admin.createApiKey({ permissions: ['a', 'b'] })
  expect(await api.verifyApiKey(apiKey, { permission: 'b a' })).toEqual({ apiKeyId, permissions: ['a', 'b'] })
  const none = await admin.createApiKey({ permissions: [] })
  expect(await api.verifyApiKey(none.apiKey)).toEqual({ apiKeyId: none.apiKeyId, permissions: [] })
  const expected = {
    code: 'invalid_api_key',
    status: 401,
    challenge: 'ApiKey realm="utility-api", header="Basic"',
  }
  expect(await seen(() => api.verifyApiKey(apiKey, { permission: 'c' }))).toEqual(expected)
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  expect(await seen(() => api.verifyApiKey(accessToken))).toEqual(expected)
  expect(await seen(() => api.verifyApiKey(undefined))).toEqual(expected)
  await admin.revoke({ id: apiKeyId })
  expect(await seen(() => api.verifyApiKey(apiKey))).toEqual(expected)
})

async function saidBy(calls: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  const refusals = await Promise.all(calls.map(refusal))
  return refusals.map(({ code, message }) => [code, message])
}

test('a misspelled option is refused: ignored, it would let everybody in', async () => {
  const { api, admin } = createWorld()
  const { accessToken } = await admin.createAccessToken({ scope: 'a' })
  const { apiKey } = await admin.createApiKey({ permissions: ['a'] })
  const calls = [
    () => api.verifyAccessToken(accessToken, { scopes: ['b'] } as object),
    () => api.verifyAccessToken(accessToken, { scope: ['b'] } as object),
    () => api.verifyApiKey(apiKey, { permissions: 'b' } as object),
    () => api.verifyApiKey(apiKey, { permission: 7 } as object),
  ]
  expect(await saidBy(calls)).toEqual([
    ['invalid_argument', 'scopes is not an option: use scope.'],
    ['invalid_argument', 'scope must be a string of names separated by single spaces.'],
    ['invalid_argument', 'permissions is not an option: use permission.'],
    ['invalid_argument', 'permission must be a string of names separated by single spaces.'],
  ])
})

test.for([undefined, null, '', ' ', 'a ', ' a', 'a  b', 'a\nb', 'a"b'])(
  'an option whose value %j names nothing, or cannot be a name, is refused',
  async (names) => {
    const { api, admin, reads } = createWorld()
    const { accessToken } = await admin.createAccessToken({ scope: 'a b' })
    const { apiKey } = await admin.createApiKey({ permissions: ['a', 'b'] })
    const problem = 'must be a string of names separated by single spaces.'
    const calls = [
      () => api.verifyAccessToken(accessToken, { scope: names } as object),
      () => api.verifyApiKey(apiKey, { permission: names } as object),
    ]
    expect(await saidBy(calls)).toEqual([
      ['invalid_argument', `scope ${problem}`],
      ['invalid_argument', `permission ${problem}`],
    ])
    expect(reads.findCredential).toBe(0)
  },
)

test.for([[], ['orders'], 5, '', null, new Map([['scope', 'orders']])])(
  'options that are %j are refused: taken for none, they would let everybody in',
  async (options) => {
    const { api, admin } = createWorld()
    const { accessToken } = await admin.createAccessToken({ scope: '' })
    const { apiKey } = await admin.createApiKey({ permissions: [] })
    for (const call of [
      () => api.verifyAccessToken(accessToken, options as never),
      () => api.verifyApiKey(apiKey, options as never),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'invalid_argument' })
  },
)

test('a token that was not sent is missing, not malformed', async () => {
  const { api } = createWorld()
  for (const verify of [api.verifyAccessToken, api.verifyResellerToken]) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const refusals = await Promise.all([undefined, null].map((token) => refusal(() => verify(token))))
    for (const { status, code, headers } of refusals)
      expect([status, code, headers['WWW-Authenticate']]).toEqual([401, 'invalid_token', bare])
  }
  const { status, code } = await refusal(() => api.verifyApiKey(new Headers().get('Basic')))
  expect([status, code]).toEqual([401, 'invalid_api_key'])
})

test('an argument that is not text is a clear error of the host, not a TypeError of the inside', async () => {
  const { api } = createWorld()
  const wrong = new Headers() as never
  const calls = [
    () => api.verifyAccessToken(wrong),
    () => api.verifyResellerToken(wrong),
    () => api.verifyApiKey(wrong),
    () => api.findLicense(undefined as never),
    async () => bearerToken(wrong),
  ]
  expect(await saidBy(calls)).toEqual([
    ['invalid_argument', 'token must be a string: write bearerToken(request.headers.authorization).'],
    ['invalid_argument', 'token must be a string: write bearerToken(request.headers.authorization).'],
    ['invalid_argument', 'apiKey must be a string: write request.headers.basic.'],
    ['invalid_argument', 'licenseKey must be a string.'],
    [
      'invalid_argument',
      "authorization must be the value of a header: write request.headers.authorization, or request.headers.get('authorization').",
    ],
  ])
})

test('no text longer than a store is promised is looked up', async () => {
  const { api, admin, storage } = createWorld()
  const asked: string[] = []
  const listening = {
    ...storage,
    findClient(...args: Parameters<typeof storage.findClient>) {
      asked.push(args[0])
      return storage.findClient(...args)
    },
    findLicense(...args: Parameters<typeof storage.findLicense>) {
      asked.push(args[0])
      return storage.findLicense(...args)
    },
    updateLicense(...args: Parameters<typeof storage.updateLicense>) {
      asked.push(args[0].licenseKey)
      return storage.updateLicense(...args)
    },
  }
  const other = createUtilityApi({ storage: listening, dns: false, blockgame: false })
  const { token } = await admin.createReseller()
  const send = async (path: string, init: RequestInit): Promise<number> =>
    (await other.fetch(new Request(`http://localhost${path}`, init))).status
  const update = (key: string): Promise<number> =>
    send(`/v2/reseller/${key}/update`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${token}`, 'X-Status': 'valid' },
    })
  const exchange = (clientId: string): Promise<number> =>
    send('/v4/oauth2/token', {
      method: 'POST',
      body: new URLSearchParams({ client_id: clientId, client_secret: 'x' }),
    })
  expect(await update('K'.repeat(129))).toBe(404)
  expect(await other.findLicense('K'.repeat(129))).toBeNull()
  expect(await exchange('c'.repeat(256))).toBe(401)
  expect(asked).toEqual([])
  expect(await update('K'.repeat(128))).toBe(404)
  expect(await exchange('c'.repeat(255))).toBe(401)
  expect(asked).toEqual(['K'.repeat(128), 'c'.repeat(255)])
  expect(await api.findLicense('K'.repeat(128))).toBeNull()
})

test('findLicense finds a key as a person types it, and reads nothing for one that cannot be', async () => {
  const { api, admin, reads } = createWorld()
  const { token } = await admin.createReseller()
  const headers = licenseHeaders(token)
  const made = await api.handlers.generateLicense(
    new Request('http://localhost/', { method: 'POST', headers }),
  )
  const { data } = (await made.json()) as { data: { license_key: string } }
  const typed = data.license_key.toLowerCase().replaceAll('0', 'o')
  expect(await api.findLicense(typed)).toMatchObject({ licenseKey: data.license_key, status: 'valid' })
  reads.findLicense = 0
  const wrong = data.license_key.slice(0, -1) + (data.license_key.endsWith('A') ? 'B' : 'A')
  expect(await api.findLicense(wrong)).toBeNull()
  expect(await api.findLicense('a\u0000b')).toBeNull()
  expect(reads.findLicense).toBe(0)
  expect(await api.findLicense('OTHER-KEY')).toBeNull()
  expect(reads.findLicense).toBe(1)
})

describe('storage reads', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

  test('a text of our form with a wrong checksum costs none', async () => {
    const { api, admin, reads } = createWorld()
    const { accessToken } = await admin.createAccessToken({ scope: '' })
    const { apiKey } = await admin.createApiKey()
    const symbol = fc.constantFrom(...alphabet)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 8, max: 49 }), symbol, async (at, replacement) => {
        const mistyped = (text: string): string => text.slice(0, at) + replacement + text.slice(at + 1)
        fc.pre(accessToken[at] !== replacement && apiKey[at] !== replacement)
        await refusal(() => api.verifyAccessToken(mistyped(accessToken)))
        await refusal(() => api.verifyResellerToken(mistyped(accessToken)))
        await refusal(() => api.verifyApiKey(mistyped(apiKey)))
      }),
    )
    expect(reads.findCredential).toBe(0)
  })

  test('the whole header in place of the token is named in the cause', async () => {
    const { api, admin } = createWorld()
    const { accessToken } = await admin.createAccessToken({ scope: '' })
    const { code, cause } = await refusal(() => api.verifyAccessToken(`Bearer ${accessToken}`))
    expect([code, cause]).toEqual([
      'invalid_token',
      'This is the whole header: pass what bearerToken() returns for it.',
    ])
    // A key is in a header of its own: what reads tokens would not help.
    const { cause: ofKey } = await refusal(() => api.verifyApiKey('Bearer key'))
    expect(ofKey).toBe('There is no such key in this storage.')
  })

  test('every other text is looked up, as it may have been issued elsewhere', async () => {
    const { api, admin, reads } = createWorld()
    const { accessToken } = await admin.createAccessToken({ scope: '' })
    const form = fc.stringMatching(
      /^uapi_(?:ac|ak|at|cs|rt)_[0-9A-Za-z]{48}$|^uapi_(?:at|xx)_[0-9A-Za-z]{50}$/,
    )
    const near = fc.constantFrom(
      accessToken.toUpperCase(),
      ` ${accessToken}`,
      `${accessToken}\n`,
      accessToken.slice(1),
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), form, near), async (text) => {
        reads.findCredential = 0
        await refusal(() => api.verifyAccessToken(text))
        await refusal(() => api.verifyResellerToken(text))
        await refusal(() => api.verifyApiKey(text))
        expect(reads.findCredential).toBe(3)
      }),
    )
  })
})

const calls = {
  verifyAccessToken: (api: ReturnType<typeof createUtilityApi>) => api.verifyAccessToken('a'),
  verifyResellerToken: (api: ReturnType<typeof createUtilityApi>) => api.verifyResellerToken('a'),
  verifyApiKey: (api: ReturnType<typeof createUtilityApi>) => api.verifyApiKey('a'),
  findLicense: (api: ReturnType<typeof createUtilityApi>) => api.findLicense('a'),
}

describe.each(Object.entries(calls))('%s', (_, call) => {
  test('after close() is unavailable, and reads nothing', async () => {
    const { api, reads } = createWorld()
    await api.close()
    const { code, status, headers } = await refusal(() => call(api))
    expect([code, status, headers]).toEqual(['unavailable', 503, { 'Retry-After': '1' }])
    expect(reads).toEqual({ findCredential: 0, findLicense: 0 })
  })

  test('over a storage that fails is a database_error that says nothing, with its cause', async () => {
    const cause = new StorageError('unavailable', 'secret address')
    const fails = (): Promise<never> => Promise.reject(cause)
    const storage = { ...memoryStorage(), findCredential: fails, findLicense: fails }
    const api = createUtilityApi({ storage, dns: false, blockgame: false })
    const error = await refusal(() => call(api))
    expect([error.code, error.status, error.expose]).toEqual(['database_error', 500, false])
    expect(error.message).not.toContain('secret')
    expect(error.cause).toBe(cause)
    expect(error.headers).toEqual({})
  })

  test('over a storage that hangs is a database_error in time', async () => {
    const hangs = (): Promise<never> => new Promise(() => {})
    const storage = { ...memoryStorage(), findCredential: hangs, findLicense: hangs }
    const api = createUtilityApi({ storage, dns: false, blockgame: false, storageTimeoutMs: 20 })
    expect(await refusal(() => call(api))).toMatchObject({ code: 'database_error' })
  })
})

test('getResponse is the answer, whole', async () => {
  const response = (await refusal(() => bearerToken(undefined))).getResponse()
  expect([
    response.status,
    response.headers.get('www-authenticate'),
    response.headers.get('content-type'),
  ]).toEqual([401, bare, 'application/json'])
  expect(await response.json()).toEqual({ error: 'invalid_token', message: 'The bearer token is missing.' })
})
