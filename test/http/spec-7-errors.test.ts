import { expect } from 'vitest'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { runRows, type Row } from './support/rows.ts'
import { generateRequest, redirectUri } from './support/world.ts'

const updateOf = (
  key: string,
  token: string,
  headers: Record<string, string> = { 'X-Status': 'invalid' },
) => ({
  method: 'PUT',
  path: `/v2/reseller/${key}/update`,
  headers: { Authorization: `Bearer ${token}`, ...headers },
})

const lookUp = (headers: Record<string, string>) => ({
  method: 'GET',
  path: '/v4/games/blockgame/lookup',
  headers,
})

const notFound = { error: 'license_not_found', message: 'The license does not exist.' }

const updateRows: Row[] = [
  {
    name: 'update: reseller token invalid',
    request: async (world) => updateOf(await world.generate(), 'nobody'),
    status: 401,
    body: { error: 'invalid_token', message: 'The bearer token is invalid, expired or revoked.' },
  },
  {
    name: 'update: reseller token does not match the license, which stays as it is',
    request: async (world) => updateOf(await world.generate(), world.otherResellerToken),
    status: 401,
    body: { error: 'license_owner_mismatch', message: 'The reseller token does not match the license.' },
    headers: { 'WWW-Authenticate': /^Bearer / },
    check: async ({ admin }) => {
      const { licenses } = await admin.listLicenses({ limit: 1000 })
      expect(licenses.every(({ status }) => status === 'valid')).toBe(true)
    },
  },
  {
    name: 'update: license does not exist',
    request: (world) => updateOf('OLD-12345', world.resellerToken),
    status: 404,
    body: notFound,
  },
  {
    name: 'update: license key with wrong check symbols',
    request: (world) => updateOf('LIC-00000-00000-00000-00000-00001', world.resellerToken),
    status: 404,
    body: notFound,
  },
  {
    name: 'update: no valid field, though the license does not exist',
    request: (world) => updateOf('OLD-12345', world.resellerToken, { 'X-Status': 'paused' }),
    status: 400,
    body: { error: 'invalid_request', message: 'X-Status must be one of valid, invalid.' },
  },
  {
    name: 'update: one bad field among good ones refuses them all',
    request: async (world) =>
      updateOf(await world.generate(), world.resellerToken, {
        'X-Registered-To': 'Somebody Else',
        'X-Domain-Or-IP': 'https://example.com/',
      }),
    status: 400,
    body: {
      error: 'invalid_request',
      message: 'X-Domain-Or-IP must be a host name or an IP address, without scheme, port or path.',
    },
    check: async ({ admin }) => {
      const { licenses } = await admin.listLicenses({ limit: 1000 })
      expect(licenses.some(({ registeredTo }) => registeredTo === 'Somebody Else')).toBe(false)
    },
  },
]

const generateRows: Row[] = [
  {
    name: 'generate: no field at all',
    request: ({ resellerToken }) => ({
      method: 'POST',
      path: '/v2/reseller/licenses/generate',
      headers: { Authorization: `Bearer ${resellerToken}` },
    }),
    status: 400,
    body: { error: 'invalid_request', message: 'The header X-Registered-To is missing.' },
  },
  {
    name: 'generate: a status off the list',
    request: (world) => generateRequest(world.resellerToken, { 'X-Status': 'Valid' }),
    status: 400,
    body: { error: 'invalid_request', message: 'X-Status must be one of valid, invalid.' },
  },
]

const lookupRows: Row[] = [
  {
    name: 'lookup: address missing in headers',
    request: ({ apiKey }) => lookUp({ Basic: apiKey }),
    status: 400,
    body: { error: 'invalid_request', message: 'The header X-Address is missing.' },
  },
  {
    name: 'lookup: API key missing, though the address is missing too',
    request: () => lookUp({}),
    status: 401,
    body: { error: 'invalid_api_key', message: 'The API key is missing.' },
  },
  {
    name: 'lookup: the server does not answer',
    request: ({ apiKey, silentGame }) =>
      lookUp({ Basic: apiKey, 'X-Address': silentGame.ip, 'X-Port': String(silentGame.port) }),
    status: 500,
    body: { error: 'server_check_failed', message: 'The server check failed.' },
  },
  {
    name: 'lookup: nothing listens there',
    request: ({ apiKey }) => lookUp({ Basic: apiKey, 'X-Address': '127.0.0.1', 'X-Port': '1025' }),
    status: 500,
    body: { error: 'server_check_failed', message: 'The server check failed.' },
  },
  {
    name: 'lookup: the name does not resolve',
    request: ({ apiKey }) => lookUp({ Basic: apiKey, 'X-Address': 'missing.example.com' }),
    status: 500,
    body: { error: 'server_check_failed', message: 'The server check failed.' },
  },
  {
    name: 'lookup: a private address',
    request: ({ apiKey }) => lookUp({ Basic: apiKey, 'X-Address': '10.0.0.1' }),
    status: 400,
    check: (_, { json }) => expect(json).toMatchObject({ error: 'address_not_allowed' }),
  },
]

