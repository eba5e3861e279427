import { createAdmin, type Admin, type AuthorizationRequest } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { hashSecret } from '../../src/domain/secret.ts'
import { call } from '../storage/support/call.ts'

const redirectUri = 'https://client.example/callback?from=here'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const scopes = ['dns:check', 'profile']
let storage: AdminStorage
let admin: Admin
let clientId: string

beforeEach(async () => {
  storage = memoryStorage()
  admin = createAdmin({ storage, clock: fixedClock() })
  ;({ clientId } = await admin.createClient({ name: 'Shop', redirectUris: [redirectUri] }))
})

/** The query of a request that is right, with changes; `null` leaves a parameter out. */
function query(changes: Record<string, string | null> = {}): URLSearchParams {
  const right = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'dns:check' }
  const pkce = { state: 'a b&c=%', code_challenge: challenge, code_challenge_method: 'S256' }
  const all = Object.entries({ ...right, ...pkce, ...changes }).filter(([, value]) => value !== null)
  return new URLSearchParams(all as [string, string][])
}

function read(asked: URLSearchParams): ReturnType<Admin['readAuthorizationRequest']> {
  return admin.readAuthorizationRequest(asked, { scopes })
}

async function ask(changes?: Record<string, string | null>): Promise<AuthorizationRequest> {
  const asked = await read(query(changes))
  if (asked.kind !== 'ask') throw new Error(`not asked: ${JSON.stringify(asked)}`)
  return asked
}

function parametersOf({ location }: { location: string }): Record<string, string> {
  expect(location.startsWith(`${redirectUri}&`)).toBe(true)
  return Object.fromEntries(new URL(location).searchParams)
}

test.each([
  ['https://client.example/callback?', ''],
  ['https://client.example/callback?a=1&', ''],
  ['https://client.example/callback?a=1', '&'],
  ['https://client.example/callback', '?'],
])('the parameters are added to %s after "%s"', async (uri, separator) => {
  const client = await admin.createClient({ redirectUris: [uri] })
  const asked = await ask({ client_id: client.clientId, redirect_uri: uri, state: 's' })
  expect((await admin.denyAuthorization(asked)).location).toContain(`${uri}${separator}error=access_denied`)
})

test('a valid request returns everything that the page needs', async () => {
  expect(await read(query())).toStrictEqual({
    kind: 'ask',
    clientId,
    clientName: 'Shop',
    redirectUri,
    state: 'a b&c=%',
    scope: 'dns:check',
    codeChallenge: challenge,
  })
  const least = await ask({
    state: null,
    scope: '',
    code_challenge: null,
    code_challenge_method: null,
    foo: 'x',
  })
  expect(least).toMatchObject({ state: null, scope: '', codeChallenge: null })
})

test('response_mode may be query, which is the only one', async () => {
  await ask({ response_mode: 'query' })
  await ask({ response_mode: '' })
})

describe('scopes', () => {
  test('a name asked for twice is granted once', async () => {
    const asked = await ask({ scope: 'profile dns:check profile' })
    expect(asked.scope).toBe('profile dns:check')
    const { code = '' } = parametersOf(await admin.grantAuthorization(asked, { scope: 'profile profile' }))
    expect(await storage.findAuthorizationCode(hashSecret(code), call)).toMatchObject({ scope: 'profile' })
  })

  test.each([null, ''])('a request with the scope %j asks for the default', async (scope) => {
    const asked = await admin.readAuthorizationRequest(query({ scope }), { scopes, defaultScope: 'profile' })
    expect(asked).toMatchObject({ kind: 'ask', scope: 'profile' })
  })

  test('a scope that was sent wins over the default', async () => {
    const asked = await admin.readAuthorizationRequest(query(), { scopes, defaultScope: 'profile' })
    expect(asked).toMatchObject({ kind: 'ask', scope: 'dns:check' })
  })

  test.each(['admin', 'profile admin', 'profile  dns:check', ' '])(
    'a default of %j, which nobody may ask for, is refused',
    async (defaultScope) => {
      await expect(admin.readAuthorizationRequest(query(), { scopes, defaultScope })).rejects.toMatchObject({
        code: 'invalid_argument',
        message: 'defaultScope must consist of names in scopes, separated by single spaces.',
      })
    },
  )
})

describe('nobody is redirected', () => {
  test.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['no client', { client_id: null }],
    ['an empty client', { client_id: '' }],
    ['a client no store may be asked for', { client_id: 'x'.repeat(256) }],
    ['another redirection URI', { redirect_uri: 'https://attacker.example/' }],
    ['a longer redirection URI', { redirect_uri: `${redirectUri}/` }],
    ['the redirection URI in other letter case', { redirect_uri: redirectUri.replace('client', 'Client') }],
  ])('for %s', async (_, changes) => {
    expect((await read(query(changes))).kind).toBe('refuse')
  })

  test.each(['client_id', 'redirect_uri'])('for a repeated %s', async (name) => {
    const repeated = query()
    repeated.append(name, repeated.get(name) ?? '')
    expect((await read(repeated)).kind).toBe('refuse')
  })

  test('for a revoked client', async () => {
    await admin.revokeClient(clientId)
    expect((await read(query())).kind).toBe('refuse')
  })

  test("to a script URI stored in the owner's database", async () => {
    const row = { secretHashes: [], createdAt: 0, revokedAt: null }
    await storage.insertClient({ clientId: 'old', redirectUris: ['javascript:alert(1)'], ...row }, call)
    const asked = query({ client_id: 'old', redirect_uri: 'javascript:alert(1)' })
    expect((await read(asked)).kind).toBe('refuse')
  })

  test.each([null, ''])('with the redirect_uri %j, though only one is registered', async (none) => {
    expect(await read(query({ redirect_uri: none }))).toStrictEqual({
      kind: 'refuse',
      reason: 'The request has no redirect_uri.',
    })
  })
})

