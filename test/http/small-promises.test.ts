/** Promises of single operations that the tables of requests do not reach: races lost, fields that look alike, colons. */
import { createAdmin, createUtilityApi, randomKeys, type Logger } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { call } from '../storage/support/call.ts'
import { newLicense } from '../storage/support/license.ts'
import { licenseHeaders, redirectUri } from './support/world.ts'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { token } = await admin.createReseller()

async function exchange(): Promise<Request> {
  const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
  return new Request('http://localhost/v4/oauth2/token', {
    method: 'POST',
    body: new URLSearchParams({ ...fields, client_id: clientId, client_secret: clientSecret }),
  })
}

test('a code that another request spends in the same moment counts as used again', async () => {
  const revoked: Uint8Array[] = []
  const warned: unknown[] = []
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: (message, fields) => warned.push([message, fields]),
    error: () => {},
  }
  const overtaken = {
    ...storage,
    redeemAuthorizationCode: () => false,
    revokeAccessTokensOfCode(codeHash: Uint8Array) {
      revoked.push(codeHash)
      return 1
    },
  }
  const response = await createUtilityApi({ storage: overtaken, logger }).fetch(await exchange())
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: 'invalid_grant' })
  expect(revoked).toHaveLength(1)
  const requestId = response.headers.get('X-Request-Id')
  expect(warned).toEqual([
    ['An authorization code was used again.', { requestId, clientId, revokedTokens: 1 }],
  ])
})

function generate(headers: Record<string, string> = {}): Request {
  return new Request('http://localhost/v2/reseller/licenses/generate', {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, ...licenseHeaders, ...headers },
  })
}

test.each([
  ['three times', 3, 200],
  ['four times', 4, 500],
])('a generator that meets a taken key %s', async (_, times, status) => {
  await storage.insertLicense(newLicense(`TAKEN-${times}`), undefined, call)
  let made = 0
  const licenseKey = (): string => ((made += 1) <= times ? `TAKEN-${times}` : `FREE-${times}`)
  const api = createUtilityApi({ storage, keyGenerator: { ...randomKeys(), licenseKey }, logger: false })
  expect((await api.fetch(generate())).status).toBe(status)
})

test('fields that only look alike when put together are other fields', async () => {
  const api = createUtilityApi({ storage })
  const key = { 'Idempotency-Key': 'one-and-the-same' }
  const first = generate({ ...key, 'X-Registered-To': 'Adaa', 'X-Domain-Or-IP': '1.example' })
  const second = generate({ ...key, 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'a1.example' })
  expect((await api.fetch(first)).status).toBe(200)
  expect((await api.fetch(second)).status).toBe(422)
})

test('a client secret may have a colon in a Basic header: only the first one divides', async () => {
  const secret = `${'s'.repeat(32)}:more`
  const client = await admin.createClient({
    redirectUris: [redirectUri],
    clientId: 'colon',
    clientSecret: secret,
  })
  const { code } = await admin.issueAuthorizationCode({ clientId: client.clientId, redirectUri, scope: '' })
  const request = new Request('http://localhost/v4/oauth2/token', {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(`colon:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: redirectUri }),
  })
  expect((await createUtilityApi({ storage }).fetch(request)).status).toBe(200)
})
