/** What a client that has no token, or the wrong one, learns from the challenge of one of the owner's routes. */
import { bearerToken, createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, expect, test } from 'vitest'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const api = createUtilityApi({ storage, dns: false, blockgame: false })
afterAll(() => api.close())

const resourceMetadata = 'https://api.example/.well-known/oauth-protected-resource/mcp'
const options = { scope: 'a b', resourceMetadata }
const named = `resource_metadata="${resourceMetadata}"`
const { accessToken } = await admin.createAccessToken({ scope: 'a' })

async function challengeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    const { status, headers } = error as { status: number; headers: Record<string, string> }
    return [status, headers['WWW-Authenticate']]
  }
}

test.each([
  [
    'no header',
    () => bearerToken(undefined, options),
    [401, `Bearer realm="utility-api", scope="a b", ${named}`],
  ],
  [
    'another scheme',
    () => bearerToken('Basic eA==', options),
    [401, `Bearer realm="utility-api", scope="a b", ${named}`],
  ],
  [
    'no token',
    () => api.verifyAccessToken(null, { resourceMetadata }),
    [401, `Bearer realm="utility-api", ${named}`],
  ],
  [
    'an unknown token',
    () => api.verifyAccessToken('x', options),
    [401, `Bearer realm="utility-api", error="invalid_token", scope="a b", ${named}`],
  ],
  [
    'a token that lacks a scope',
    () => api.verifyAccessToken(accessToken, options),
    [403, `Bearer realm="utility-api", error="insufficient_scope", scope="a b", ${named}`],
  ],
  [
    'no document named',
    () => api.verifyAccessToken('x', { scope: 'a' }),
    [401, 'Bearer realm="utility-api", error="invalid_token"'],
  ],
])('%s', async (_, work, challenge) => {
  expect(await challengeOf(work)).toEqual(challenge)
})

test('the right token is taken', async () => {
  expect(await api.verifyAccessToken(accessToken, { scope: 'a', resourceMetadata })).toMatchObject({
    scope: 'a',
  })
})

test.each([
  '',
  'api.example',
  'http://api.example/x',
  'https://user:password@api.example/',
  'https://api.example/"',
  'https://api.example/\\',
  'https://api.example/\n',
  7,
])('what is no URL of a document is refused: %s', async (text) => {
  const wrong = { resourceMetadata: text as string }
  const says = 'resourceMetadata must be an absolute https URL, or http on loopback.'
  await expect(api.verifyAccessToken(accessToken, wrong)).rejects.toThrow(says)
  expect(() => bearerToken(`Bearer ${accessToken}`, wrong)).toThrow(says)
})

// RFC 6750 section 3: what a challenge could not carry, and what would be taken for none.
test.each<[object, string]>([
  ...['', 'a"b', 'a\\', 'a\nb', 'é', 'a  b', 7, undefined].map((scope): [object, string] => [
    { scope, resourceMetadata },
    'scope must be a string of names separated by single spaces.',
  ]),
  [{ scopes: 'a', resourceMetadata }, 'scopes is not an option: use scope.'],
  [[], 'options must be an object: write { scope }.'],
])('no challenge is made of %j', (wrong, message) => {
  for (const header of [undefined, `Bearer ${accessToken}`])
    expect(() => bearerToken(header, wrong)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message }),
    )
})

test('the document of an API names the servers that give tokens for it', () => {
  const resource = 'https://api.example/mcp'
  const authorizationServers = ['https://api.example']
  expect(admin.protectedResourceMetadata({ resource, authorizationServers, scopes: ['a'] })).toEqual({
    resource,
    authorization_servers: authorizationServers,
    scopes_supported: ['a'],
    bearer_methods_supported: ['header'],
  })
  const document = admin.protectedResourceMetadata({ resource, authorizationServers })
  expect(document).not.toHaveProperty('scopes_supported')
  for (const wrong of [
    { resource: 'api.example', authorizationServers },
    { resource: `${resource}#x`, authorizationServers },
    { resource, authorizationServers: [] },
    { resource, authorizationServers: ['https://api.example?x'] },
    { resource, authorizationServers, scopes: ['a b'] },
  ])
    expect(() => admin.protectedResourceMetadata(wrong)).toThrow(
      /^(?:resource|authorizationServers|scopes) must/,
    )
})

test('a code may be granted for longer than a minute, and no longer than ten', async () => {
  const redirectUri = 'https://client.example/callback'
  const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
  const query = new URLSearchParams({ client_id: clientId, redirect_uri: redirectUri, response_type: 'code' })
  const asked = await admin.readAuthorizationRequest(query, { scopes: [] })
  if (asked.kind !== 'ask') throw new Error(asked.kind)
  const expiries: number[] = []
  const watched = createAdmin({
    clock: { now: () => 0 },
    storage: {
      ...storage,
      insertAuthorizationCode: (_, { expiresAt }) => void expiries.push(expiresAt),
    },
  })
  await watched.grantAuthorization(asked)
  await watched.grantAuthorization(asked, { lifetimeSeconds: 600 })
  expect(expiries).toEqual([60_000, 600_000])
  await expect(watched.grantAuthorization(asked, { lifetimeSeconds: 601 })).rejects.toThrow('lifetimeSeconds')
})
