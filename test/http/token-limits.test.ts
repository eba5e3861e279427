/** Where the service protects itself, the token endpoint still speaks as OAuth clients expect. */
import { expect } from 'vitest'
import { memoryStorage } from 'utility-api/storage/memory'
import { runRows } from './support/rows.ts'
import { jsonRequest, tokenFields } from './support/token-request.ts'

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
