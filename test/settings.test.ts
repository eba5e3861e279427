import { createSecretKey, generateKeyPairSync, webcrypto } from 'node:crypto'
import { createAdmin, createUtilityApi, UtilityApiError, type UtilityApiOptions } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { toExpressHandler, type ExpressMountOptions } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import type { SqliteStorageOptions } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'
import { optionsOfOtherFunctions } from '../src/settings/checked-options.ts'

const storage = memoryStorage()
const lookupClient = { status: () => Promise.reject(new Error('unused')), close: () => Promise.resolve() }
const location = { location: 'Here', ip: '192.0.2.1', provider: 'Someone' }

test.each<[string, object]>([
  ['storage', {}],
  ['storage', { storage: null }],
  ['storage', { storage: { findClient: () => null } }],
  ['basePath', { basePath: 'api' }],
  ['basePath', { basePath: '/api/' }],
  ['basePath', { basePath: '/a?b' }],
  ['basePath', { basePath: '/café' }],
  ['basePath', { basePath: '/{tenant}' }],
  ['basePath', { basePath: '/a\\b' }],
  ['clock', { clock: {} }],
  ['keyGenerator', { keyGenerator: { secret: () => '' } }],
  ['oauth.accessTokenLifetimeSeconds', { oauth: { accessTokenLifetimeSeconds: 0 } }],
  ['oauth.accessTokenLifetimeSeconds', { oauth: { accessTokenLifetimeSeconds: 1.5 } }],
  ['oauth.onReplay', { oauth: { onReplay: 'ignore' } }],
  ['oauth.refreshTokens', { oauth: { refreshTokens: true } }],
  ['licenses.keyPrefix', { licenses: { keyPrefix: 'a/b' } }],
  ['licenses.statuses', { licenses: { statuses: [] } }],
  ['licenses.statuses.0', { licenses: { statuses: ['a b'] } }],
  ['licenses.allowWildcards', { licenses: { allowWildcards: 'yes' } }],
  ['dns', { dns: true }],
  ['dns.locations', { dns: { locations: [] } }],
  ['dns.locations.1.ip', { dns: { locations: [location, { ...location, ip: 'dns.google' }] } }],
  ['dns.locations.0.port', { dns: { locations: [{ ...location, port: 0 }] } }],
  ['dns.locations.0.clientSubnet', { dns: { locations: [{ ...location, clientSubnet: '192.0.2.0/33' }] } }],
  ['dns.locations.0.clientSubnet', { dns: { locations: [{ ...location, clientSubnet: '192.0.2.0' }] } }],
  ['dns.locations.0.clientSubnet', { dns: { locations: [{ ...location, clientSubnet: '192.0.2.0/24/8' }] } }],
  ['dns.timeoutMs', { dns: { timeoutMs: 0 } }],
  ['dns.cacheTtlMs', { dns: { cacheTtlMs: -1 } }],
  ['dns.maxConcurrentPerResolver', { dns: { maxConcurrentPerResolver: 0 } }],
  ['dns.requiredScope', { dns: { requiredScope: 'a b' } }],
  ['dns.client', { dns: { client: {} } }],
  ['blockgame.timeoutMs', { blockgame: { timeoutMs: Number.NaN } }],
  ['blockgame.allowAddress', { blockgame: { allowAddress: true } }],
  ['blockgame.resolvers.0.ip', { blockgame: { resolvers: [{ ip: 'localhost' }] } }],
  ['blockgame.allowAddress', { blockgame: { client: lookupClient, allowAddress: () => false } }],
  ['blockgame.resolvers', { blockgame: { client: lookupClient, resolvers: [{ ip: '192.0.2.1' }] } }],
  ['blockgame.protocolVersion', { blockgame: { client: lookupClient, protocolVersion: 4 } }],
  ['blockgame.protocolVersion', { blockgame: { protocolVersion: 2 ** 31 } }],
  ['blockgame.fallbackProtocolVersion', { blockgame: { fallbackProtocolVersion: 2 ** 31 } }],
  ['storageTimeoutMs', { storageTimeoutMs: Infinity }],
  ['maxInFlight', { maxInFlight: 0 }],
  ['rateLimiter', { rateLimiter: {} }],
  ['logger', { logger: true }],
  ['logger', { logger: { error: () => {} } }],
  ['onRequestEnd', { onRequestEnd: 'log' }],
  ['errorBody', { errorBody: {} }],
  ['storagePath', { storagePath: 'x.sqlite' }],
])('%s is named when it is wrong: %j', (name, options) => {
  const complete = 'storage' in options || name === 'storage' ? options : { storage, ...options }
  const make = (): unknown => createUtilityApi(complete as never)
  expect(make).toThrow(UtilityApiError)
  expect(make).toThrow(expect.objectContaining({ code: 'invalid_options' }))
  // The words of the schema library are about schemas.
  expect(make).not.toThrow(/Invalid|expected|Too |>=|instance/)
  expect(make).toThrow(new RegExp(`^${name.replaceAll('.', '\\.')}: `))
})

