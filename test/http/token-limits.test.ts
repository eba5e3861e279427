/** Where the service protects itself, the token endpoint still speaks as OAuth clients expect. */
import { createAdmin, createUtilityApi } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { expect, test } from 'vitest'
import { memoryStorage } from 'utility-api/storage/memory'
import { runRows } from './support/rows.ts'
import { sendToFetch } from './support/send.ts'
import { basic, formRequest, jsonRequest, tokenFields } from './support/token-request.ts'
import { redirectUri } from './support/world.ts'

const keys: string[] = []

runRows(
  'Token endpoint behind a rate limiter',
  [
    {
      name: 'a client over its limit',
      request: async (world) => jsonRequest(await tokenFields(world)),
      status: 429,
      body: { error: 'temporarily_unavailable', error_description: 'Too many requests.' },
      headers: { 'Retry-After': '7', 'Cache-Control': 'no-store', 'WWW-Authenticate': null },
      check: ({ clientId }) => expect(keys.at(-1)).toBe(`client:${clientId}`),
    },
  ],
  {
    rateLimiter: {
      async consume(key) {
        keys.push(key)
        return { allowed: false, retryAfterSeconds: 6.2 }
      },
    },
  },
)

/** What the one request that is let in waits for. */
let held: PromiseWithResolvers<null>
const stored = { ...memoryStorage(), findClient: () => held.promise }
const request = jsonRequest({
  grant_type: 'authorization_code',
  code: 'x',
  redirect_uri: 'x',
  client_id: 'x',
  client_secret: 'x',
})

runRows(
  'Token endpoint under overload',
  [
    {
      name: 'a request beyond the bound',
      request: async ({ api }) => {
        held = Promise.withResolvers()
        const { method, headers, body } = request
        void api.fetch(
          new Request('http://localhost/v4/oauth2/token', { method, headers, body } as RequestInit),
        )
        await new Promise((resolve) => setTimeout(resolve, 20))
        return request
      },
      status: 503,
      body: { error: 'temporarily_unavailable', error_description: 'Too many requests are under way.' },
      headers: { 'Retry-After': '1', 'Cache-Control': 'no-store' },
      check: () => held.resolve(null),
    },
  ],
  { maxInFlight: 1, storage: stored },
)

/** A store that notes which of its methods are called. */
function noting(storage: AdminStorage, calls: string[]): AdminStorage {
  return new Proxy(storage, {
    get(target, name: string) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return (...args: unknown[]): unknown => {
        calls.push(name)
        return Reflect.apply(method, target, args)
      }
    },
  })
}

test('a client that is unknown, revoked or has the wrong secret costs the same storage calls', async () => {
  const calls: string[] = []
  const memory = memoryStorage()
  const admin = createAdmin({ storage: memory })
  const api = createUtilityApi({ storage: noting(memory, calls), dns: false, blockgame: false })
  const [known, revoked] = [
    await admin.createClient({ redirectUris: [redirectUri] }),
    await admin.createClient({ redirectUris: [redirectUri] }),
  ]
  await admin.revokeClient(revoked.clientId)
  const { code } = await admin.issueAuthorizationCode({
    clientId: known.clientId,
    redirectUri,
    scope: '',
  })
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
  const wrong = `${known.clientSecret.slice(0, -1)}!`
  const credentials: [string, string][] = [
    ['nobody', wrong],
    ['nobody', known.clientSecret],
    [known.clientId, wrong],
    [known.clientId, 'wrong'],
    [revoked.clientId, revoked.clientSecret],
  ]
  for (const [client_id, client_secret] of credentials) {
    for (const attempt of [
      jsonRequest({ ...fields, client_id, client_secret }),
      formRequest(fields, basic(client_id, client_secret)),
    ]) {
      calls.length = 0
      const answer = await sendToFetch(api, attempt)
      expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
      expect(calls, `${client_id} ${client_secret}`).toEqual(['findClient'])
    }
  }
})
