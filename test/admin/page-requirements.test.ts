/** What the RFCs require of an authorization page and its redirection URIs, each requirement with its test. */
import { createAdmin, createUtilityApi, type Admin, type AuthorizationRequest } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { beforeEach, describe, expect, test } from 'vitest'

const issuer = 'https://auth.example'
const web = 'https://client.example/callback?from=here'
const native = 'http://127.0.0.1/callback'
const native6 = 'http://[::1]/callback'
const app = 'com.example.app:/callback'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

let admin: Admin
let clientId: string
let clientSecret: string
let exchange: (fields: Record<string, string>) => Promise<{ status: number; body: Record<string, unknown> }>

beforeEach(async () => {
  const [storage, clock] = [memoryStorage(), fixedClock()]
  admin = createAdmin({ storage, clock, oauth: { issuer } })
  const redirectUris = [web, native, native6, app, 'http://localhost/callback', 'http://127.0.0.1/q?a=b']
  ;({ clientId, clientSecret } = await admin.createClient({ redirectUris }))
  const api = createUtilityApi({ storage, clock, dns: false, blockgame: false })
  exchange = async (fields) => {
    const all = { grant_type: 'authorization_code', client_id: clientId, client_secret: clientSecret }
    const body = new URLSearchParams({ ...all, ...fields })
    const answer = await api.fetch(new Request('http://localhost/v4/oauth2/token', { method: 'POST', body }))
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
})

type Changes = Record<string, string | null>

async function outcome(changes: Changes = {}): ReturnType<Admin['readAuthorizationRequest']> {
  const right = { response_type: 'code', client_id: clientId, redirect_uri: web, state: 'a b&c=%' }
  const all = Object.entries({ ...right, ...changes }).filter(([, value]) => value !== null)
  return admin.readAuthorizationRequest(new URLSearchParams(all as [string, string][]), { scopes: ['a'] })
}

async function ask(changes?: Changes): Promise<AuthorizationRequest> {
  const asked = await outcome(changes)
  if (asked.kind !== 'ask') throw new Error(`not asked: ${JSON.stringify(asked)}`)
  return asked
}

async function refused(changes: Changes): Promise<void> {
  expect(await outcome(changes)).toStrictEqual({ kind: 'refuse', reason: expect.any(String) as string })
}

const parametersOf = ({ location }: { location: string }): Record<string, string> =>
  Object.fromEntries(new URL(location).searchParams)

async function told(changes: Changes): Promise<Record<string, string>> {
  const answer = await outcome(changes)
  if (answer.kind !== 'redirect') throw new Error(answer.kind)
  return parametersOf(answer)
}

type Requirement = readonly [requirement: string, holds: () => Promise<void>]

const matrix: Readonly<Record<string, readonly Requirement[]>> = {
  'RFC 6749 section 3.1': [
    [
      'a parameter without a value counts as omitted',
      async () => {
        expect(await told({ response_type: '' })).toMatchObject({ error: 'invalid_request' })
        expect(await ask({ state: '', scope: '' })).toEqual(await ask({ state: null, scope: null }))
        await refused({ redirect_uri: '' })
      },
    ],
    [
      'a parameter that is not known is ignored, also twice',
      async () => {
        const more = new URLSearchParams({ client_id: clientId, redirect_uri: web, response_type: 'code' })
        for (const name of ['resource', 'resource', 'nonce', 'Scope']) more.append(name, 'x')
        expect(await admin.readAuthorizationRequest(more, { scopes: [] })).toEqual(await ask({ state: null }))
      },
    ],
  ],
  'RFC 6749 section 4.1.2.1': [
    ['a missing redirection URI: the user is told, nobody redirected', () => refused({ redirect_uri: null })],
    ['an invalid redirection URI: likewise', () => refused({ redirect_uri: 'nowhere' })],
    ['a mismatching redirection URI: likewise', () => refused({ redirect_uri: 'https://client.example/' })],
    ['a missing client identifier: likewise', () => refused({ client_id: null })],
    ['an invalid client identifier: likewise', () => refused({ client_id: 'nobody' })],
    [
      'other failures come back in the query of the redirection URI, whose own is kept',
      async () => {
        expect(await told({ response_type: null })).toMatchObject({ from: 'here', error: 'invalid_request' })
      },
    ],
    [
      'state comes back exactly as it was received',
      async () => {
        for (const state of ['a b&c=%', '+', '%2B', '"<>\\', '\u00e4', '0', 'x'.repeat(2000)]) {
          expect(await told({ response_type: null, state })).toMatchObject({ state })
          expect(parametersOf(await admin.denyAuthorization(await ask({ state })))).toMatchObject({ state })
          expect(parametersOf(await admin.grantAuthorization(await ask({ state })))).toMatchObject({ state })
        }
      },
    ],
    [
      'state is absent where none was sent',
      async () => {
        expect(await told({ response_type: null, state: null })).not.toHaveProperty('state')
      },
    ],
    [
      'invalid_request: a parameter is missing, invalid or repeated',
      async () => {
        expect(await told({ response_type: null })).toMatchObject({ error: 'invalid_request' })
        expect(await told({ response_mode: 'form_post' })).toMatchObject({ error: 'invalid_request' })
        const twice = new URLSearchParams({ client_id: clientId, redirect_uri: web, response_type: 'code' })
        twice.append('response_type', 'code')
        const answer = await admin.readAuthorizationRequest(twice, { scopes: [] })
        expect(answer).toMatchObject({
          kind: 'redirect',
          location: expect.stringContaining('error=invalid_request') as string,
        })
      },
    ],
    [
      'unsupported_response_type',
      async () => {
        for (const type of ['token', 'id_token', 'code token', 'none', 'CODE'])
          expect(await told({ response_type: type })).toMatchObject({ error: 'unsupported_response_type' })
      },
    ],
    [
      'invalid_scope: unknown or malformed',
      async () => {
        for (const scope of ['b', 'a b', 'a  a', '"', 'A'])
          expect(await told({ scope })).toMatchObject({ error: 'invalid_scope' })
      },
    ],
    [
      'access_denied, server_error, temporarily_unavailable, unauthorized_client: for the page to say',
      async () => {
        const asked = await ask()
        expect(parametersOf(await admin.denyAuthorization(asked))).toMatchObject({ error: 'access_denied' })
        for (const error of ['server_error', 'temporarily_unavailable', 'unauthorized_client'] as const)
          expect(parametersOf(await admin.denyAuthorization(asked, { error }))).toMatchObject({ error })
      },
    ],
    [
      'error and error_description are of the characters allowed',
      async () => {
        const answers = [
          await told({ response_type: null }),
          await told({ response_type: 'token' }),
          await told({ scope: 'b' }),
          await told({ code_challenge: 'x' }),
        ]
        for (const { error = '', error_description: description = '' } of answers)
          for (const text of [error, description]) expect(text).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
      },
    ],
  ],
  'RFC 9207 section 2': [
    [
      'iss is in a grant, in a denial and in an error',
      async () => {
        const answers = [
          parametersOf(await admin.grantAuthorization(await ask())),
          parametersOf(await admin.denyAuthorization(await ask())),
          await told({ response_type: 'token' }),
        ]
        for (const answer of answers) expect(answer).toMatchObject({ iss: issuer })
      },
    ],
    [
      'iss is the issuer of the metadata, character for character, which promise it',
      async () => {
        const endpoints = { authorizationEndpoint: `${issuer}/a`, tokenEndpoint: `${issuer}/t` }
        const metadata = admin.authorizationServerMetadata(endpoints)
        expect(metadata.authorization_response_iss_parameter_supported).toBe(true)
        expect(parametersOf(await admin.denyAuthorization(await ask()))['iss']).toBe(metadata.issuer)
      },
    ],
  ],
  'RFC 8252 section 7': [
    [
      '7.1: a private-use scheme of a domain name may be registered, one without a dot may not',
      async () => {
        await ask({ redirect_uri: app, code_challenge: challenge, code_challenge_method: 'S256' })
        await expect(admin.createClient({ redirectUris: ['myapp:/callback'] })).rejects.toThrow('a dot')
      },
    ],
    [
      '7.2: a claimed https URI is as any other',
      async () => expect(await ask({ redirect_uri: web })).toMatchObject({ redirectUri: web }),
    ],
    [
      '7.3: any port of a loopback address, IPv4 and IPv6, may be asked for',
      async () => {
        for (const port of [1, 80, 1024, 51_004, 65_535]) {
          for (const uri of [`http://127.0.0.1:${port}/callback`, `http://[::1]:${port}/callback`])
            expect(await ask({ redirect_uri: uri })).toMatchObject({ redirectUri: uri })
        }
      },
    ],
    [
      '7.3: the port varies, host, path and query do not',
      async () => {
        await ask({ redirect_uri: 'http://127.0.0.1:5000/q?a=b' })
        const others = ['/q?a=c', '/q', '/q?a=b&c', '/Callback', '/callback/', '/callback?', '/', '']
        for (const rest of others) await refused({ redirect_uri: `http://127.0.0.1:5000${rest}` })
        await refused({ redirect_uri: 'http://127.0.0.2:5000/callback' })
        await refused({ redirect_uri: 'https://127.0.0.1:5000/callback' })
      },
    ],
    [
      '7.3: the code is bound to the URI that was asked for, with its port',
      async () => {
        const asked = await ask({ redirect_uri: 'http://127.0.0.1:51004/callback' })
        const { code = '' } = parametersOf(await admin.grantAuthorization(asked))
        for (const uri of [native, 'http://127.0.0.1:51005/callback']) {
          const wrong = await exchange({ code, redirect_uri: uri })
          expect([wrong.status, wrong.body['error']]).toEqual([400, 'invalid_grant'])
        }
        expect((await exchange({ code, redirect_uri: 'http://127.0.0.1:51004/callback' })).status).toBe(200)
      },
    ],
  ],
  'RFC 8252 section 8': [
    [
      '8.1: PKCE is supported, and a code that has a challenge is worth nothing without its verifier',
      async () => {
        const asked = await ask({ code_challenge: challenge, code_challenge_method: 'S256' })
        const { code = '' } = parametersOf(await admin.grantAuthorization(asked))
        expect((await exchange({ code, redirect_uri: web })).status).toBe(400)
        expect((await exchange({ code, redirect_uri: web, code_verifier: challenge })).status).toBe(400)
        expect((await exchange({ code, redirect_uri: web, code_verifier: verifier })).status).toBe(200)
      },
    ],
    [
      '8.1: at an app scheme, and of a public client anywhere, PKCE is required',
      async () => {
        const missing = { error: 'invalid_request', error_description: 'code_challenge is missing.' }
        expect(await told({ redirect_uri: app })).toMatchObject(missing)
        await ask({ redirect_uri: native })
        const { clientId: client_id } = await admin.createClient({
          clientType: 'public',
          redirectUris: [web],
        })
        expect(await told({ client_id })).toMatchObject(missing)
        const plain = { code_challenge: challenge, code_challenge_method: 'plain' }
        expect(await told({ client_id, ...plain })).toMatchObject({ error: 'invalid_request' })
        await ask({ client_id, code_challenge: challenge, code_challenge_method: 'S256' })
      },
    ],
    [
      '8.4: URIs are registered in full, and compared exactly',
      async () => {
        for (const uri of [`${web}x`, web.slice(0, -1), web.toUpperCase(), 'com.example.app:/other'])
          await refused({ redirect_uri: uri })
      },
    ],
    [
      '8.10: one answer that is mixed up with that of another server shows it',
      async () => expect(await told({ scope: 'b' })).toHaveProperty('iss', issuer),
    ],
  ],
  'RFC 9700 section 4.1': [
    [
      'exact comparison, no patterns',
      async () => {
        for (const uri of ['https://*.client.example/', 'https://client.example/*'])
          await expect(admin.createClient({ redirectUris: [uri] })).rejects.toThrow('a wildcard')
        await refused({ redirect_uri: 'https://sub.client.example/callback?from=here' })
        await refused({ redirect_uri: 'https://client.example/callback/../callback?from=here' })
      },
    ],
    [
      'the port of a loopback address is the only exception',
      async () => {
        await refused({ redirect_uri: web.replace('.example/', '.example:443/') })
        await refused({ redirect_uri: web.replace('.example/', '.example:8443/') })
      },
    ],
    [
      '4.1.3: localhost counts as loopback: any port of it may be asked for, by http alone',
      async () => {
        const uri = 'http://localhost:59430/callback'
        expect(await ask({ redirect_uri: uri })).toMatchObject({ redirectUri: uri })
        for (const other of [
          'https://localhost:59430/callback',
          'http://localhost:59430/Callback',
          'http://localhost:80@attacker.example/callback',
          'http://localhost.attacker.example/callback',
          'http://LOCALHOST:59430/callback',
        ])
          await refused({ redirect_uri: other })
      },
    ],
    [
      'no plain http but on loopback',
      async () => {
        await expect(admin.createClient({ redirectUris: ['http://a.example/'] })).rejects.toThrow('https')
      },
    ],
    [
      'no fragment can take an answer along',
      async () => {
        await expect(admin.createClient({ redirectUris: ['https://a.example/#a'] })).rejects.toThrow(
          'a fragment',
        )
        await refused({ redirect_uri: `${web}#a` })
      },
    ],
    [
      'the URI of the exchange is that of the request',
      async () => {
        const { code = '' } = parametersOf(await admin.grantAuthorization(await ask()))
        expect((await exchange({ code, redirect_uri: app })).status).toBe(400)
      },
    ],
  ],
}

describe.each(Object.entries(matrix))('%s', (_, requirements) => {
  test.each(requirements)('%s', async (_requirement, holds) => {
    expect.hasAssertions()
    await holds()
  })
})
