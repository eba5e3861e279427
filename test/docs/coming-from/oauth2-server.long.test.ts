import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import type { Express } from 'express'
import * as library from 'utility-api'
import * as expressMount from 'utility-api/express'
import * as storageParts from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { move } from '../../../examples/authorization/move.ts'
import { hasPeer, importPeer, namesIn, programOf, run, tableOf } from './programs.ts'

describe.each(['@node-oauth/oauth2-server', 'oauth2-server'])('from %s', (peer) => {
  const redirectUri = 'https://client.example/callback'
  const secret = 'a-secret-that-the-old-server-made-0123456789'
  const client = { id: 'client-1', secret, redirectUris: [redirectUri], grants: ['authorization_code'] }
  const user = { id: 'user-1' }
  const oldToken = {
    accessToken: 'f'.repeat(40),
    accessTokenExpiresAt: new Date(Date.now() + 3_600_000),
    scope: ['profile'],
    client,
    user,
  }

  /** What an owner has written, in memory. In version 3, a scope is a string. */
  function modelOf(codes: ReadonlyMap<string, object>): object {
    const scope = peer === 'oauth2-server' ? 'profile' : ['profile']
    const spent = new Set<string>()
    const tokens = new Map<string, object>([[oldToken.accessToken, { ...oldToken, scope }]])
    return {
      getClient: async (id: string, given: string) => (id === client.id && given === secret ? client : null),
      async getAuthorizationCode(code: string) {
        const found = codes.get(code)
        if (found === undefined || spent.has(code)) return null
        return { authorizationCode: code, redirectUri, scope, client, user, ...found }
      },
      revokeAuthorizationCode: async ({ authorizationCode: code }: { authorizationCode: string }) =>
        spent.size < spent.add(code).size,
      async saveToken(token: { accessToken: string }, tokenClient: object, tokenUser: object) {
        const saved = { ...token, client: tokenClient, user: tokenUser }
        tokens.set(token.accessToken, saved)
        return saved
      },
      getAccessToken: async (token: string) => tokens.get(token) ?? null,
      validateScope: async (_user: object, _client: object, asked: unknown) => asked,
    }
  }

  interface Side {
    token(
      fields: Readonly<Record<string, string>>,
      headers?: Readonly<Record<string, string>>,
    ): Promise<Answered>
    me(token: string): Promise<Answered>
  }
  interface Answered {
    readonly status: number
    readonly body: Readonly<Record<string, unknown>>
  }

  async function listen(app: Express): Promise<Side> {
    const server = app.set('env', 'test').listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ask = async (path: string, init: RequestInit): Promise<Answered> => {
      const response = await fetch(url + path, init)
      const text = await response.text()
      return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : {} }
    }
    return {
      token: (fields, headers = {}) =>
        ask('/oauth/token', { method: 'POST', body: new URLSearchParams(fields), headers }),
      me: (token) => ask('/me', { headers: { Authorization: `Bearer ${token}` } }),
    }
  }

  const verifier = 'v'.repeat(43)
  const challenge = createHash('sha256').update(verifier).digest('base64url')

  /** Both programs, with the same client, codes and token. */
  async function start(): Promise<{ before: Side; after: Side }> {
    const later = new Date(Date.now() + 60_000)
    const codes = new Map<string, object>([
      ...['plain', 'basic', 'twice', 'redirect'].map((code): [string, object] => [
        code,
        { expiresAt: later },
      ]),
      ['expired', { expiresAt: new Date(Date.now() - 1) }],
      ['pkce', { expiresAt: later, codeChallenge: challenge, codeChallengeMethod: 'S256' }],
    ])
    const expressModule = await import('express')
    const { app: before } = await run(
      programOf('oauth2-server', "import express from 'express'\nimport OAuth2"),
      {
        express: expressModule,
        '@node-oauth/oauth2-server': await importPeer(peer),
        './model.js': { model: modelOf(codes) },
      },
    )
    const storage = memoryStorage()
    const after = await run(
      programOf('oauth2-server', "import express from 'express'\nimport { bearerToken"),
      {
        express: expressModule,
        'utility-api': library,
        'utility-api/express': expressMount,
        './storage.ts': { storage },
      },
    )
    await move(storage, [client], [oldToken])
    const call = storageParts.callWithin(5000)
    for (const [code, { expiresAt }] of codes as ReadonlyMap<string, { expiresAt: Date }>) {
      const granted = { clientId: client.id, subject: user.id, redirectUri, scope: 'profile' }
      const row = {
        ...granted,
        codeChallenge: code === 'pkce' ? challenge : null,
        expiresAt: expiresAt.getTime(),
        redeemedAt: null,
      }
      await storage.insertAuthorizationCode(createHash('sha256').update(code).digest(), row, call)
    }
    return {
      before: await listen(before as unknown as Express),
      after: await listen(after['app'] as unknown as Express),
    }
  }

  const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri }
  const credentials = { client_id: client.id, client_secret: secret }

  test.skipIf(!hasPeer(peer))('clients get the same answers from both programs', async () => {
    // Theirs counts down to the second of the answer.
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { before, after } = await start()
    /** The statuses, and the fields that are not secrets. */
    const both = async (fields: Readonly<Record<string, string>>, headers = {}): Promise<Answered[]> => {
      const answers = [await before.token(fields, headers), await after.token(fields, headers)]
      return answers.map(({ status, body }) => {
        const { token_type, expires_in, scope, error } = body
        return { status, body: { token_type, expires_in, scope, error } }
      })
    }
    const token = { token_type: 'Bearer', expires_in: 3600, scope: 'profile', error: undefined }
    const refusal = (status: number, error: string): Answered => ({ status, body: { error } })
    const same = async (
      expected: Answered,
      fields: Readonly<Record<string, string>>,
      headers = {},
    ): Promise<void> => {
      const answers = await both(fields, headers)
      expect(answers.map(({ body }) => JSON.stringify(body))).toEqual(
        [expected, expected].map(({ body }) => JSON.stringify(body)),
      )
      expect(answers.map(({ status }) => status)).toEqual([expected.status, expected.status])
    }
    const basic = { Authorization: `Basic ${btoa(`${client.id}:${secret}`)}` }
    await same({ status: 200, body: token }, { ...grant, ...credentials, code: 'plain' })
    await same({ status: 200, body: token }, { ...grant, code: 'basic' }, basic)
    await same({ status: 200, body: token }, { ...grant, ...credentials, code: 'twice' })
    await same(refusal(400, 'invalid_grant'), { ...grant, ...credentials, code: 'twice' })
    await same(refusal(400, 'invalid_grant'), { ...grant, ...credentials, code: 'expired' })
    await same(refusal(400, 'invalid_grant'), { ...grant, ...credentials, code: 'never issued' })
    await same(refusal(400, 'invalid_request'), { ...grant, ...credentials })
    await same(refusal(400, 'unsupported_grant_type'), {
      ...credentials,
      ...grant,
      grant_type: 'other',
      code: 'x',
    })
    const wrong = { Authorization: `Basic ${btoa(`${client.id}:wrong`)}` }
    await same(refusal(401, 'invalid_client'), { ...grant, code: 'redirect' }, wrong)

    // Version 3 knows no PKCE.
    const withProof = { ...grant, ...credentials, code: 'pkce', code_verifier: verifier }
    expect((await after.token(withProof)).body).toMatchObject(JSON.parse(JSON.stringify(token)))
    if (peer !== 'oauth2-server') expect((await before.token(withProof)).status).toBe(200)
  })

  test.skipIf(!hasPeer(peer))('what changes, changes as the page says', async () => {
    const { before, after } = await start()
    const fields = { ...grant, ...credentials, code: 'redirect' }
    const wrong = { ...fields, client_secret: 'wrong' }
    expect(await before.token(wrong)).toMatchObject({ status: 400, body: { error: 'invalid_client' } })
    expect(await after.token(wrong)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })

    const elsewhere = { ...fields, redirect_uri: 'https://client.example/other' }
    expect([(await before.token(elsewhere)).status, (await after.token(elsewhere)).status]).toEqual([
      400, 400,
    ])
    // Version 5 has spent it by then, version 3 only judged it.
    expect((await before.token(fields)).status).toBe(peer === 'oauth2-server' ? 200 : 400)
    const { status, body } = await after.token(fields)
    expect(status).toBe(200)
    expect(body).not.toHaveProperty('refresh_token')
    expect((await before.token({ ...fields, code: 'plain' })).body).toHaveProperty('refresh_token')
  })

  test.skipIf(!hasPeer(peer))('what an authorization request must have', async () => {
    interface Authorizing {
      authorize(request: object, response: object, options: object): Promise<{ redirectUri: string }>
    }
    type Made<Type> = new (given: object) => Type
    const { default: theirs } = await importPeer(peer)
    const Server = theirs as unknown as Made<Authorizing> & Record<'Request' | 'Response', Made<object>>
    const model = {
      getClient: async () => client,
      saveAuthorizationCode: async (code: object) => ({ ...code, client, user }),
      validateScope: async () => true,
    }
    const server = new Server({ model })
    const storage = memoryStorage()
    const admin = library.createAdmin({ storage })
    await admin.createClient({ clientId: client.id, redirectUris: [redirectUri] })
    const both = async (fields: Readonly<Record<string, string>>): Promise<string[]> => {
      const query = { response_type: 'code', client_id: client.id, ...fields }
      const request = new Server.Request({ method: 'GET', headers: {}, query })
      const options = { authenticateHandler: { handle: () => user } }
      const before = server.authorize(request, new Server.Response({}), options)
      const after = await admin.readAuthorizationRequest(new URLSearchParams(query), { scopes: [] })
      return [await before.then(({ redirectUri: to }) => to, String), after.kind]
    }
    expect(await both({ redirect_uri: redirectUri, state: 'x' })).toEqual([redirectUri, 'ask'])
    expect(await both({ state: 'x' })).toEqual([redirectUri, 'refuse'])
    const stateless = [expect.stringContaining('`state`'), 'ask']
    expect(await both({ redirect_uri: redirectUri })).toEqual(stateless)
  })

  // The page has the answers of version 5.
  test.skipIf(!hasPeer(peer) || peer === 'oauth2-server')(
    'the errors that the table names differ',
    async () => {
      const { before, after } = await start()
      const fields: Readonly<Record<string, string>> = { ...grant, ...credentials, code: 'plain' }
      const without = (name: string): Record<string, string> =>
        Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name))
      const requests: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
        'no client id or no secret': [without('client_id'), without('client_secret')],
        'unknown client, or wrong secret, in the body': [
          { ...fields, client_id: 'other' },
          { ...fields, client_secret: 'wrong' },
        ],
        '`grant_type=refresh_token`': [{ ...credentials, grant_type: 'refresh_token', refresh_token: 'x' }],
        'a different `redirect_uri`': [
          { ...fields, code: 'twice', redirect_uri: 'https://client.example/other' },
        ],
        'verifier for a code without challenge': [{ ...fields, code_verifier: verifier }],
      }
      const rows = tableOf('oauth2-server', 'Request to the token endpoint')
      expect(rows.map(([what]) => what)).toEqual(Object.keys(requests))
      const answerOf = ({ status, body }: Answered): string => `${status} ${String(body['error'])}`
      for (const [what = '', theirs = '', ours = ''] of rows) {
        const expected = [theirs, ours].map((cell) => `${cell.slice(0, 3)} ${namesIn(cell)[0]}`)
        for (const request of requests[what] ?? []) {
          const answers = [answerOf(await before.token(request)), answerOf(await after.token(request))]
          expect([what, ...answers]).toEqual([what, ...expected])
        }
      }
    },
  )

  test.skipIf(!hasPeer(peer))('tokens of both worlds open the route', async () => {
    const { before, after } = await start()
    for (const side of [before, after]) {
      const { body } = await side.token({ ...grant, ...credentials, code: 'plain' })
      expect(await side.me(String(body['access_token']))).toEqual({ status: 200, body: { user: user.id } })
      expect(await side.me(oldToken.accessToken)).toEqual({ status: 200, body: { user: user.id } })
    }
    expect((await after.me('never issued')).status).toBe(401)
  })
})

