// Exchanges codes with the client libraries of npm, each used as its documentation says.
import { text } from 'node:stream/consumers'

/** Follows the authorization page, which agrees to everything, and returns the address that the client is called at. */
async function callbackOf(url) {
  const response = await fetch(url, { redirect: 'manual' })
  return response.headers.get('location')
}

const clients = {
  async oauth4webapi(job) {
    const oauth = await import('oauth4webapi')
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(job.issuer)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = { ...(await oauth.processDiscoveryResponse(issuer, found)), token_endpoint: job.tokenUrl }
    const client = { client_id: job.clientId }
    const authenticate = job.auth === 'basic' ? oauth.ClientSecretBasic : oauth.ClientSecretPost
    const callback = oauth.validateAuthResponse(
      server,
      client,
      new URL(await callbackOf(job.authorizeUrl)),
      's',
    )
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authenticate(job.clientSecret),
      callback,
      job.redirectUri,
      job.verifier ?? oauth.nopkce,
      insecure,
    )
    return (await oauth.processAuthorizationCodeResponse(server, client, response)).access_token
  },
  async 'openid-client'(job) {
    const openid = await import('openid-client')
    const authenticate = job.auth === 'basic' ? openid.ClientSecretBasic : openid.ClientSecretPost
    const discovered = await openid.discovery(
      new URL(job.issuer),
      job.clientId,
      undefined,
      authenticate(job.clientSecret),
      { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
    )
    const server = { ...discovered.serverMetadata(), token_endpoint: job.tokenUrl }
    const config = new openid.Configuration(server, job.clientId, undefined, authenticate(job.clientSecret))
    openid.allowInsecureRequests(config)
    const callback = new URL(await callbackOf(job.authorizeUrl))
    const checks = { expectedState: 's', ...(job.verifier && { pkceCodeVerifier: job.verifier }) }
    return (await openid.authorizationCodeGrant(config, callback, checks)).access_token
  },
  async 'openid-client 5'(job) {
    const { Issuer } = await import('openid-client5')
    const issuer = new Issuer({ issuer: job.issuer, token_endpoint: job.tokenUrl })
    const client = new issuer.Client({
      client_id: job.clientId,
      client_secret: job.clientSecret,
      token_endpoint_auth_method: job.auth === 'basic' ? 'client_secret_basic' : 'client_secret_post',
    })
    const callback = client.callbackParams(await callbackOf(job.authorizeUrl))
    const checks = { state: 's', ...(job.verifier && { code_verifier: job.verifier }) }
    return (await client.oauthCallback(job.redirectUri, callback, checks)).access_token
  },
  async 'simple-oauth2'(job) {
    const { AuthorizationCode } = await import('simple-oauth2')
    const { origin, pathname } = new URL(job.tokenUrl)
    const client = new AuthorizationCode({
      client: { id: job.clientId, secret: job.clientSecret },
      auth: { tokenHost: origin, tokenPath: pathname },
      options: { authorizationMethod: job.auth === 'basic' ? 'header' : 'body' },
    })
    const pkce = job.verifier && { code_verifier: job.verifier }
    const { token } = await client.getToken({ code: job.code, redirect_uri: job.redirectUri, ...pkce })
    return token.access_token
  },
  async 'client-oauth2'(job) {
    const { default: ClientOAuth2 } = await import('client-oauth2')
    const client = new ClientOAuth2({
      clientId: job.clientId,
      clientSecret: job.clientSecret,
      accessTokenUri: job.tokenUrl,
      redirectUri: job.redirectUri,
    })
    const callback = await callbackOf(job.authorizeUrl)
    const pkce = job.verifier && { body: { code_verifier: job.verifier } }
    return (await client.code.getToken(callback, pkce ?? {})).accessToken
  },
  async 'passport-oauth2'(job) {
    const { default: OAuth2Strategy } = await import('passport-oauth2')
    const basic = `Basic ${Buffer.from(`${job.clientId}:${job.clientSecret}`).toString('base64')}`
    // The library always sends the secret in the body; its headers are how it is made to use Basic too.
    const strategy = new OAuth2Strategy(
      {
        authorizationURL: job.authorizeUrl,
        tokenURL: job.tokenUrl,
        clientID: job.clientId,
        clientSecret: job.clientSecret,
        callbackURL: job.redirectUri,
        ...(job.auth === 'basic' && { customHeaders: { Authorization: basic } }),
      },
      (accessToken, _, __, done) => done(null, { accessToken }),
    )
    strategy.userProfile = (_, done) => done(null, {})
    return new Promise((resolve, reject) => {
      Object.assign(strategy, {
        success: (user) => resolve(user.accessToken),
        fail: (info) => reject(new Error(JSON.stringify(info))),
        error: reject,
      })
      strategy.authenticate({ query: { code: job.code } })
    })
  },
  async 'oidc-client-ts'(job) {
    const { OidcClient, InMemoryWebStorage, WebStorageStateStore } = await import('oidc-client-ts')
    const client = new OidcClient({
      authority: job.issuer,
      metadata: { issuer: job.issuer, token_endpoint: job.tokenUrl, authorization_endpoint: job.pageUrl },
      client_id: job.clientId,
      client_secret: job.clientSecret,
      client_authentication: job.auth === 'basic' ? 'client_secret_basic' : 'client_secret_post',
      redirect_uri: job.redirectUri,
      scope: 'profile',
      loadUserInfo: false,
      disablePKCE: job.verifier === null,
      stateStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    })
    const { url } = await client.createSigninRequest({})
    return (await client.processSigninResponse(await callbackOf(url))).access_token
  },
  async 'google-auth-library'(job) {
    const { OAuth2Client, ClientAuthentication } = await import('google-auth-library')
    const client = new OAuth2Client({
      clientId: job.clientId,
      clientSecret: job.clientSecret,
      redirectUri: job.redirectUri,
      endpoints: { oauth2TokenUrl: job.tokenUrl },
      clientAuthentication:
        job.auth === 'basic' ? ClientAuthentication.ClientSecretBasic : ClientAuthentication.ClientSecretPost,
    })
    const { tokens } = await client.getToken({ code: job.code, codeVerifier: job.verifier ?? undefined })
    return tokens.access_token
  },
  async '@badgateway/oauth2-client'(job) {
    const { OAuth2Client } = await import('@badgateway/oauth2-client')
    const client = new OAuth2Client({
      clientId: job.clientId,
      clientSecret: job.clientSecret,
      tokenEndpoint: job.tokenUrl,
      authenticationMethod: job.auth === 'basic' ? 'client_secret_basic' : 'client_secret_post',
    })
    const { accessToken } = await client.authorizationCode.getToken({
      code: job.code,
      redirectUri: job.redirectUri,
      codeVerifier: job.verifier ?? undefined,
    })
    return accessToken
  },
  async arctic(job) {
    const { OAuth2Client } = await import('arctic')
    const client = new OAuth2Client(job.clientId, job.clientSecret, job.redirectUri)
    return (await client.validateAuthorizationCode(job.tokenUrl, job.code, job.verifier)).accessToken()
  },
  async oslo(job) {
    const { OAuth2Client } = await import('oslo/oauth2')
    const client = new OAuth2Client(job.clientId, job.pageUrl, job.tokenUrl, { redirectURI: job.redirectUri })
    const { access_token: token } = await client.validateAuthorizationCode(job.code, {
      credentials: job.clientSecret,
      authenticateWith: job.auth === 'basic' ? 'http_basic_auth' : 'request_body',
      codeVerifier: job.verifier ?? undefined,
    })
    return token
  },
  async oauth(job) {
    const { OAuth2 } = (await import('oauth')).default
    const { origin, pathname } = new URL(job.tokenUrl)
    const client = new OAuth2(job.clientId, job.clientSecret, origin, '/authorize', pathname)
    const parameters = { grant_type: 'authorization_code', redirect_uri: job.redirectUri }
    if (job.verifier) parameters.code_verifier = job.verifier
    return new Promise((resolve, reject) => {
      client.getOAuthAccessToken(job.code, parameters, (error, token) =>
        error ? reject(new Error(JSON.stringify(error))) : resolve(token),
      )
    })
  },
  async 'axios-oauth-client'(job) {
    const [{ default: axios }, oauth] = [await import('axios'), await import('axios-oauth-client')]
    const exchange = oauth.authorizationCode(
      axios.create(),
      job.tokenUrl,
      job.clientId,
      job.clientSecret,
      job.redirectUri,
    )
    return (await exchange(job.code)).access_token
  },
  async '@modelcontextprotocol/sdk'(job) {
    const { exchangeAuthorization } = await import('@modelcontextprotocol/sdk/client/auth.js')
    const method = job.auth === 'basic' ? 'client_secret_basic' : 'client_secret_post'
    const tokens = await exchangeAuthorization(job.issuer, {
      metadata: {
        issuer: job.issuer,
        authorization_endpoint: job.pageUrl,
        token_endpoint: job.tokenUrl,
        response_types_supported: ['code'],
        token_endpoint_auth_methods_supported: [method],
      },
      clientInformation: { client_id: job.clientId, client_secret: job.clientSecret },
      authorizationCode: job.code,
      codeVerifier: job.verifier,
      redirectUri: job.redirectUri,
    })
    return tokens.access_token
  },
  async '@fastify/oauth2'(job) {
    const [{ default: Fastify }, { default: oauthPlugin }] = [
      await import('fastify'),
      await import('@fastify/oauth2'),
    ]
    const app = Fastify()
    const { origin, pathname } = new URL(job.tokenUrl)
    app.register(oauthPlugin, {
      name: 'tried',
      credentials: {
        client: { id: job.clientId, secret: job.clientSecret },
        auth: {
          authorizeHost: new URL(job.pageUrl).origin,
          authorizePath: new URL(job.pageUrl).pathname,
          tokenHost: origin,
          tokenPath: pathname,
        },
        options: { authorizationMethod: job.auth === 'basic' ? 'header' : 'body' },
      },
      startRedirectPath: '/login',
      callbackUri: job.redirectUri,
      scope: ['profile'],
      ...(job.verifier && { pkce: 'S256' }),
    })
    app.get('/callback', async (request, reply) => {
      const { token } = await app.tried.getAccessTokenFromAuthorizationCodeFlow(request, reply)
      return token.access_token
    })
    const start = await app.inject('/login')
    const cookies = Object.fromEntries(start.cookies.map(({ name, value }) => [name, value]))
    const callback = new URL(await callbackOf(start.headers.location))
    const done = await app.inject({ url: `/callback${callback.search}`, cookies })
    await app.close()
    if (done.statusCode !== 200) throw new Error(done.body)
    return done.body
  },
  async '@hapi/bell'(job) {
    const { default: hapi } = await import('@hapi/hapi')
    const { default: bell } = await import('@hapi/bell')
    const server = hapi.server()
    await server.register(bell)
    server.auth.strategy('tried', 'bell', {
      provider: {
        protocol: 'oauth2',
        useParamsAuth: job.auth === 'body',
        auth: job.pageUrl,
        token: job.tokenUrl,
        scope: ['profile'],
        ...(job.verifier && { pkce: 'S256' }),
      },
      password: 'a password of at least thirty-two characters',
      clientId: job.clientId,
      clientSecret: job.clientSecret,
      isSecure: false,
      location: new URL(job.redirectUri).origin,
    })
    server.route({
      method: 'GET',
      path: new URL(job.redirectUri).pathname,
      options: { auth: { strategy: 'tried', mode: 'try' } },
      handler: ({ auth }) =>
        auth.isAuthenticated ? auth.credentials.token : `failed: ${auth.error?.message}`,
    })
    const { pathname } = new URL(job.redirectUri)
    const start = await server.inject(pathname)
    const cookie = start.headers['set-cookie'][0].split(';')[0]
    const callback = new URL(await callbackOf(start.headers.location))
    const done = await server.inject({ url: pathname + callback.search, headers: { cookie } })
    if (!done.payload.startsWith('uapi_')) throw new Error(`${done.statusCode} ${done.payload}`)
    return done.payload
  },
}

for (const job of JSON.parse(await text(process.stdin))) {
  let outcome
  try {
    outcome = { token: await clients[job.library](job) }
  } catch (error) {
    outcome = { error: String(error?.stack ?? error).slice(0, 2000) }
  }
  console.log(JSON.stringify({ id: job.id, ...outcome }))
}