test('storage alone is enough, and an operation can be taken out', async () => {
  createUtilityApi({ storage })
  const api = createUtilityApi({ storage, dns: false, blockgame: false })
  for (const path of ['/v3/tools/dnscheck', '/v4/games/blockgame/lookup']) {
    expect((await api.fetch(new Request(`http://localhost${path}`))).status).toBe(404)
  }
  const { checkDns, lookUpGameServer } = api.handlers
  expect((await checkDns(new Request('http://localhost/v3/tools/dnscheck'))).status).toBe(404)
  expect((await lookUpGameServer(new Request('http://localhost/anything'))).status).toBe(404)
})

test.each(['192.0.2.1/32', '2001:db8::/128', '0.0.0.0/0'])(
  'the client subnet %s is accepted',
  (clientSubnet) => {
    createUtilityApi({ storage, dns: { locations: [{ ...location, clientSubnet }] } })
  },
)

test('the types refuse the options of the built-in client beside another client', () => {
  const make = (): unknown =>
    // @ts-expect-error -- allowAddress would have no effect
    createUtilityApi({ storage, blockgame: { client: lookupClient, allowAddress: () => false } })
  expect(make).toThrow(UtilityApiError)
})

const issuer = 'https://shop.example'

test.each<[object | undefined, string]>([
  [undefined, 'options: must be an object. Write createUtilityApi({ storage: memoryStorage() }).'],
  [
    { storage, dns: { locations: [{ location: 'Here', ip: '192.0.2.1' }] } },
    'dns.locations.0.provider: is missing: a location is { location, ip, provider }.',
  ],
  [
    { storage, dns: { locations: [{ ...location, provider: '' }] } },
    'dns.locations.0.provider: must not be empty.',
  ],
  [{ storage, basepath: '/api' }, 'basepath: is not an option; basePath is.'],
  [{ storage, maxInFligth: 9 }, 'maxInFligth: is not an option; maxInFlight is.'],
  [{ storage, dns: { timeout: 9 } }, 'dns.timeout: is not an option; timeoutMs is.'],
  [{ storage, licenses: { status: ['valid'] } }, 'licenses.status: is not an option; statuses is.'],
  [{ storage, licenses: { keyprefix: 'A-' } }, 'licenses.keyprefix: is not an option; keyPrefix is.'],
  [{ storage, licenses: { prefix: 'X-' } }, 'licenses.prefix: is not an option; keyPrefix is.'],
  [{ storage, dns: { scope: 'a' } }, 'dns.scope: is not an option; requiredScope is.'],
  [{ storage, dns: { resolvers: [] } }, 'dns.resolvers: is not an option; dns.locations is.'],
  [{ storage, dns: { ttlMs: 9 } }, 'dns.ttlMs: is not an option; cacheTtlMs is.'],
  [
    { storage, oauth: { lifetimeSeconds: 9 } },
    'oauth.lifetimeSeconds: is not an option; accessTokenLifetimeSeconds is.',
  ],
  [
    { storage, blockgame: { permission: 'a' } },
    'blockgame.permission: is not an option; requiredPermission is.',
  ],
  [{ storage, prefix: '/api' }, 'prefix: is not an option; basePath of createUtilityApi is.'],
  [{ storage, dns: true }, 'dns: must be an object, or false to remove the operation.'],
  [{ storage, blockgame: 'no' }, 'blockgame: must be an object, or false to remove the operation.'],
  [{ storage, dns: { timeoutMs: 1.5 } }, 'dns.timeoutMs: must be a whole number from 1 to 600000.'],
  [{ storage, dns: { timeoutMs: '5s' } }, 'dns.timeoutMs: must be a whole number from 1 to 600000.'],
  [{ storage, dns: { timeoutMs: -0.5 } }, 'dns.timeoutMs: must be a whole number from 1 to 600000.'],
  [{ storage, dns: { timeoutMs: Number.NaN } }, 'dns.timeoutMs: must be a whole number from 1 to 600000.'],
  [{ storage, logger: true }, 'logger: must be false or have the methods debug, info, warn, error.'],
  [{ storage, port: 3000 }, 'port: is not an option.'],
  [{ storage, issuer: 'https://a.example' }, 'issuer: is not an option; licenses.issuer is.'],
  [{ storage, onReplay: 'deny' }, 'onReplay: is not an option; oauth.onReplay is.'],
  [{ storage, locations: [] }, 'locations: is not an option; dns.locations is.'],
  [{ storage, protocolVersion: 4 }, 'protocolVersion: is not an option; blockgame.protocolVersion is.'],
  [{ storage, timeoutMs: 9 }, 'timeoutMs: is not an option; dns.timeoutMs and blockgame.timeoutMs are.'],
  [{ storage, timeout: 9 }, 'timeout: is not an option; dns.timeoutMs and blockgame.timeoutMs are.'],
  [{ storage, dns: { logger: console } }, 'dns.logger: is not an option; logger is.'],
  [{ storage, oauth: { issuer } }, 'oauth.issuer: is not an option; createAdmin takes it.'],
  [{ storage, dns: { trustProxy: 1 } }, 'toNodeHandler, toExpressHandler and toBunHandler take it.'],
  [{ storage, toString: 1 }, 'toString: is not an option.'],
  [
    { storage, dns: { locations: [{ ...location, ip: '192.0.2.1:53' }] } },
    'dns.locations.0.ip: must be an IP address, without a port: write { ip, port }.',
  ],
  [
    { storage, blockgame: { resolvers: [{ ip: '[::1]:53' }] } },
    'blockgame.resolvers.0.ip: must be an IP address, without a port: write { ip, port }.',
  ],
])('%j says: %s', (options, message) => {
  expect(() => createUtilityApi(options as never)).toThrow(message)
})