runRows('Section 7', [...updateRows, ...generateRows, ...lookupRows], { lookupTimeoutMs: 300 })

const databaseError = { error: 'database_error', message: 'The database failed.' }
const serverError = { error: 'server_error', error_description: 'The database failed.' }

/** Every operation, against a storage that cannot answer. */
const failingRows: Row[] = [
  {
    name: 'exchange: database error',
    request: () => ({
      method: 'POST',
      path: '/v4/oauth2/token',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'authorization_code',
        code: 'a-code',
        redirect_uri: redirectUri,
        client_id: 'a-client',
        client_secret: 'a-secret',
      }),
    }),
    status: 500,
    body: serverError,
    headers: { 'Cache-Control': 'no-store' },
  },
  {
    name: 'update: database error',
    request: () => updateOf('LIC-1', 'token'),
    status: 500,
    body: databaseError,
  },
  {
    name: 'generate: database error',
    request: (world) => generateRequest(world.resellerToken),
    status: 500,
    body: databaseError,
  },
  {
    name: 'DNS check: database error',
    request: () => ({
      method: 'GET',
      path: '/v3/tools/dnscheck',
      headers: { Authorization: 'Bearer x', 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
    }),
    status: 500,
    body: databaseError,
  },
  {
    name: 'lookup: database error',
    request: ({ game }) => lookUp({ Basic: 'key', 'X-Address': game.ip, 'X-Port': String(game.port) }),
    status: 500,
    body: databaseError,
  },
]

const secretCause = new Error('SELECT * FROM /var/lib/secret.db')

/** A storage whose every method does the same. */
function storageThat(behave: () => never | Promise<never>): AdminStorage {
  return new Proxy({} as AdminStorage, { get: () => behave })
}

/** What query builders return: no instance of `Promise`, begun when it is first waited for. */
function thenable(promise: Promise<never>): Promise<never> {
  promise.catch(() => {})
  // oxlint-disable-next-line unicorn/no-thenable -- that is what they are
  return { then: promise.then.bind(promise) } as Promise<never>
}

function closedStorage(): AdminStorage {
  const storage = memoryStorage()
  void storage.close?.()
  return storage
}

const failures: Record<string, AdminStorage> = {
  'that is closed': closedStorage(),
  'that throws': storageThat(() => {
    throw secretCause
  }),
  'that rejects': storageThat(() => Promise.reject(secretCause)),
  'that rejects as a query builder does': storageThat(() => thenable(Promise.reject(secretCause))),
  'that throws no error': storageThat(() => {
    throw null as unknown as Error
  }),
  'that hangs past its deadline': storageThat(() => new Promise<never>(() => {})),
  'that hangs as a query builder does': storageThat(() => thenable(new Promise<never>(() => {}))),
}

for (const [name, storage] of Object.entries(failures)) {
  const logged: { message: string; fields: { cause?: unknown } }[] = []
  const ignore = (): void => {}
  runRows(
    `Section 7 on a storage ${name}`,
    failingRows.map((row) => ({
      ...row,
      check: (_, { text }) => {
        expect(text).not.toMatch(/SELECT|secret\.db|\bat /)
        const last = logged.at(-1)
        expect(last?.message).toBe('The database failed.')
        expect(last?.fields).toMatchObject({ code: 'database_error', operation: expect.any(String) })
        if (name === 'that throws' || name.startsWith('that rejects'))
          expect(last?.fields.cause).toBe(secretCause)
        if (name === 'that is closed') expect(last?.fields.cause).toMatchObject({ kind: 'unavailable' })
        if (name.startsWith('that hangs')) expect(String(last?.fields.cause)).toMatch(/did not answer/)
      },
    })),
    {
      storage,
      // A busy machine may stand still for so long.
      storageTimeoutMs: name.startsWith('that hangs') ? 50 : 30_000,
      logger: {
        debug: ignore,
        info: ignore,
        warn: ignore,
        error: (message, fields = {}) => logged.push({ message, fields }),
      },
    },
  )
}
