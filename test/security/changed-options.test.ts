/** What a caller changes in an argument after the call changes nothing of the call: its checks are over. */
import { createAdmin, createUtilityApi, type Admin } from 'utility-api'
import { createBlockgameClient } from 'utility-api/blockgame'
import { createDnsClient, findAuthoritativeServers } from 'utility-api/dns'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { issuer, newKey } from './support/signing-world.ts'

/** A storage that answers in a later turn, as one behind a network does. */
function slow(storage: AdminStorage): AdminStorage {
  const later =
    (method: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]): Promise<unknown> => {
      await new Promise(setImmediate)
      return method(...args)
    }
  const methods = Object.entries(storage).map(([name, method]) => [
    name,
    typeof method === 'function' ? later(method) : method,
  ])
  return Object.fromEntries(methods) as AdminStorage
}

const storage = memoryStorage()
const options = {
  storage: { ...slow(storage), listing: slow(storage.listing as never) } as unknown as AdminStorage,
  licenses: { issuer, signingKey: newKey() },
}
const game = await fakeBlockgameServer()
const zone = [
  { type: 'NS', host: 'shop.example', target: 'ns.shop.example' },
  { type: 'A', host: 'ns.shop.example', ip: '198.51.100.7' },
  { type: 'A', host: 'shop.example', ip: '198.51.100.7' },
]
const resolver = await fakeDnsServer({ records: zone as never })
const server = { ip: resolver.ip, port: resolver.port }
const dns = createDnsClient()
const blockgame = createBlockgameClient({ allowAddress: () => true })
const api = createUtilityApi({
  ...options,
  dns: {
    locations: [{ location: 'Here', provider: 'Nobody', ...server }],
  },
  blockgame: { allowAddress: () => true },
} as never)
const admin = createAdmin({ ...options, oauth: { issuer } })

afterAll(() => Promise.all([api.close(), dns.close(), blockgame.close(), game.close(), resolver.close()]))

const redirectUri = 'https://client.example/callback'
const made = {
  client: await admin.createClient({ redirectUris: [redirectUri] }),
  reseller: await admin.createReseller({}),
  access: await admin.createAccessToken({ scope: 'orders', lifetimeSeconds: 600 }),
  apiKey: await admin.createApiKey({ permissions: ['orders'] }),
}
const { clientId } = made.client
const { resellerId } = made.reseller
const sold = { resellerId, registeredTo: 'Ada', domainOrIp: 'shop.example' }
const { licenseKey } = await admin.createLicense(sold)
const asked = { clientId, redirectUri, scope: 'orders', state: 's', codeChallenge: null }

/** A call, and its arguments made afresh. */
type Called = readonly [call: (...args: never[]) => Promise<unknown>, args: () => readonly unknown[]]

/** Without those that take no object. */
type Provisioning = Exclude<
  keyof Admin,
  | 'rotateClientSecret'
  | 'revokeClient'
  | 'getLicense'
  | 'deleteLicense'
  | 'purgeExpired'
  | 'authorizationServerMetadata'
  | 'protectedResourceMetadata'
>

const provisioning: { readonly [Method in Provisioning]: () => readonly unknown[] } = {
  createClient: () => [{ redirectUris: [redirectUri], name: 'Shop' }],
  updateClient: () => [clientId, { redirectUris: [redirectUri], name: 'Shop' }],
  readAuthorizationRequest: () => [
    new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'orders',
    }),
    { scopes: ['orders'], defaultScope: 'orders' },
  ],
  grantAuthorization: () => [
    { kind: 'ask', ...asked },
    { subject: 'ada', scope: 'orders' },
  ],
  denyAuthorization: () => [{ kind: 'ask', ...asked }, { error: 'login_required' }],
  issueAuthorizationCode: () => [
    { clientId, redirectUri, scope: 'orders', subject: 'ada', lifetimeSeconds: 9 },
  ],
  createReseller: () => [{ name: 'Shop', tokenLifetimeSeconds: 9 }],
  createResellerToken: () => [resellerId, { lifetimeSeconds: 9 }],
  createAccessToken: () => [{ scope: 'orders', lifetimeSeconds: 9, clientId, subject: 'ada' }],
  createApiKey: () => [{ permissions: ['orders'], name: 'Shop', lifetimeSeconds: 9 }],
  revoke: () => [{ id: 'none' }],
  revokeAccess: () => [{ subject: 'nobody' }],
  createLicense: () => [{ ...sold, status: 'valid', reference: 'payment-1', createdAt: new Date(1) }],
  updateLicense: () => [licenseKey, { ...sold, status: 'valid' }],
  listClients: () => [{ limit: 1 }],
  listResellers: () => [{ limit: 1 }],
  listCredentials: () => [{ kind: 'reseller_token', ownerId: resellerId, limit: 1 }],
  listLicenses: () => [{ resellerId, domainOrIp: 'shop.example', status: 'valid', limit: 1 }],
  countLicenses: () => [{ resellerId }],
}