test.each<[object, string]>([
  [{ logger: console }, 'logger: is not an option; createUtilityApi takes it.'],
  [{ requiredScope: 'a' }, 'requiredScope: is not an option; createUtilityApi takes dns.requiredScope.'],
  [{ issuer }, 'issuer: is not an option; licenses.issuer and oauth.issuer are.'],
  [{ oauth: { onReplay: 'deny' } }, 'oauth.onReplay: is not an option; createUtilityApi takes it.'],
  [{ durability: 'full' }, 'durability: is not an option; sqliteStorage takes it.'],
])('createAdmin says of %j: %s', (options, message) => {
  expect(() => createAdmin({ storage, ...options } as never)).toThrow(message)
})

test('options of the mounts and of SQLite are known by the functions that take them', () => {
  type Elsewhere = Exclude<keyof (ExpressMountOptions & SqliteStorageOptions), keyof UtilityApiOptions>
  // Does not compile if one is missing.
  const { prefix, ...elsewhere } = optionsOfOtherFunctions satisfies Record<Elsewhere | 'prefix', string>
  for (const [name, takenBy] of Object.entries(elsewhere))
    expect(() => createUtilityApi({ storage, [name]: 1 })).toThrow(`${name}: is not an option; ${takenBy}.`)
  expect(() => createUtilityApi({ storage, prefix: '/api' } as never)).toThrow(`; ${prefix}.`)
  const api = createUtilityApi({ storage })
  for (const mount of [toNodeHandler, toExpressHandler, toBunHandler]) mount(api, { trustProxy: 1 })
  expect(() => toExpressHandler(api, { basePath: '/api' } as never)).toThrow(
    'basePath: is not an option of toExpressHandler, which takes trustProxy, requestId, fallthrough; others go to createUtilityApi.',
  )
})

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
const ed448 = generateKeyPairSync('ed448').privateKey
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
const notAKey =
  'licenses.signingKey: must be a private Ed25519 KeyObject of node:crypto, or a list of them: write createPrivateKey(pem).'

