/** What the owner's log says of a refused exchange, and the client is not told. */
import { createHash } from 'node:crypto'
import { createAdmin, createUtilityApi, type Logger } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { describe, expect, test } from 'vitest'

const redirectUri = 'https://shop.example/callback'
const otherUri = 'https://shop.example/other'
const verifier = 'v'.repeat(43)
const codeChallenge = createHash('sha256').update(verifier).digest('base64url')

const storage = memoryStorage()
const clock = fixedClock()
const causes: unknown[] = []
const logger: Logger = {
  debug: (_, fields) => void causes.push((fields as { cause?: unknown }).cause),
  info: () => {},
  warn: () => {},
  error: () => {},
}
const api = createUtilityApi({ storage, clock, logger })
const admin = createAdmin({ storage, clock })
const newClient = () => admin.createClient({ redirectUris: [redirectUri, otherUri] })
const [client, other] = [await newClient(), await newClient()]

const issued = async (challenge?: string): Promise<string> =>
  (
    await admin.issueAuthorizationCode({
      clientId: client.clientId,
      redirectUri,
      scope: '',
      ...(challenge !== undefined && { codeChallenge: challenge }),
    })
  ).code

interface Refused {
  readonly body: string
  readonly cause: unknown
}

async function exchange(changes: Record<string, string>): Promise<Refused> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    client_id: client.clientId,
    client_secret: client.clientSecret,
    ...changes,
  })
  causes.length = 0
  const response = await api.fetch(new Request('http://localhost/v4/oauth2/token', { method: 'POST', body }))
  return { body: await response.text(), cause: causes[0] }
}

describe('a code', () => {
  const ways: Record<string, () => Promise<Refused>> = {
    'There is no such code in this storage: it was cut or mistyped, revoked or purged, or never issued.':
      () => exchange({ code: 'something' }),
    'The checksum of the code is wrong: it was changed or mistyped.': async () => {
      const code = await issued()
      return exchange({ code: code.slice(0, -1) + (code.endsWith('0') ? '1' : '0') })
    },
    'The code was issued to another client.': async () =>
      exchange({ code: await issued(), client_id: other.clientId, client_secret: other.clientSecret }),
    'The code was issued for another redirect_uri.': async () =>
      exchange({ code: await issued(), redirect_uri: otherUri }),
    'The code was issued with a challenge, and code_verifier is missing.': async () =>
      exchange({ code: await issued(codeChallenge) }),
    'code_verifier does not match the challenge.': async () =>
      exchange({ code: await issued(codeChallenge), code_verifier: 'w'.repeat(43) }),
    'The code expired 1 s ago.': async () => {
      const code = await issued()
      clock.advance(61_000)
      return exchange({ code })
    },
    'The code is spent.': async () => {
      const code = await issued()
      await exchange({ code })
      return exchange({ code })
    },
  }

  test.each(Object.entries(ways))('%s', async (cause, refuse) => {
    const description = 'The authorization code is invalid, expired, spent or not for this request.'
    expect(await refuse()).toEqual({
      body: JSON.stringify({ error: 'invalid_grant', error_description: description }),
      cause,
    })
  })
})

describe('a client', () => {
  const ways: Record<string, () => Promise<Refused>> = {
    'There is no client with this client_id.': () => exchange({ code: 'x', client_id: 'nobody' }),
    'The client secret is wrong.': () => exchange({ code: 'x', client_secret: other.clientSecret }),
    'The client is revoked.': async () => {
      const { clientId, clientSecret } = await newClient()
      await admin.revokeClient(clientId)
      return exchange({ code: 'x', client_id: clientId, client_secret: clientSecret })
    },
  }

  test.each(Object.entries(ways))('%s', async (cause, refuse) => {
    expect(await refuse()).toEqual({
      body: JSON.stringify({ error: 'invalid_client', error_description: 'Client authentication failed.' }),
      cause,
    })
  })
})
