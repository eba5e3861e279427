/** OAuth client libraries as people have them, unchanged, against a real listener. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { AuthorizationCode } from 'simple-oauth2'
import { createAdmin, createUtilityApi, type Admin } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const redirectUri = 'https://client.example/callback'
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

let admin: Admin
let issuer: string
let clientId: string
let clientSecret: string
let stop: () => Promise<void>

beforeAll(async () => {
  const storage = memoryStorage()
  admin = createAdmin({ storage })
  const api = createUtilityApi({ storage })
  const server = createServer(toNodeHandler(api))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  ;({ clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] }))
  stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await api.close()
  }
})
afterAll(() => stop())

/** How a library exchanges a code; returns the token, or the error code it has read from our answer. */
interface LibraryClient {
  exchange(code: string, codeVerifier: string | undefined, secret: string): Promise<string>
  errorCode(error: unknown): unknown
}

function withOauth4webapi(authenticate: (secret: string) => oauth.ClientAuth): LibraryClient {
  return {
    async exchange(code, codeVerifier, secret) {
      const server = { issuer, token_endpoint: `${issuer}/v4/oauth2/token` }
      const client = { client_id: clientId }
      const callback = oauth.validateAuthResponse(server, client, new URL(`${redirectUri}?code=${code}`))
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authenticate(secret),
        callback,
        redirectUri,
        codeVerifier ?? oauth.nopkce,
        { [oauth.allowInsecureRequests]: true },
      )
      const result = await oauth.processAuthorizationCodeResponse(server, client, response)
      return result.access_token
    },
    errorCode: (error) =>
      (error as oauth.ResponseBodyError | (oauth.WWWAuthenticateChallengeError & { error?: string })).error,
  }
}

function withOpenidClient(authenticate: (secret: string) => openid.ClientAuth): LibraryClient {
  return {
    async exchange(code, codeVerifier, secret) {
      const server = { issuer, token_endpoint: `${issuer}/v4/oauth2/token` }
      const config = new openid.Configuration(server, clientId, undefined, authenticate(secret))
      openid.allowInsecureRequests(config)
      const checks = codeVerifier === undefined ? {} : { pkceCodeVerifier: codeVerifier }
      const result = await openid.authorizationCodeGrant(
        config,
        new URL(`${redirectUri}?code=${code}`),
        checks,
      )
      return result.access_token
    },
    errorCode: (error) => (error as openid.ResponseBodyError).error,
  }
}

function withSimpleOauth2(
  bodyFormat: 'json' | 'form',
  authorizationMethod: 'header' | 'body',
): LibraryClient {
  return {
    async exchange(code, codeVerifier, secret) {
      const client = new AuthorizationCode({
        client: { id: clientId, secret },
        auth: { tokenHost: issuer, tokenPath: '/v4/oauth2/token' },
        options: { bodyFormat, authorizationMethod },
      })
      const { token } = await client.getToken({
        code,
        redirect_uri: redirectUri,
        ...(codeVerifier !== undefined && { code_verifier: codeVerifier }),
      })
      return token['access_token'] as string
    },
    errorCode: (error) => (error as { data: { payload: { error: string } } }).data.payload.error,
  }
}

const libraries: Record<string, LibraryClient> = {
  'oauth4webapi, form, secret in the body': withOauth4webapi(oauth.ClientSecretPost),
  'oauth4webapi, form, Basic': withOauth4webapi(oauth.ClientSecretBasic),
  'openid-client, form, secret in the body': withOpenidClient(openid.ClientSecretPost),
  'openid-client, form, Basic': withOpenidClient(openid.ClientSecretBasic),
  'simple-oauth2, form, Basic': withSimpleOauth2('form', 'header'),
  'simple-oauth2, form, secret in the body': withSimpleOauth2('form', 'body'),
  'simple-oauth2, JSON, Basic': withSimpleOauth2('json', 'header'),
  'simple-oauth2, JSON, secret in the body': withSimpleOauth2('json', 'body'),
}

describe.each(Object.entries(libraries))('%s', (name, { exchange, errorCode }) => {
  const usesBasic = name.endsWith('Basic')

  async function issue(challenge?: string): Promise<string> {
    const options = { clientId, redirectUri, scope: 'dns:check' }
    const { code } = await admin.issueAuthorizationCode({
      ...options,
      ...(challenge !== undefined && { codeChallenge: challenge }),
    })
    return code
  }

  async function failure(code: string, codeVerifier: string | undefined, secret: string): Promise<unknown> {
    return exchange(code, codeVerifier, secret).then(
      (token) => expect.fail(`got ${token}`),
      (error: unknown) => error,
    )
  }

  test('exchanges a code', async () => {
    expect(await exchange(await issue(), undefined, clientSecret)).toMatch(/^uapi_at_/)
  })

  test('exchanges a code with PKCE', async () => {
    expect(await exchange(await issue(codeChallenge), verifier, clientSecret)).toMatch(/^uapi_at_/)
  })

  test('reads invalid_grant', async () => {
    expect(errorCode(await failure('spent', undefined, clientSecret))).toBe('invalid_grant')
    expect(errorCode(await failure(await issue(codeChallenge), `${verifier}x`, clientSecret))).toBe(
      'invalid_grant',
    )
  })

  test('reads invalid_client', async () => {
    const error = await failure(await issue(), undefined, 'wrong')
    // These two report the challenge that RFC 6749 demands in answer to an Authorization header, not the body.
    if (usesBasic && /oauth4webapi|openid/.test(name)) expect(error).toMatchObject({ status: 401 })
    else expect(errorCode(error)).toBe('invalid_client')
  })
})