test.each<[string, object, string]>([
  ['a text', { issuer, signingKey: pem }, notAKey],
  ['null', { issuer, signingKey: null }, notAKey],
  ['a pair', { issuer, signingKey: { privateKey, publicKey } }, notAKey],
  ['a key of Web Crypto', { issuer, signingKey: await webCryptoKey() }, notAKey],
  [
    'a public key',
    { issuer, signingKey: publicKey },
    'licenses.signingKey: is a public key, and only the private one can sign.',
  ],
  [
    'an RSA key',
    { issuer, signingKey: rsa },
    'licenses.signingKey: must be an Ed25519 key, and is of the type rsa.',
  ],
  [
    'another curve',
    { issuer, signingKey: [privateKey, ed448] },
    'licenses.signingKey.1: must be an Ed25519 key, and is of the type ed448.',
  ],
  [
    'a shared secret',
    { issuer, signingKey: createSecretKey('a'.repeat(32), 'utf8') },
    'licenses.signingKey: must be an Ed25519 key, and is of the type secret.',
  ],
  ['no keys', { issuer, signingKey: [] }, 'licenses.signingKey: must have at least one key.'],
  [
    'one key twice',
    { issuer, signingKey: [privateKey, privateKey] },
    'licenses.signingKey: has the same key twice.',
  ],
  ['no issuer', { signingKey: privateKey }, 'licenses.issuer: is needed with signingKey.'],
  ['no key', { issuer, signingKey: undefined }, 'licenses.signingKey: is needed with issuer.'],
  ...['', 'our shop', 'shop: example', 7].map((wrong): [string, object, string] => [
    `the issuer ${JSON.stringify(wrong)}`,
    { issuer: wrong, signingKey: privateKey },
    'licenses.issuer: must be 1 to 255 visible ASCII characters, and a URI if it has a colon.',
  ]),
])('signing licenses with %s is refused', (_, licenses, message) => {
  // The whole message: nothing of a key is in it.
  const refused = expect.objectContaining({ code: 'invalid_options', message })
  expect(() => createUtilityApi({ storage, licenses: licenses as never })).toThrow(refused)
  expect(() => createAdmin({ storage, licenses: licenses as never })).toThrow(refused)
})

async function webCryptoKey(): Promise<unknown> {
  return webcrypto.subtle.importKey('jwk', privateKey.export({ format: 'jwk' }), 'Ed25519', false, ['sign'])
}

test('a storage is told which of its methods are missing', () => {
  const { findLicense: _, ...others } = storage
  expect(() => createUtilityApi({ storage: others as never })).toThrow(/^storage: lacks findLicense\.$/)
  const { findClient: __, insertLicense: ___, updateLicense: ____, ...few } = others
  expect(() => createUtilityApi({ storage: few as never })).toThrow(
    /^storage: lacks findClient, insertLicense, updateLicense and 1 more method\.$/,
  )
})