test('rows are moved as the page says, and those that cannot be are named', async () => {
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((line) => void printed.push(String(line)))
  onTestFinished(() => void vi.restoreAllMocks())
  const opened = await run(programOf('oauth2-server', 'import { DatabaseSync'), {
    'node:sqlite': { DatabaseSync: MemoryDatabase },
    'utility-api/storage/sqlite': { sqliteStorage },
  })
  const storage = opened['storage'] as unknown as storageParts.AdminStorage

  const redirectUris = ['https://client.example/callback']
  const clients = [
    { id: 7, secret: '0123456789'.repeat(4), redirectUris },
    { id: 'short', secret: 'short', redirectUris },
    { id: 'public', redirectUris },
  ]
  const date = { accessTokenExpiresAt: '2100-01-01T00:00:00Z' }
  const whole = { client: { id: 7 }, user: { id: 42 }, ...date }
  const tokens = [
    { ...whole, scope: null },
    { ...whole, scope: 'a  b', accessTokenExpiresAt: new Date(date.accessTokenExpiresAt) },
    { ...whole, scope: ['a', 'b'], accessTokenExpiresAt: '2100-01-01 00:00:00Z' },
    { ...whole, user: { username: 'ada' } },
    { ...whole, user: undefined },
    { ...whole, accessTokenExpiresAt: undefined },
    { ...whole, accessTokenExpiresAt: null },
    { ...whole, accessTokenExpiresAt: 4_102_444_800 },
    { ...whole, accessTokenExpiresAt: '2100-01-01 00:00:00' },
    { ...whole, accessTokenExpiresAt: 'no dateZ' },
    { ...whole, scope: 'a "b"' },
    { ...whole, client: undefined, client_id: 7 },
    { ...whole, accessToken: undefined },
  ].map((token, at) => ({ accessToken: `token-${at}`, ...token }))
  await move(storage, clients, tokens as Parameters<typeof move>[2])
  const named = [
    ...['short', 'public'].map(
      (id) => `Client ${id} is not moved: clientSecret must have 32 to 1024 visible ASCII characters.`,
    ),
    ...tokens.slice(3, -3).map(({ user }, at) => {
      const lacks =
        user === whole.user ? 'accessTokenExpiresAt as a Date, or a text with a time zone' : 'user.id'
      return `tokens[${at + 3}], of client 7, is not moved: it needs ${lacks}.`
    }),
    'tokens[10], of client 7, is not moved: insertCredential: scope must be names separated by single spaces, at most 1024 characters.',
    'tokens[11], of client undefined, is not moved: it needs client.id.',
    'tokens[12], of client 7, is not moved: it needs accessToken.',
  ]
  expect(printed).toEqual(named)
  const admin = library.createAdmin({ storage })
  const { credentials } = await admin.listCredentials({ kind: 'access_token' })
  expect(
    credentials.map(({ ownerId, subject, scope, expiresAt }) => [ownerId, subject, scope, expiresAt]),
  ).toEqual(['', 'a b', 'a b'].map((scope) => ['7', '42', scope, Date.UTC(2100, 0, 1)]))

  // What the page says to do about a secret that does not fit.
  const { clientSecret } = await admin.createClient({ clientId: 'short', redirectUris })
  expect(clientSecret).toMatch(/^uapi_cs_/)
  // A second run skips what is there.
  await move(storage, clients, tokens as Parameters<typeof move>[2])
  expect(printed.slice(named.length)).toEqual(named.slice(1))
  expect((await admin.listClients()).clients.map(({ clientId }) => clientId)).toEqual(['7', 'short'])
  expect((await admin.listCredentials({ kind: 'access_token' })).credentials).toHaveLength(3)
})

/** Leaves no file. */
class MemoryDatabase extends DatabaseSync {
  constructor() {
    super(':memory:')
  }
}
