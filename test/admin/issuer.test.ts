/** What the authorization server says of itself: its name in every answer, and its metadata. */
import { createAdmin, type AuthorizationServerMetadata } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { describe, expect, test } from 'vitest'

const issuer = 'https://auth.example/tenant'
const storage = memoryStorage()
const admin = createAdmin({ storage, oauth: { issuer } })
const redirectUri = 'https://client.example/callback'
const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
const right = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, state: 's' }

async function outcome(changes: Record<string, string> = {}, by = admin) {
  return by.readAuthorizationRequest(new URLSearchParams({ ...right, ...changes }), { scopes: ['a'] })
}

const parametersOf = ({ location }: { location: string }): Record<string, string> =>
  Object.fromEntries(new URL(location).searchParams)

describe('the issuer is in', () => {
  test('a grant', async () => {
    const asked = await outcome()
    if (asked.kind !== 'ask') throw new Error(asked.kind)
    const { code, ...rest } = parametersOf(await admin.grantAuthorization(asked))
    expect(code).toMatch(/^uapi_ac_/)
    expect(rest).toStrictEqual({ state: 's', iss: issuer })
  })

  test('a denial', async () => {
    const asked = await outcome()
    if (asked.kind !== 'ask') throw new Error(asked.kind)
    const denied = parametersOf(await admin.denyAuthorization(asked, { error: 'login_required' }))
    expect(denied).toStrictEqual({ error: 'login_required', state: 's', iss: issuer })
  })

  test('an error of the request', async () => {
    const told = await outcome({ response_type: 'token' })
    if (told.kind !== 'redirect') throw new Error(told.kind)
    expect(parametersOf(told)).toMatchObject({ error: 'unsupported_response_type', iss: issuer })
  })
})

test('without the option, no answer names an issuer', async () => {
  const unnamed = createAdmin({ storage })
  const [asked, told] = [await outcome({}, unnamed), await outcome({ response_type: 'token' }, unnamed)]
  if (asked.kind !== 'ask' || told.kind !== 'redirect') throw new Error()
  for (const answer of [
    await unnamed.grantAuthorization(asked),
    await unnamed.denyAuthorization(asked),
    told,
  ])
    expect(parametersOf(answer)).not.toHaveProperty('iss')
})

test.each([
  'https://auth.example',
  'https://auth.example:8443/a/',
  'https://auth.example/@a',
  'http://localhost:3000',
  'http://127.0.0.1',
])('the issuer %s is accepted', (url) => {
  createAdmin({ storage, oauth: { issuer: url } })
})

test.each([
  'auth.example',
  'http://auth.example',
  'https://auth.example/?',
  'https://auth.example/?a=b',
  'https://auth.example/#a',
  'https://user@auth.example/',
  'https://auth.example/ a',
  '',
])('the issuer %j is refused', (url) => {
  expect(() => createAdmin({ storage, oauth: { issuer: url } })).toThrow(
    expect.objectContaining({
      code: 'invalid_options',
      message: 'oauth.issuer: must be an https URL, or http on loopback, without query and fragment.',
    }),
  )
})

const endpoints = {
  authorizationEndpoint: 'https://auth.example/authorize?tenant=a',
  tokenEndpoint: 'https://auth.example/v4/oauth2/token',
}

test('the metadata says what the two endpoints understand', () => {
  expect(
    admin.authorizationServerMetadata({ ...endpoints, scopes: ['a', 'b'] }),
  ).toStrictEqual<AuthorizationServerMetadata>({
    issuer,
    authorization_endpoint: endpoints.authorizationEndpoint,
    token_endpoint: endpoints.tokenEndpoint,
    scopes_supported: ['a', 'b'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  })
})

test('without the option, the metadata promises no issuer in answers', () => {
  const metadata = createAdmin({ storage }).authorizationServerMetadata(endpoints)
  expect(metadata).toMatchObject({
    issuer: 'https://auth.example',
    authorization_response_iss_parameter_supported: false,
  })
  expect(metadata).not.toHaveProperty('scopes_supported')
})

test('the metadata has as many scopes as there are, and no empty list', () => {
  const scopes = Array.from({ length: 300 }, (_, index) => `scope:${index}`)
  expect(admin.authorizationServerMetadata({ ...endpoints, scopes })).toMatchObject({
    scopes_supported: scopes,
  })
  expect(admin.authorizationServerMetadata({ ...endpoints, scopes: [] })).not.toHaveProperty(
    'scopes_supported',
  )
})

test.each([['a b'], [''], ['a', ''], ['é'], ['"']])(
  'scopes in the metadata are single names, not %j',
  (...scopes) => {
    expect(() => admin.authorizationServerMetadata({ ...endpoints, scopes })).toThrow(
      'scopes must be names without spaces.',
    )
  },
)

test.each([
  [{ authorizationEndpoint: '/authorize' }, 'authorizationEndpoint'],
  [{ tokenEndpoint: 'http://auth.example/token' }, 'tokenEndpoint'],
  [{ tokenEndpoint: 'https://auth.example/token#a' }, 'tokenEndpoint'],
  [{ tokenEndpoint: 'https://user:password@auth.example/token' }, 'tokenEndpoint'],
  [{ tokenEndpoint: 'https://auth.example/token\n' }, 'tokenEndpoint'],
])('metadata of %j are refused', (changes, name) => {
  expect(() => admin.authorizationServerMetadata({ ...endpoints, ...changes })).toThrow(
    `${name} must be an absolute https URL without fragment, or http on loopback.`,
  )
})