describe('the client is told', () => {
  test.each([
    ['invalid_request', { response_type: null }],
    ['invalid_request', { response_type: '' }],
    ['unsupported_response_type', { response_type: 'token' }],
    ['unsupported_response_type', { response_type: 'code id_token' }],
    ['invalid_scope', { scope: 'admin' }],
    ['invalid_scope', { scope: 'dns:check admin' }],
    ['invalid_scope', { scope: 'dns:check  profile' }],
    ['invalid_scope', { scope: ' ' }],
    ['invalid_request', { response_mode: 'fragment' }],
    ['invalid_request', { response_mode: 'form_post' }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_request', { code_challenge_method: null }],
    ['invalid_request', { code_challenge: null }],
    ['invalid_request', { code_challenge: 'short' }],
  ])('%s for %j', async (error, changes) => {
    const outcome = await read(query(changes))
    if (outcome.kind !== 'redirect') throw new Error(outcome.kind)
    expect(parametersOf(outcome)).toMatchObject({ from: 'here', error, state: 'a b&c=%' })
  })

  test.each(['response_type', 'response_mode', 'scope', 'state', 'code_challenge', 'code_challenge_method'])(
    'invalid_request for a repeated %s',
    async (name) => {
      const repeated = query({ response_mode: 'query' })
      repeated.append(name, repeated.get(name) ?? '')
      const outcome = await read(repeated)
      if (outcome.kind !== 'redirect') throw new Error(outcome.kind)
      expect(parametersOf(outcome)).toMatchObject({ error: 'invalid_request' })
      // Which of two states would be the right one is not known.
      expect('state' in parametersOf(outcome)).toBe(name !== 'state')
    },
  )
})

describe('the answer', () => {
  test('a grant issues the code that was asked for, and keeps the query and the state', async () => {
    const granted = await admin.grantAuthorization(await ask(), { subject: 'ada' })
    const { code = '', ...rest } = parametersOf(granted)
    expect(rest).toStrictEqual({ from: 'here', state: 'a b&c=%' })
    expect(await storage.findAuthorizationCode(hashSecret(code), call)).toMatchObject({
      clientId,
      subject: 'ada',
      redirectUri,
      scope: 'dns:check',
      codeChallenge: challenge,
    })
  })

  test('less scope than requested may be granted, but not more', async () => {
    const asked = await ask({ scope: 'dns:check profile' })
    const { code = '' } = parametersOf(await admin.grantAuthorization(asked, { scope: 'profile' }))
    expect(await storage.findAuthorizationCode(hashSecret(code), call)).toMatchObject({ scope: 'profile' })
    await expect(admin.grantAuthorization(await ask(), { scope: 'profile' })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await expect(
      admin.grantAuthorization(await ask({ scope: '' }), { scope: 'profile' }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  test.each([
    ['a client revoked', () => admin.revokeClient(clientId)],
    ['a URI removed', () => admin.updateClient(clientId, { redirectUris: ['https://other.example/'] })],
  ])('%s before the user answers gets no answer, be it a code or a denial', async (_, change) => {
    const asked = await ask()
    await change()
    await expect(admin.grantAuthorization(asked)).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(admin.denyAuthorization(asked)).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('a denial is reported to the client', async () => {
    expect(parametersOf(await admin.denyAuthorization(await ask()))).toStrictEqual({
      from: 'here',
      error: 'access_denied',
      state: 'a b&c=%',
    })
    expect(parametersOf(await admin.denyAuthorization(await ask({ state: null })))).not.toHaveProperty(
      'state',
    )
  })

  test.each([
    'access_denied',
    'invalid_request',
    'invalid_scope',
    'server_error',
    'temporarily_unavailable',
    'unauthorized_client',
    'unsupported_response_type',
    'account_selection_required',
    'consent_required',
    'interaction_required',
    'invalid_request_object',
    'invalid_request_uri',
    'login_required',
    'registration_not_supported',
    'request_not_supported',
    'request_uri_not_supported',
    'unmet_authentication_requirements',
  ] as const)('a page may say %s, and why', async (error) => {
    const description = 'It is 50% done: see #1 & more.'
    expect(parametersOf(await admin.denyAuthorization(await ask(), { error, description }))).toStrictEqual({
      from: 'here',
      error,
      error_description: description,
      state: 'a b&c=%',
    })
  })

  test.each<[object, string]>([
    [{ error: 'not_today' }, 'error: "not_today" is not an error that an authorization page may send.'],
    [{ error: '' }, 'error: "" is not an error that an authorization page may send.'],
    ...['', 'a "quote"', 'a \\', 'a\nb', 'caf\u00e9', 'x'.repeat(256)].map(
      (description): [object, string] => [
        { description },
        'description must be 1 to 255 ASCII characters, none of them " or \\.',
      ],
    ),
  ])('%j is refused', async (reason, message) => {
    const asked = await ask()
    await expect(admin.denyAuthorization(asked, reason as object)).rejects.toMatchObject({
      code: 'invalid_argument',
      message,
    })
  })

  test('the address of an app is left as it was registered', async () => {
    const redirectUris = ['com.example.app:/cb']
    await admin.updateClient(clientId, { redirectUris })
    const asked = await ask({ redirect_uri: 'com.example.app:/cb', state: 's' })
    expect((await admin.denyAuthorization(asked)).location).toBe(
      'com.example.app:/cb?error=access_denied&state=s',
    )
  })
})