const calls: Readonly<Record<string, Called>> = {
  ...Object.fromEntries(
    Object.entries(provisioning).map(([name, args]) => [
      `admin.${name}`,
      [admin[name as Provisioning], args],
    ]),
  ),
  verifyAccessToken: [api.verifyAccessToken, () => [made.access.accessToken, { scope: 'orders' }]],
  verifyApiKey: [api.verifyApiKey, () => [made.apiKey.apiKey, { permission: 'orders' }]],
  signLicense: [api.signLicense, () => [licenseKey, { lifetimeSeconds: 60, audience: 'shop-plugin' }]],
  checkDns: [
    api.checkDns,
    () => [
      { domain: 'shop.example', recordType: 'A' },
      { caller: 'ada', signal: new AbortController().signal, onAnswer() {} },
    ],
  ],
  lookUpGameServer: [
    api.lookUpGameServer,
    () => [
      { address: game.ip, port: game.port },
      { caller: 'ada', signal: new AbortController().signal },
    ],
  ],
  'dns.query': [
    dns.query,
    () => [
      {
        name: 'shop.example',
        type: 'A',
        server: { ...server },
        timeoutMs: 5000,
        recursionDesired: true,
        transport: 'udp',
        signal: new AbortController().signal,
      },
    ],
  ],
  findAuthoritativeServers: [
    (...args: [string, never]) => findAuthoritativeServers(dns, ...args),
    () => [
      'shop.example',
      { resolvers: [{ ...server }], timeoutMs: 5000, signal: new AbortController().signal },
    ],
  ],
  'blockgame.status': [
    blockgame.status,
    () => [
      {
        host: game.ip,
        port: game.port,
        timeoutMs: 5000,
        raw: true,
        handshake: { host: 'a.example', port: 1 },
      },
    ],
  ],
  fakeDnsServer: [
    async (given: { records: object[] }) => {
      await using fake = await fakeDnsServer(given as never)
      const { records } = await dns.query({
        name: 'a.example',
        type: 'A',
        server: { ip: fake.ip, port: fake.port },
      })
      expect(records).toHaveLength(1)
    },
    () => [{ records: [{ type: 'A', host: 'a.example', ip: '198.51.100.7' }] }],
  ],
  fakeBlockgameServer: [
    async (given: object) => {
      await using fake = await fakeBlockgameServer(given)
      const { players } = await blockgame.status({ host: fake.ip, port: fake.port })
      expect(players).toMatchObject({ online: 3, max: 20 })
    },
    () => [{ status: { players: { online: 3, max: 20 } } }],
  ],
}

/** Makes each member of an argument throw when it is read once more. */
function spoil(value: unknown): void {
  if (value instanceof URLSearchParams) {
    for (const name of new Set(value.keys())) value.set(name, 'https://thief.example')
    return
  }
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value ?? 0) === Object.prototype
  if (!isPlain) return
  for (const [name, member] of Object.entries(value as object)) {
    spoil(member)
    Object.defineProperty(value, name, {
      get() {
        throw new Error(`${name} is read after the call.`)
      },
    })
  }
}

describe('an argument that is changed right after the call', () => {
  test.each(Object.entries(calls))('%s', async (_, [call, args]) => {
    await call(...(args() as never[]))
    const given = args()
    const pending = call(...(given as never[]))
    for (const argument of given) spoil(argument)
    await expect(pending).resolves.not.toMatchObject({ kind: 'refuse' })
  })

  test('two statements for two audiences, by one object', async () => {
    const terms = { lifetimeSeconds: 60, audience: 'shop-plugin' }
    const first = api.signLicense(licenseKey, terms)
    Object.assign(terms, { audience: 'theme', lifetimeSeconds: 1e12 })
    const [, claims = ''] = (await first).split('.')
    const { aud, exp, iat } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    expect([aud, exp - iat < 3600]).toEqual(['shop-plugin', true])
  })
})
