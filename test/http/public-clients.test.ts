/** Clients that have no secret: programs on their users' machines. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { createAdmin, createUtilityApi, type RequestContext } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import type { AuthorizationCode } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { hashSecret } from '../../src/domain/secret.ts'
import { basic } from './support/token-request.ts'

const redirectUri = 'http://127.0.0.1/callback'
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const ip = '192.0.2.1'

let storage: ReturnType<typeof memoryStorage>
let admin: ReturnType<typeof createAdmin>
let clientId: string
let confidential: { clientId: string; clientSecret: string }
const keys: string[] = []
const logged: object[] = []

function serve(own: object = {}): ReturnType<typeof createUtilityApi> {
  const log =
    (level: string) =>
    (message: string, fields?: object): void => {
      logged.push({ level, message, ...fields })
    }
  const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
  const rateLimiter = {
    async consume(key: string) {
      keys.push(key)
      return { allowed: true } as const
    },
  }
  const options = { storage, dns: false, blockgame: false, logger, rateLimiter, ...own } as const
  const api = createUtilityApi(options)
  onTestFinished(() => api.close())
  return api
}

beforeEach(async () => {
  storage = memoryStorage()
  admin = createAdmin({ storage })
  keys.length = 0
  logged.length = 0
  const made = await admin.createClient({ clientType: 'public', redirectUris: [redirectUri] })
  expect(made.clientSecret).toBeNull()
  ;({ clientId } = made)
  confidential = await admin.createClient({ redirectUris: [redirectUri] })
})

const issue = async (own: object = {}): Promise<string> =>
  (await admin.issueAuthorizationCode({ clientId, redirectUri, scope: 'a', codeChallenge, ...own })).code

type Answer = readonly [status: number, body: Record<string, string>]

async function exchange(
  api: ReturnType<typeof createUtilityApi>,
  fields: Record<string, string | undefined>,
  headers: Record<string, string> = {},
  context: RequestContext = { ip },
): Promise<Answer> {
  const all = { grant_type: 'authorization_code', redirect_uri: redirectUri, client_id: clientId, ...fields }
  const body = JSON.stringify(all)
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body }
  const answer = await api.fetch(new Request('http://localhost/v4/oauth2/token', init), context)
  return [answer.status, (await answer.json()) as Record<string, string>]
}

const right = { code_verifier: verifier }
const missing = { error: 'invalid_request', error_description: 'client_secret is missing.' }
const malformed = { error: 'invalid_client', error_description: 'The Authorization header is malformed.' }

test('a public client exchanges its code with its id and its verifier alone', async () => {
  const [status, body] = await exchange(serve(), { ...right, code: await issue() })
  expect([status, body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer', scope: 'a' })])
  const token = await serve().verifyAccessToken(body['access_token'])
  expect(token).toMatchObject({ clientId, scope: 'a' })
})

test('an empty secret counts as none, in the body and in HTTP Basic', async () => {
  const api = serve()
  const empty = await exchange(api, { ...right, code: await issue(), client_secret: '' })
  const inHeader = await exchange(
    api,
    { ...right, code: await issue(), client_id: undefined },
    basic(clientId, ''),
  )
  const inBoth = await exchange(
    api,
    { ...right, code: await issue(), client_secret: '' },
    basic(clientId, ''),
  )
  expect([empty[0], inHeader[0], inBoth[0]]).toEqual([200, 200, 200])
})

test('a secret that a public client sends is refused, and spends nothing', async () => {
  const api = serve()
  const code = await issue()
  const secret = 'uapi_cs_something-long-enough-to-be-a-secret'
  const refused = [
    await exchange(api, { ...right, code, client_secret: secret }),
    await exchange(api, { ...right, code, client_id: undefined }, basic(clientId, secret)),
    await exchange(
      api,
      { ...right, code, client_id: undefined },
      { Authorization: `Basic ${btoa(`${clientId}:\u0001`)}` },
    ),
    await exchange(api, { ...right, code, client_secret: secret }, basic(clientId, '')),
  ]
  for (const [status, { error }] of refused) expect([status, error]).toEqual([401, 'invalid_client'])
  expect((await exchange(api, { ...right, code }))[0]).toBe(200)
})

test('a row that says public is public, whatever hashes it has', async () => {
  const { clientSecret } = confidential
  const row = await storage.findClient(confidential.clientId, { timeLeftMs: () => 1 })
  await storage.insertClient({ ...row!, clientId: 'odd', clientType: 'public' }, { timeLeftMs: () => 1 })
  const code = await issue({ clientId: 'odd' })
  const fields = { ...right, code, client_id: 'odd' }
  expect((await exchange(serve(), { ...fields, client_secret: clientSecret }))[0]).toBe(401)
  expect((await exchange(serve(), fields))[0]).toBe(200)
})

test.each([
  ['none', {}, 'invalid_grant'],
  ['an empty one', { code_verifier: '' }, 'invalid_grant'],
  ['a wrong one', { code_verifier: `${verifier.slice(0, -1)}Q` }, 'invalid_grant'],
  ['the challenge, as for the method plain', { code_verifier: codeChallenge }, 'invalid_grant'],
  ['one that is too short', { code_verifier: 'short' }, 'invalid_request'],
])('a code is worth nothing with another verifier: %s', async (_, fields, error) => {
  const api = serve()
  const code = await issue()
  expect(await exchange(api, { ...fields, code })).toEqual([400, expect.objectContaining({ error })])
  expect((await exchange(api, { ...right, code }))[0]).toBe(200)
})

test('a code that another program has put into the database without a challenge is worth nothing', async () => {
  const row: AuthorizationCode = {
    clientId,
    subject: null,
    redirectUri,
    scope: 'a',
    codeChallenge: null,
    expiresAt: Date.now() + 60_000,
    redeemedAt: null,
  }
  await storage.insertAuthorizationCode(hashSecret('stored'), row, { timeLeftMs: () => 1 })
  for (const fields of [{}, right])
    expect(await exchange(serve(), { ...fields, code: 'stored' })).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_grant' }),
    ])
})

test('the log says how late a code came, as where the clocks of two servers differ', async () => {
  const code = await issue()
  const now = Date.now() + 121_000
  await exchange(serve({ clock: { now: () => now } }), { ...right, code })
  const causes = logged.map((entry) => (entry as { cause?: unknown }).cause)
  expect(causes).toEqual([expect.stringMatching(/^The code expired 6[1-9](?:\.\d+)? s ago\.$/)])
})

test('of twenty that race for one code, one gets a token', async () => {
  const api = serve()
  const code = await issue()
  const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(api, { ...right, code })))
  expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
  expect(answers.filter(([, { error }]) => error === 'invalid_grant')).toHaveLength(19)
})

test('a revoked public client is refused as any other', async () => {
  await admin.revokeClient(clientId)
  expect(await exchange(serve(), { ...right, code: 'x' })).toEqual([
    401,
    { error: 'invalid_client', error_description: 'Client authentication failed.' },
  ])
})

test('who is unknown or has a secret is told what is missing, also where storage fails', async () => {
  const gone = new Error('The disk has gone.')
  const late = { ...storage, findClient: () => Promise.reject(gone) }
  const atOnce = {
    ...storage,
    findClient() {
      throw gone
    },
  }
  for (const api of [serve(), serve({ storage: late }), serve({ storage: atOnce })]) {
    for (const client_id of [confidential.clientId, 'nobody', 'x'.repeat(256)]) {
      const fields = { ...right, code: 'x', client_id }
      expect(await exchange(api, fields)).toEqual([400, missing])
      expect(await exchange(api, fields, basic(client_id, ''))).toEqual([401, malformed])
    }
  }
  expect(await exchange(serve(), { code: 'x' }, basic(confidential.clientId, ''))).toEqual([401, malformed])
  expect(await exchange(serve(), { client_id: undefined })).toEqual([
    400,
    { error: 'invalid_request', error_description: 'client_id is missing.' },
  ])
  const errors = logged.filter((entry) => (entry as { level: string }).level === 'error')
  expect(errors).toHaveLength(8)
  expect(errors[0]).toMatchObject({ message: missing.error_description, code: 'invalid_request' })
  expect((errors[0] as { cause: Error }).cause).toMatchObject({ code: 'database_error' })
})

test('a client without hashes and without a type is nobody’s', async () => {
  const row = await storage.findClient(confidential.clientId, { timeLeftMs: () => 1 })
  await storage.insertClient({ ...row!, clientId: 'bare', secretHashes: [] }, { timeLeftMs: () => 1 })
  expect(await exchange(serve(), { ...right, code: 'x', client_id: 'bare' })).toEqual([400, missing])
})

test('its id is nobody’s proof: it is counted by its address, and its guesses as failed credentials', async () => {
  const api = serve()
  await exchange(api, { ...right, code: await issue() })
  expect(keys.splice(0)).toEqual([`public_client:${clientId} address:${ip}`])
  await exchange(api, { ...right, code: 'guess' }, {}, { ip: '2001:db8::1' })
  const network = 'address:2001:db8::/64'
  expect(keys.splice(0)).toEqual([`public_client:${clientId} ${network}`, network])
  await exchange(api, { ...right, code: 'guess' }, {}, {})
  expect(keys.splice(0)).toEqual([`public_client:${clientId}`])
  const client = { client_id: confidential.clientId, client_secret: confidential.clientSecret }
  await exchange(api, { ...client, code: 'guess' })
  expect(keys.splice(0)).toEqual([`client:${confidential.clientId}`])
})

test('whoever knows the id takes no place of a client that has a secret', async () => {
  const held = Promise.withResolvers<null>()
  const findAuthorizationCode = (): Promise<null> => held.promise
  const api = serve({ storage: { ...storage, findAuthorizationCode }, maxInFlight: 8 })
  const send = (address: string): Promise<Answer> =>
    exchange(api, { ...right, code: 'x' }, {}, { ip: address })
  const flood = Array.from({ length: 20 }, (_, index) => send(`192.0.2.${index >> 1}`))
  const sameAddress = Array.from({ length: 5 }, () => send('198.51.100.1'))
  await Promise.race([...flood, ...sameAddress])
  const client = { client_id: confidential.clientId, client_secret: confidential.clientSecret }
  const honest = Array.from({ length: 4 }, () => exchange(api, { ...client, code: 'x' }))
  // Lets all of them come to where they wait.
  await new Promise((resolve) => setTimeout(resolve, 50))
  held.resolve(null)
  const ended = await Promise.all([...flood, ...sameAddress])
  expect(ended.filter(([status]) => status === 400)).toHaveLength(4)
  for (const [status] of await Promise.all(honest)) expect(status).toBe(400)
})

test('whoever floods from one address takes neither place nor rate of the same program’s users elsewhere', async () => {
  const [held, guess] = [Promise.withResolvers<null>(), hashSecret('x').join()]
  const findAuthorizationCode: typeof storage.findAuthorizationCode = (hash, call) =>
    hash.join() === guess ? held.promise : storage.findAuthorizationCode(hash, call)
  const asked = new Map<string, number>()
  const rateLimiter = {
    async consume(key: string) {
      asked.set(key, (asked.get(key) ?? 0) + 1)
      return { allowed: (asked.get(key) ?? 0) <= 3, retryAfterSeconds: 1 } as const
    },
  }
  const api = serve({ storage: { ...storage, findAuthorizationCode }, maxInFlight: 8, rateLimiter })
  const other = await admin.createClient({ clientType: 'public', redirectUris: [redirectUri] })
  // Who knows one id knows them all.
  const flood = Array.from({ length: 20 }, (_, index) =>
    exchange(api, { ...right, code: 'x', client_id: index % 2 === 0 ? clientId : other.clientId }),
  )
  await Promise.race(flood)
  const elsewhere = { ip: '198.51.100.1' }
  expect((await exchange(api, { ...right, code: await issue() }, {}, elsewhere))[0]).toBe(200)
  held.resolve(null)
  await Promise.all(flood)
  // Nor while there is room again, and its address is over every limit.
  while ((await exchange(api, { ...right, code: 'x' }))[0] !== 429);
  expect((await exchange(api, { ...right, code: await issue() }, {}, elsewhere))[0]).toBe(200)
})

test('oauth4webapi and openid-client run the flow of a native program, on the port of the day', async () => {
  const server = createServer(toNodeHandler(serve()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const native = await admin.createClient({
    clientType: 'public',
    redirectUris: ['http://localhost/callback'],
  })
  const document = admin.authorizationServerMetadata({
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/v4/oauth2/token`,
    publicClients: true,
  })
  // As a client reads it from the wire.
  const metadata = JSON.parse(JSON.stringify(document)) as oauth.AuthorizationServer & openid.ServerMetadata
  const callback = 'http://localhost:59430/callback'
  const client = { client_id: native.clientId }

  async function agree(url: URL): Promise<URL> {
    const asked = await admin.readAuthorizationRequest(url.searchParams, { scopes: ['a'] })
    if (asked.kind !== 'ask') throw new Error(JSON.stringify(asked))
    return new URL((await admin.grantAuthorization(asked, { subject: 'Ada' })).location)
  }

  const own = oauth.generateRandomCodeVerifier()
  const url = new URL(document.authorization_endpoint)
  url.search = new URLSearchParams({
    ...client,
    response_type: 'code',
    redirect_uri: callback,
    scope: 'a',
    code_challenge: await oauth.calculatePKCECodeChallenge(own),
    code_challenge_method: 'S256',
  }).toString()
  const answer = oauth.validateAuthResponse(metadata, client, await agree(url))
  const insecure = { [oauth.allowInsecureRequests]: true }
  const response = await oauth.authorizationCodeGrantRequest(
    metadata,
    client,
    oauth.None(),
    answer,
    callback,
    own,
    insecure,
  )
  const result = await oauth.processAuthorizationCodeResponse(metadata, client, response)
  expect(result).toMatchObject({ scope: 'a', token_type: 'bearer' })

  const config = new openid.Configuration(metadata, native.clientId, undefined, openid.None())
  openid.allowInsecureRequests(config)
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const asked = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'a',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const tokens = await openid.authorizationCodeGrant(config, await agree(asked), { pkceCodeVerifier })
  expect(tokens.scope).toBe('a')
})
