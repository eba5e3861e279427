import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createAdmin, createUtilityApi, licenseIsGood, randomKeys, summarizeDnsCheck } from 'utility-api'
import { createBlockgameClient } from 'utility-api/blockgame'
import { createDnsClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { optionalMembers } from '../support/optional-members.ts'

// What a session that has ended, a query without the parameter or a setting that is missing hands to the library: a
// member that is there, but undefined. Each member that may be left out is decided here, and tried.

/** Absent, they grant more: to nobody in particular, from everybody, forever, or without a check. */
const refused = [
  'AdminLicenseChange.expiresAt',
  'AdminLicenseChange.reference',
  'AdminLicenseChange.resellerId',
  'AdminOptions.oauth',
  'AuthorizationPageOptions.issuer',
  'BlockgameClientOptions.allowAddress',
  'BlockgameLimits.requiredPermission',
  'ClientPatch.redirectUris',
  'DnsCheckOptions.requiredScope',
  'DnsExpectation.authorities',
  'LicensePatch.domainOrIp',
  'LicensePatch.registeredTo',
  'LicensePatch.status',
  'NewAdminAccessToken.clientId',
  'NewAdminAccessToken.lifetimeSeconds',
  'NewAdminAccessToken.subject',
  'NewAdminLicense.createdAt',
  'NewAdminLicense.expiresAt',
  'NewAdminLicense.licenseKey',
  'NewAdminLicense.reference',
  'NewAdminLicense.status',
  'NewApiKey.lifetimeSeconds',
  'NewApiKey.permissions',
  'NewAuthorizationCode.codeChallenge',
  'NewAuthorizationCode.lifetimeSeconds',
  'NewAuthorizationCode.subject',
  'NewReseller.tokenLifetimeSeconds',
  'OAuthOptions.accessTokenLifetimeSeconds',
  'SignLicenseOptions.audience',
  'UtilityApiOptions.blockgame',
  'UtilityApiOptions.dns',
  'UtilityApiOptions.oauth',
  'UtilityApiOptions.rateLimiter',
  'countLicenses.resellerId',
  'createResellerToken.lifetimeSeconds',
  'grantAuthorization.lifetimeSeconds',
  'grantAuthorization.scope',
  'grantAuthorization.subject',
  'listCredentials.ownerId',
  'listLicenses.domainOrIp',
  'listLicenses.endsBefore',
  'listLicenses.endsFrom',
  'listLicenses.reference',
  'listLicenses.resellerId',
  'listLicenses.status',
  'ChallengeOptions.scope',
  'verifyApiKey.permission',
]

/** Why leaving out grants nothing. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  'a label for people': ['AuthorizationRequest.clientName', 'ClientPatch.name', 'NewApiKey.name'],
  'a label for people, or a new id or secret that only the caller is told': [
    'NewClient.name',
    'NewClient.clientId',
    'NewClient.clientSecret',
    'NewReseller.name',
    'NewReseller.resellerId',
  ],
  'where a list goes on, of what the caller may see anyway': [
    'listClients.after',
    'listClients.limit',
    'listCredentials.after',
    'listCredentials.limit',
    'listLicenses.after',
    'listLicenses.limit',
    'listResellers.after',
    'listResellers.limit',
  ],
  'what a client is told: access_denied, without a sentence': [
    'denyAuthorization.error',
    'denyAuthorization.description',
  ],
  'a request without a scope gets none': ['readAuthorizationRequest.defaultScope'],
  'what a document for everybody leaves out': [
    'ProtectedResource.scopes',
    'ServerEndpoints.publicClients',
    'ServerEndpoints.scopes',
    'ChallengeOptions.resourceMetadata',
  ],
  'the default is the strictest': [
    'BlockgameLimits.details',
    'ExpressMountOptions.fallthrough',
    'LicenseOptions.allowWildcards',
    'MountOptions.trustProxy',
    'NewClient.clientType',
    'createClient.clientType',
    'OAuthOptions.onReplay',
    'SqliteStorageOptions.durability',
    'licenseIsGood.statuses',
  ],
  'without both, nothing is signed; one alone is refused': [
    'LicenseOptions.issuer',
    'LicenseOptions.signingKey',
  ],
  'a limit, a name or a helper that has a default': [
    'AdminOptions.clock',
    'AdminOptions.keyGenerator',
    'AdminOptions.licenses',
    'BlockgameClientOptions.fallbackProtocolVersion',
    'BlockgameClientOptions.protocolVersion',
    'BlockgameLimits.cacheTtlMs',
    'BlockgameLimits.maxConcurrent',
    'BlockgameLimits.timeoutMs',
    'DnsCheckOptions.cacheTtlMs',
    'DnsCheckOptions.client',
    'DnsCheckOptions.maxConcurrentPerResolver',
    'DnsCheckOptions.timeoutMs',
    'DnsClientOptions.timeoutMs',
    'LicenseOptions.keyPrefix',
    'LicenseOptions.statuses',
    'MountOptions.requestId',
    'RandomKeysOptions.timeOrdered',
    'UtilityApiOptions.basePath',
    'UtilityApiOptions.clock',
    'UtilityApiOptions.keyGenerator',
    'UtilityApiOptions.licenses',
    'UtilityApiOptions.maxAnswerBytes',
    'UtilityApiOptions.maxInFlight',
    'UtilityApiOptions.storageTimeoutMs',
    'licenseIsGood.at',
  ],
  'nobody is told': [
    'UtilityApiOptions.errorBody',
    'UtilityApiOptions.logger',
    'UtilityApiOptions.onRequestEnd',
    'checkDns.onAnswer',
  ],
  'the usual resolver, port or way to ask': [
    'AuthoritativeServersOptions.timeoutMs',
    'AuthoritativeServersOptions.type',
    'BlockgameClientOptions.resolve',
    'BlockgameClientOptions.resolvers',
    'BlockgameTarget.handshake',
    'BlockgameTarget.port',
    'BlockgameTarget.proxyProtocol',
    'BlockgameTarget.raw',
    'BlockgameTarget.timeoutMs',
    'DnsCheckOptions.locations',
    'DohClientOptions.endpoint',
    'DohClientOptions.fetch',
    'DnsQuestion.checkingDisabled',
    'DnsQuestion.clientSubnet',
    'DnsQuestion.doh',
    'DnsQuestion.port',
    'DnsQuestion.recursionDesired',
    'DnsQuestion.timeoutMs',
    'DnsQuestion.transport',
    'HandshakeAddress.port',
    'ParseOptions.raw',
    'ResolverAddress.port',
    'ResolverLocation.clientSubnet',
    'ResolverLocation.doh',
    'ResolverLocation.port',
    'encodeQuery.checkingDisabled',
    'encodeQuery.clientSubnet',
    'encodeQuery.recursionDesired',
    'lookUpGameServer.port',
  ],
  'who has no name shares the part of the program itself': ['OwnCallOptions.caller'],
  'nobody cancels': [
    'AuthoritativeServersOptions.signal',
    'BlockgameTarget.signal',
    'DnsQuestion.signal',
    'OwnCallOptions.signal',
  ],
  'answers are compared with each other, which has verdicts of its own': [
    'DnsExpectation.contains',
    'DnsExpectation.expected',
    'summarizeDnsCheck.contains',
    'summarizeDnsCheck.expected',
  ],
  'the first check has no earlier one, and a later end only makes it wait longer': [
    'DnsExpectation.at',
    'DnsExpectation.previous',
  ],
  'part of an answer of ours': [
    'DnsCheckResult.authenticated',
    'DnsCheckResult.bogus',
    'DnsCheckResult.client_subnet_scope',
    'DnsCheckResult.cname_chain',
    'DnsCheckResult.cname_ttl',
    'DnsCheckResult.ede',
    'DnsCheckResult.negative_ttl',
    'DnsCheckResult.referral',
    'DnsCheckResult.transport',
    'DnsRecord.base64',
  ],
  'what a mount knows of a request': [
    'ExpressRequest.body',
    'ExpressRequest.ip',
    'ExpressRequest.rawBody',
    'RequestContext.connection',
    'RequestContext.fallthrough',
    'RequestContext.ip',
    'RequestContext.params',
    'RequestContext.requestId',
    'RequestContext.signal',
    'RequestLike.bodyWithheld',
    'RequestLike.signal',
  ],
  'what a driver says of itself': [
    'MysqlPool.config',
    'MysqlPool.connectionLimit',
    'MysqlPool.pool',
    'PostgresPool.binary',
    'PostgresPool.statement_timeout',
    'SqliteDatabase.inTransaction',
    'SqliteDatabase.isTransaction',
  ],
  'how a fake of a test behaves': [
    'FakeBlockgameServerOptions.chunkBytes',
    'FakeBlockgameServerOptions.delayMs',
    'FakeBlockgameServerOptions.era',
    'FakeBlockgameServerOptions.ip',
    'FakeBlockgameServerOptions.pong',
    'FakeBlockgameServerOptions.pongDelayMs',
    'FakeBlockgameServerOptions.port',
    'FakeBlockgameServerOptions.script',
    'FakeBlockgameServerOptions.status',
    'FakeBlockgameServerOptions.unknownPacket',
    'FakeDnsAnswer.authenticated',
    'FakeDnsAnswer.options',
    'FakeDnsAnswer.rcode',
    'FakeDnsAnswer.records',
    'FakeDnsServerOptions.delayMs',
    'FakeDnsServerOptions.drop',
    'FakeDnsServerOptions.ip',
    'FakeDnsServerOptions.port',
    'FakeDnsServerOptions.rcode',
    'FakeDnsServerOptions.records',
    'FakeDnsServerOptions.reply',
    'FakeDnsServerOptions.truncate',
    'FaultyStorageOptions.rate',
    'StorageContractOptions.calls',
    'StorageContractOptions.seeds',
  ],
}

const exported = new Set(readFileSync('test/package/exported-names.txt', 'utf8').split(/\s+/))
const members = optionalMembers(exported)

test('each member that may be left out is either refused where it is undefined, or has a reason', () => {
  const decided = [...refused, ...Object.values(harmless).flat()]
  expect(decided.toSorted()).toEqual([...members.keys()].toSorted())
})

test('the types of those that are refused do not take undefined', () => {
  expect(refused.filter((member) => members.get(member)?.includes('undefined'))).toEqual([])
})

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { privateKey: signingKey } = generateKeyPairSync('ed25519')
const api = createUtilityApi({ storage, licenses: { issuer: 'https://shop.example', signingKey } })
const redirectUri = 'https://a.example/'
const asked = {
  kind: 'ask',
  clientId: 'app',
  redirectUri,
  scope: 'a b',
  state: null,
  codeChallenge: null,
} as const
const code = { clientId: 'app', redirectUri, scope: 'a' }
const sold = {
  resellerId: 'shop',
  registeredTo: 'Ada',
  domainOrIp: 'shop.example',
  reference: 'payment-1',
}
const endpoints = { authorizationEndpoint: redirectUri, tokenEndpoint: redirectUri }
const location = { location: 'Here', ip: '192.0.2.1', provider: 'Own' }
const made = { licenseKey: '', accessToken: '', apiKey: '' }

beforeAll(async () => {
  await admin.createClient({ clientId: 'app', redirectUris: [redirectUri] })
  await admin.createReseller({ resellerId: 'shop' })
  const { licenseKey } = await admin.createLicense({ ...sold, status: 'invalid' })
  const { accessToken } = await admin.createAccessToken({ scope: 'a' })
  const { apiKey } = await admin.createApiKey()
  Object.assign(made, { licenseKey, accessToken, apiKey })
})
afterAll(() => api.close())

/** What takes each member, with everything else that it needs. */
const calls: Readonly<Record<string, (absent: object) => unknown>> = {
  AdminLicenseChange: (absent) => admin.updateLicense(made.licenseKey, { status: 'valid', ...absent }),
  AdminOptions: (absent) => createAdmin({ storage, ...absent }),
  AuthorizationPageOptions: (oauth) => createAdmin({ storage, oauth }),
  BlockgameClientOptions: (absent) => {
    createUtilityApi({ storage, blockgame: absent })
    return createBlockgameClient({ resolvers: [{ ip: '192.0.2.1' }], ...absent })
  },
  BlockgameLimits: (blockgame) => createUtilityApi({ storage, blockgame }),
  ClientPatch: (absent) => admin.updateClient('app', { name: 'App', ...absent }),
  DnsCheckOptions: (dns) => createUtilityApi({ storage, dns }),
  DnsClientOptions: createDnsClient,
  DnsExpectation: (absent) => summarizeDnsCheck([], { recordType: 'A', expected: [], ...absent }),
  LicenseOptions: (licenses) => createUtilityApi({ storage, licenses }),
  LicensePatch: (absent) =>
    admin.updateLicense(made.licenseKey, { status: 'valid', registeredTo: 'Eve', ...absent }),
  NewAdminAccessToken: (absent) => admin.createAccessToken({ scope: 'a', ...absent }),
  NewAdminLicense: (absent) => admin.createLicense({ ...sold, ...absent }),
  NewApiKey: admin.createApiKey,
  NewAuthorizationCode: (absent) => admin.issueAuthorizationCode({ ...code, ...absent }),
  NewClient: (absent) => admin.createClient({ redirectUris: [redirectUri], ...absent }),
  NewReseller: admin.createReseller,
  OAuthOptions: (oauth) => createUtilityApi({ storage, oauth }),
  RandomKeysOptions: randomKeys,
  ResolverAddress: (absent) =>
    createUtilityApi({ storage, blockgame: { resolvers: [{ ip: '192.0.2.1', ...absent }] } }),
  ResolverLocation: (absent) =>
    createUtilityApi({ storage, dns: { locations: [{ ...location, ...absent }] } }),
  ServerEndpoints: (absent) => admin.authorizationServerMetadata({ ...endpoints, ...absent }),
  SignLicenseOptions: (absent) => api.signLicense(made.licenseKey, { lifetimeSeconds: 60, ...absent }),
  UtilityApiOptions: (absent) => createUtilityApi({ storage, ...absent }),
  countLicenses: admin.countLicenses,
  createResellerToken: (absent) => admin.createResellerToken('shop', absent),
  denyAuthorization: (absent) => admin.denyAuthorization(asked, absent),
  grantAuthorization: (absent) => admin.grantAuthorization(asked, absent),
  licenseIsGood: (absent) => licenseIsGood(null, 'shop.example', absent),
  listClients: admin.listClients,
  listCredentials: (absent) => admin.listCredentials({ kind: 'access_token', ...absent }),
  listLicenses: admin.listLicenses,
  listResellers: admin.listResellers,
  readAuthorizationRequest: (absent) =>
    admin.readAuthorizationRequest(new URLSearchParams(), { scopes: [], ...absent }),
  ChallengeOptions: (absent) => api.verifyAccessToken(made.accessToken, absent),
  verifyApiKey: (absent) => api.verifyApiKey(made.apiKey, absent),
}

/** Returns what a call with a member that is undefined says, or null if it is made. */
async function complaint(owner: string, name: string): Promise<unknown> {
  try {
    await calls[owner]?.({ [name]: undefined })
    return null
  } catch (error) {
    return error
  }
}

/** Refused as any other value that is none. */
const isNone =
  /^(?:scope must be a string|permission must be a string|audience must be 1 to 255|authorities must be a list) /

test.each(refused)('%s is refused where it is there, but undefined', async (member) => {
  const [owner = '', name = ''] = member.split('.')
  const error = await complaint(owner, name)
  const says = new RegExp(`^(?:\\w+\\.)?${name}:? is undefined: pass a value, or leave it out on purpose\\.$`)
  expect(error).toMatchObject({
    code:
      (owner.endsWith('Options') && !['SignLicenseOptions', 'ChallengeOptions'].includes(owner)) ||
      owner === 'BlockgameLimits'
        ? 'invalid_options'
        : 'invalid_argument',
    message: expect.stringMatching(/^(?:verify|Sign|Challenge|DnsExpectation)/.test(owner) ? isNone : says),
  })
})

const tried = Object.values(harmless)
  .flat()
  .filter((member) => Object.hasOwn(calls, member.split('.')[0] ?? ''))

test.each(tried)('%s counts as left out where it is undefined', async (member) => {
  const [owner = '', name = ''] = member.split('.')
  expect(await complaint(owner, name)).toBeNull()
})

test('a client of your own is not made without its rule for addresses either', () => {
  expect(() => createBlockgameClient({ allowAddress: undefined as never })).toThrow(
    'allowAddress: must be a function.',
  )
})

test('a change that is refused for one member makes no other', async () => {
  const change = { status: 'valid', domainOrIp: undefined as never }
  await expect(admin.updateLicense(made.licenseKey, change)).rejects.toMatchObject({ status: 400 })
  expect(await admin.getLicense(made.licenseKey)).toMatchObject({ status: 'invalid', registeredTo: 'Ada' })
})

test('what an object inherits is given, be it a value or undefined', async () => {
  class Filter {
    readonly #session: { userId?: string }
    constructor(session: { userId?: string }) {
      this.#session = session
    }
    get resellerId(): string {
      return this.#session.userId as string
    }
  }
  expect(await admin.countLicenses(new Filter({ userId: 'nobody' }))).toBe(0)
  await expect(admin.countLicenses(new Filter({}))).rejects.toThrow('resellerId is undefined')
  const dns = Object.create({ requiredScope: undefined }) as object
  expect(() => createUtilityApi({ storage, dns })).toThrow('dns.requiredScope: is undefined')
})
