import { createAdmin, createUtilityApi, randomKeys, UtilityApiError, type Admin } from 'utility-api'
import {
  StorageError,
  type AdminStorage,
  type Client,
  type License,
  type StorageListing,
} from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock, sequentialKeys, type FixedClock } from 'utility-api/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { hashSecret } from '../../src/domain/secret.ts'
import { call } from '../storage/support/call.ts'
import { newLicense } from '../storage/support/license.ts'

const redirectUri = 'https://client.example/callback'
let storage: AdminStorage
let clock: FixedClock
let admin: Admin

beforeEach(() => {
  storage = memoryStorage()
  clock = fixedClock()
  admin = createAdmin({ storage, clock })
})

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => expect.fail('was accepted'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UtilityApiError)
  expect(error).toMatchObject({ code: 'invalid_argument' })
  return (error as Error).message
}

test('a member that is undefined is not handed to the storage', async () => {
  const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
  const handed: object[] = []
  const watched = createAdmin({
    storage: { ...storage, updateClient: (_, patch) => handed.push(patch) > 0 },
  })
  await watched.updateClient(clientId, { name: undefined as never, redirectUris: [redirectUri] })
  expect(handed.map(Object.keys)).toEqual([['redirectUris']])
})

test('a scope or a permission that is named twice is granted once', async () => {
  const { accessToken } = await admin.createAccessToken({ scope: 'a b a' })
  const { apiKey } = await admin.createApiKey({ permissions: ['a', 'b', 'a'] })
  const api = createUtilityApi({ storage, clock })
  expect(await api.verifyAccessToken(accessToken)).toMatchObject({ scope: 'a b' })
  expect(await api.verifyApiKey(apiKey)).toMatchObject({ permissions: ['a', 'b'] })
  await api.close()
})

test('a secret that is passed as an id is refused, and not taken for one that was revoked before', async () => {
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  expect(await refusal(admin.revoke({ id: accessToken }))).toBe('id is a secret: write { secret }.')
})

test('a storage failure while a code is being issued is passed on', async () => {
  const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
  for (const kind of ['conflict', 'unavailable'] as const) {
    const failure = new StorageError(kind, 'Something else.')
    const failing = createAdmin({
      clock,
      storage: { ...storage, insertAuthorizationCode: () => Promise.reject(failure) },
    })
    const issued = failing.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    await expect(issued).rejects.toBe(failure)
  }
})

describe('clients', () => {
  test('a new client has an id and a generated secret, stored as a hash', async () => {
    const { clientId, clientSecret } = await admin.createClient({ name: 'Shop', redirectUris: [redirectUri] })
    expect(clientSecret).toMatch(/^uapi_cs_/)
    expect(await storage.findClient(clientId, call)).toMatchObject({
      clientId,
      redirectUris: [redirectUri],
      revokedAt: null,
      name: 'Shop',
    })
    expect((await storage.findClient(clientId, call))?.secretHashes).toHaveLength(1)
  })

  test('an id and a secret can be imported', async () => {
    const secret = 'x'.repeat(32)
    const client = await admin.createClient({
      clientId: 'shop',
      clientSecret: secret,
      redirectUris: [redirectUri],
    })
    expect(client).toStrictEqual({ clientId: 'shop', clientSecret: secret })
  })

  test.each([
    [{ clientSecret: 'x'.repeat(31) }, 'clientSecret must have 32 to 1024 visible ASCII characters.'],
    [{ clientSecret: 'é'.repeat(32) }, 'clientSecret must have 32 to 1024 visible ASCII characters.'],
    [{ clientId: 'a b' }, 'clientId must be 1 to 255 visible ASCII characters.'],
    [{ clientId: '' }, 'clientId must be 1 to 255 visible ASCII characters.'],
    [{ redirectUris: ['/callback'] }, /^redirectUris: "\/callback" must be an absolute https URI/],
    [
      { redirectUris: ['https://a.example/#x'] },
      /^redirectUris: "https:\/\/a.example\/#x" must not have a fragment in it/,
    ],
  ])('%j is refused', async (changes, message) => {
    expect(await refusal(admin.createClient({ redirectUris: [redirectUri], ...changes }))).toMatch(message)
  })

  test('an id can be used only once', async () => {
    await admin.createClient({ clientId: 'shop', redirectUris: [redirectUri] })
    expect(await refusal(admin.createClient({ clientId: 'shop', redirectUris: [] }))).toBe(
      'clientId: "shop" is taken.',
    )
  })

  test('a rotation keeps only the latest of the old secrets', async () => {
    const { clientId, clientSecret: first } = await admin.createClient({ redirectUris: [redirectUri] })
    const { clientSecret: second } = await admin.rotateClientSecret(clientId)
    const { clientSecret: third } = await admin.rotateClientSecret(clientId)
    const hashes = (await storage.findClient(clientId, call))?.secretHashes.map((hash) =>
      Buffer.from(hash).toString('hex'),
    )
    expect(hashes).toStrictEqual(
      [third, second].map((secret) => Buffer.from(hashSecret(secret)).toString('hex')),
    )
    expect(new Set([first, second, third]).size).toBe(3)
  })

  test('a public client has no secret, and gets none', async () => {
    const made = await admin.createClient({ clientType: 'public', redirectUris: [redirectUri] })
    expect(made).toEqual({ clientId: expect.any(String), clientSecret: null })
    expect(await storage.findClient(made.clientId, call)).toMatchObject({
      clientType: 'public',
      secretHashes: [],
    })
    expect(await refusal(admin.rotateClientSecret(made.clientId))).toBe(
      `clientId: there is no confidential client "${made.clientId}".`,
    )
    const clientSecret = 'x'.repeat(40)
    const wrong = { clientType: 'public', redirectUris: [redirectUri], clientSecret } as const
    expect(await refusal(admin.createClient(wrong))).toBe('clientSecret: a public client has none.')
    const other = { clientType: 'secret' as 'public', redirectUris: [redirectUri] }
    expect(await refusal(admin.createClient(other))).toBe('clientType must be confidential or public.')
    const { clients } = await admin.listClients()
    expect(clients.find(({ clientId }) => clientId === made.clientId)?.clientType).toBe('public')
  })

  test('a public client gets no code without a challenge, nor does any at an app scheme', async () => {
    const publicClient = await admin.createClient({ clientType: 'public', redirectUris: [redirectUri] })
    const atScheme = await admin.createClient({ redirectUris: ['com.example.app:/cb'] })
    const codes = [
      { clientId: publicClient.clientId, redirectUri, scope: '' },
      { clientId: atScheme.clientId, redirectUri: 'com.example.app:/cb', scope: '' },
    ]
    for (const code of codes)
      expect(await refusal(admin.issueAuthorizationCode(code))).toBe(
        'codeChallenge: a public client, and any at an app scheme, must have one.',
      )
  })

  test('a client id with a colon cannot be sent by HTTP Basic, and is refused', async () => {
    const client = { clientId: 'a:b', redirectUris: [redirectUri] }
    expect(await refusal(admin.createClient(client))).toBe('clientId must not have a colon in it.')
  })

  test('rotating an unknown client is refused', async () => {
    expect(await refusal(admin.rotateClientSecret('nobody'))).toBe(
      'clientId: there is no confidential client "nobody".',
    )
  })

  test('a client is revoked once', async () => {
    const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
    expect(await admin.revokeClient(clientId)).toBe(true)
    expect(await admin.revokeClient(clientId)).toBe(false)
    expect(await admin.revokeClient('nobody')).toBe(false)
  })
})

describe('authorization codes', () => {
  let clientId: string
  beforeEach(async () => {
    ;({ clientId } = await admin.createClient({ redirectUris: [redirectUri] }))
  })

  test('a code lives 60 seconds unless said otherwise', async () => {
    const { expiresAt } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: 'a b' })
    expect(expiresAt.getTime() - clock.now()).toBe(60_000)
    const longer = await admin.issueAuthorizationCode({
      clientId,
      redirectUri,
      scope: '',
      lifetimeSeconds: 600,
    })
    expect(longer.expiresAt.getTime() - clock.now()).toBe(600_000)
  })

  test.each([
    [{ clientId: 'nobody' }, 'clientId: there is no live client "nobody".'],
    [{ redirectUri: `${redirectUri}/` }, `redirectUri: "${redirectUri}/" is not registered.`],
    [{ scope: 'a  b' }, 'scope must be names separated by single spaces, at most 1024 characters.'],
    [{ scope: ' a' }, 'scope must be names separated by single spaces, at most 1024 characters.'],
    [{ scope: 'a"b' }, 'scope must be names separated by single spaces, at most 1024 characters.'],
    [{ codeChallenge: 'short' }, 'codeChallenge must be 43 base64url characters.'],
    [{ codeChallenge: 'x'.repeat(44) }, 'codeChallenge must be 43 base64url characters.'],
    [{ lifetimeSeconds: 601 }, 'lifetimeSeconds must be an integer from 1 to 600.'],
    [{ lifetimeSeconds: 0 }, 'lifetimeSeconds must be an integer from 1 to 600.'],
    [{ lifetimeSeconds: 1.5 }, 'lifetimeSeconds must be an integer from 1 to 600.'],
  ])('%j is refused', async (changes, message) => {
    expect(
      await refusal(admin.issueAuthorizationCode({ clientId, redirectUri, scope: '', ...changes })),
    ).toBe(message)
  })

  test('a revoked client gets none', async () => {
    await admin.revokeClient(clientId)
    expect(await refusal(admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' }))).toMatch(
      /no live client/,
    )
  })
})

describe('credentials', () => {
  test('each kind is valid only as that kind', async () => {
    const { token } = await admin.createReseller()
    const { accessToken } = await admin.createAccessToken({ scope: 'dns:check' })
    const { apiKey } = await admin.createApiKey()
    const kinds = ['reseller_token', 'access_token', 'api_key'] as const
    for (const [index, secret] of [token, accessToken, apiKey].entries()) {
      for (const [other, kind] of kinds.entries()) {
        const found = await storage.findCredential(kind, hashSecret(secret), call)
        expect(found === null).toBe(index !== other)
      }
    }
  })

  test.each([0, 31_536_001, 1.5])('an access token cannot live for %d seconds', async (lifetimeSeconds) => {
    expect(await refusal(admin.createAccessToken({ scope: '', lifetimeSeconds }))).toBe(
      'lifetimeSeconds must be an integer from 1 to 31536000.',
    )
  })

  test('a list has no hashes, even from a store that lists whole rows, and only the wanted kind and owner', async () => {
    const listing = {
      ...storage.listing,
      credentials: async () => ({ credentials: [{ kind: 'api_key', id: 'a', hash: Buffer.alloc(32) }] }),
    }
    const careless = createAdmin({ storage: { ...storage, listing } as never, clock })
    const { credentials } = await careless.listCredentials({ kind: 'api_key' })
    expect(credentials).toHaveLength(1)
    expect(credentials[0]).not.toHaveProperty('hash')
    expect(await refusal(admin.listCredentials({ kind: 'client' as never }))).toBe(
      'kind must be one of access_token, reseller_token, api_key.',
    )
  })

  test('a reseller can have several tokens, revoked one by one', async () => {
    const { resellerId, token } = await admin.createReseller({ resellerId: 'r-1' })
    const second = await admin.createResellerToken(resellerId)
    expect(await admin.revoke({ secret: token })).toBe(true)
    expect(await admin.revoke({ secret: token })).toBe(false)
    expect(await storage.findCredential('reseller_token', hashSecret(token), call)).toMatchObject({
      revokedAt: clock.now(),
    })
    expect(await storage.findCredential('reseller_token', hashSecret(second.token), call)).toMatchObject({
      ownerId: 'r-1',
      revokedAt: null,
    })
    expect(await admin.revoke({ id: second.resellerTokenId })).toBe(true)
    expect(await admin.revoke({ id: 'nothing' })).toBe(false)
  })

  test('an existing reseller id and an unknown owner are refused, and nothing is stored', async () => {
    await admin.createReseller({ resellerId: 'r-1', name: 'One' })
    expect(await refusal(admin.createReseller({ resellerId: 'r-1' }))).toBe('resellerId: "r-1" is taken.')
    expect(await refusal(admin.createResellerToken('r-2'))).toBe('resellerId: there is no reseller "r-2".')
    expect((await admin.listResellers()).resellers).toStrictEqual([
      { resellerId: 'r-1', name: 'One', createdAt: clock.now() },
    ])
    expect((await admin.listCredentials({ kind: 'reseller_token' })).credentials).toHaveLength(1)
  })

  test('an access token may have a client and a subject; without a client it is its own owner', async () => {
    const { clientId } = await admin.createClient({ redirectUris: [] })
    const owned = await admin.createAccessToken({ scope: 'a', clientId, subject: 'ada' })
    const free = await admin.createAccessToken({ scope: 'a' })
    const { credentials } = await admin.listCredentials({ kind: 'access_token' })
    expect(
      credentials.map(({ id, ownerId, subject, createdAt }) => [id, ownerId, subject, createdAt]),
    ).toStrictEqual([
      [owned.accessTokenId, clientId, 'ada', clock.now()],
      [free.accessTokenId, free.accessTokenId, null, clock.now()],
    ])
    expect(await refusal(admin.createAccessToken({ scope: '', clientId: 'nobody' }))).toMatch(
      /no live client/,
    )
    expect(await admin.revokeAccess({ subject: 'ada' })).toStrictEqual({ tokens: 1, codes: 0 })
    expect(await admin.revokeAccess({ clientId })).toStrictEqual({ tokens: 0, codes: 0 })
  })

  test("an API key has its permissions, by default the lookup's", async () => {
    const { apiKey } = await admin.createApiKey()
    const wide = await admin.createApiKey({ permissions: ['blockgame:lookup', 'x'] })
    expect(await storage.findCredential('api_key', hashSecret(apiKey), call)).toMatchObject({
      scope: 'blockgame:lookup',
    })
    expect(await storage.findCredential('api_key', hashSecret(wide.apiKey), call)).toMatchObject({
      scope: 'blockgame:lookup x',
    })
    expect(await refusal(admin.createApiKey({ permissions: ['a b'] }))).toBe(
      'permissions must be names without spaces, at most 1024 characters in all.',
    )
  })
})

describe('licenses', () => {
  test('are listed page by page and read by any spelling of their key', async () => {
    const keys = sequentialKeys()
    for (let count = 0; count < 5; count += 1)
      await storage.insertLicense(newLicense(keys.licenseKey('OLD-')), undefined, call)
    const first = await admin.listLicenses({ limit: 3 })
    const second = await admin.listLicenses({
      limit: 3,
      ...(first.next !== undefined && { after: first.next }),
    })
    expect([...first.licenses, ...second.licenses].map(({ licenseKey }) => licenseKey)).toStrictEqual([
      'OLD-1',
      'OLD-2',
      'OLD-3',
      'OLD-4',
      'OLD-5',
    ])
    expect(second.next).toBeUndefined()
    expect(await admin.getLicense('OLD-3')).toMatchObject({ licenseKey: 'OLD-3' })
    expect(await admin.getLicense('OLD-9')).toBeNull()
    expect(await refusal(admin.listLicenses({ limit: 1001 }))).toBe(
      'limit must be an integer from 1 to 1000.',
    )
    expect(await refusal(admin.listLicenses({ after: 'x'.repeat(1025) }))).toBe(
      'after must be what an earlier page of this list has as next.',
    )
  })
})

describe('a license that the owner creates', () => {
  const notFound =
    'licenseKey must be 1 to 128 characters, none of them control characters, and must not look like a generated key that is mistyped.'
  const fields = { registeredTo: 'Ada', domainOrIp: 'shop.example' }

  test('is one that the operation would have made, and its first status is the default', async () => {
    const { resellerId } = await admin.createReseller()
    const { created, ...license } = await admin.createLicense({ ...fields, resellerId })
    expect(created).toBe(true)
    expect(license).toEqual({
      ...fields,
      resellerId,
      status: 'valid',
      licenseKey: expect.stringMatching(/^LIC-/),
      createdAt: clock.now(),
      updatedAt: clock.now(),
      reference: null,
      expiresAt: null,
    })
    expect(await admin.getLicense(license.licenseKey)).toEqual(license)
    const invalid = await admin.createLicense({ ...fields, resellerId, status: 'invalid' })
    expect(invalid.status).toBe('invalid')
  })

  test('is registered to and bound to what the customer typed, without the blanks around it', async () => {
    const { resellerId } = await admin.createReseller()
    const typed = { registeredTo: '\u00a0Ada ', domainOrIp: ' shop.example\r\n' }
    const license = await admin.createLicense({ ...typed, resellerId, reference: 'payment-1' })
    expect(license).toMatchObject(fields)
    // The same payment, reported by another program.
    expect(await admin.createLicense({ ...fields, resellerId, reference: 'payment-1' })).toEqual({
      ...license,
      created: false,
    })
    const moved = { registeredTo: 'Eve\n', domainOrIp: ' 192.0.2.1' }
    expect(await admin.updateLicense(license.licenseKey, moved)).toBe(true)
    const stored = await admin.getLicense(license.licenseKey)
    expect(stored).toMatchObject({ registeredTo: 'Eve', domainOrIp: '192.0.2.1' })
  })

  test('leaves nothing by which a name that is tried would show that somebody has been erased', async () => {
    const insert = vi.spyOn(storage, 'insertLicense')
    const { resellerId, token } = await admin.createReseller()
    const { fetch } = createUtilityApi({ storage, clock, dns: false, blockgame: false })
    for (const reference of ['a', 'b']) {
      const headers = {
        Authorization: `Bearer ${token}`,
        'X-Registered-To': fields.registeredTo,
        'X-Domain-Or-IP': fields.domainOrIp,
        'X-Status': 'valid',
        'Idempotency-Key': reference,
      }
      await admin.createLicense({ ...fields, resellerId, reference })
      const url = 'http://localhost/v2/reseller/licenses/generate'
      expect((await fetch(new Request(url, { method: 'POST', headers }))).status).toBe(200)
    }
    const hashes = insert.mock.calls.map(([, kept]) => Buffer.from(kept?.requestHash ?? []).toString('hex'))
    expect(new Set(hashes).size).toBe(4)
  })

  test('is made once for each reference, for ever, and is returned as it is now', async () => {
    const [{ resellerId, token }, other] = [await admin.createReseller(), await admin.createReseller()]
    const paid = { ...fields, resellerId, reference: 'payment-1' }
    const { created, ...license } = await admin.createLicense(paid)
    expect(created).toBe(true)
    expect(await admin.createLicense(paid)).toEqual({ ...license, created: false })
    const change = { registeredTo: 'erased', domainOrIp: 'moved.example', expiresAt: new Date(5) }
    await admin.updateLicense(license.licenseKey, { ...change, resellerId: other.resellerId })
    clock.advance(10 * 365 * 86_400_000)
    expect((await admin.purgeExpired()).idempotency).toBe(0)
    const now = await admin.getLicense(license.licenseKey)
    expect(now).toMatchObject({
      ...change,
      resellerId: other.resellerId,
      expiresAt: 5,
      reference: 'payment-1',
    })
    // What a repeat says of status, end and creation is not compared.
    const again = { ...paid, status: 'invalid', expiresAt: new Date(9), createdAt: new Date(9) }
    expect(await admin.createLicense(again)).toEqual({ ...now, created: false })
    expect(await admin.createLicense({ ...paid, licenseKey: license.licenseKey })).toMatchObject({
      created: false,
    })
    // Its key is that of the reseller at its creation.
    expect(await admin.createLicense({ ...paid, resellerId: other.resellerId })).toMatchObject({
      created: true,
    })
    const others = [{ registeredTo: 'Eve' }, { domainOrIp: 'eve.example' }, { licenseKey: 'OTHER-1' }]
    for (const each of others)
      await expect(admin.createLicense({ ...paid, ...each })).rejects.toMatchObject({
        code: 'idempotency_mismatch',
        status: 422,
        argument: undefined,
      })
    await admin.deleteLicense(license.licenseKey)
    await expect(admin.createLicense(paid)).rejects.toMatchObject({
      code: 'invalid_argument',
      argument: 'reference',
      message: 'reference: the license that was created for "payment-1" is deleted.',
    })
    const headers = { 'x-registered-to': 'Eve', 'x-domain-or-ip': 'eve.example', 'x-status': 'valid' }
    const api = createUtilityApi({ storage, clock })
    const answer = await api.fetch(
      new Request('http://host/v2/reseller/licenses/generate', {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${token}`, 'idempotency-key': 'payment-1' },
      }),
    )
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ data: { registered_to: 'Eve' } })
    await api.close()
  })

  test.each([
    [{ resellerId: 'nobody' }, 'resellerId: there is no reseller "nobody".'],
    [{ resellerId: 'a b' }, 'resellerId must be 1 to 255 visible ASCII characters.'],
    [{ registeredTo: ' \u00a0' }, 'registeredTo must not be empty.'],
    [
      { domainOrIp: 'https://shop.example' },
      'domainOrIp must be a host name or an IP address, without scheme, port or path.',
    ],
    [{ status: 'paid' }, 'status must be one of those in the option statuses: valid, invalid.'],
    [{ reference: 'payment 1' }, 'reference must be 1 to 255 visible ASCII characters.'],
    [{ reference: '' }, 'reference must be 1 to 255 visible ASCII characters.'],
    [{ expiresAt: new Date(NaN) }, 'expiresAt must be a valid Date.'],
    [{ createdAt: new Date(-1) }, 'createdAt must not be before 1970.'],
    [{ licenseKey: '' }, notFound],
    [{ licenseKey: 'LIC-AAAAA-AAAAA-AAAAA-AAAAA-AAAAA' }, notFound],
  ])('is refused with %j, which is named, and nothing is stored', async (wrong, message) => {
    const { resellerId } = await admin.createReseller()
    const before = await admin.countLicenses()
    const refused = admin.createLicense({ ...fields, resellerId, ...wrong })
    const [argument] = Object.keys(wrong)
    await expect(refused).rejects.toMatchObject({ code: 'invalid_argument', argument, message })
    expect(await admin.countLicenses()).toBe(before)
  })

  test('moves in with its key, which is found as it is typed, and keeps its time of creation', async () => {
    const { resellerId } = await admin.createReseller()
    const own = randomKeys().licenseKey('LIC-')
    const createdAt = new Date(86_400_000)
    const typed = ` ${own.toLowerCase().replaceAll('-', ' ')}\u200b`
    const moved = await admin.createLicense({ ...fields, resellerId, licenseKey: typed, createdAt })
    expect(moved).toMatchObject({
      licenseKey: own,
      createdAt: 86_400_000,
      updatedAt: clock.now(),
      created: true,
    })
    const foreign = await admin.createLicense({ ...fields, resellerId, licenseKey: ' a/b:c=1 ' })
    expect(await admin.getLicense('a/b:c=1')).toMatchObject({ licenseKey: foreign.licenseKey })
    await expect(admin.createLicense({ ...fields, resellerId, licenseKey: own })).rejects.toMatchObject({
      code: 'invalid_argument',
      argument: 'licenseKey',
      message: 'licenseKey is taken.',
    })
  })
})

test('licenses are found by what they were sold for, and listed in order of their end', async () => {
  const { resellerId } = await admin.createReseller()
  const make = (reference: string, days: number): Promise<License> =>
    admin.createLicense({
      resellerId,
      registeredTo: 'Ada',
      domainOrIp: 'a.example',
      reference,
      expiresAt: new Date(days * 86_400_000),
    })
  const [c, a, b] = [await make('pay_c', 103), await make('pay_a', 101), await make('pay_b', 102)]
  const keysOf = async (...[page]: Parameters<typeof admin.listLicenses>): Promise<string[]> =>
    (await admin.listLicenses({ resellerId, ...page })).licenses.map(({ licenseKey }) => licenseKey)
  expect(await keysOf({ reference: 'pay_b' })).toEqual([b.licenseKey])
  const [from, before] = [new Date(101 * 86_400_000), new Date(103 * 86_400_000)]
  expect(await keysOf({ endsBefore: before })).toEqual([a.licenseKey, b.licenseKey])
  expect(await keysOf({ endsFrom: new Date(+from + 1), endsBefore: before })).toEqual([b.licenseKey])
  // The text alone: it is no claim.
  expect(await admin.updateLicense(a.licenseKey, { reference: 'pay_c', expiresAt: null })).toBe(true)
  expect(await keysOf({ reference: 'pay_c' })).toEqual([c.licenseKey, a.licenseKey])
  expect(await keysOf({ endsBefore: before })).toEqual([b.licenseKey])
  expect((await make('pay_a', 101)).licenseKey).toBe(a.licenseKey)
  expect(await admin.updateLicense(a.licenseKey, { reference: null })).toBe(true)
  expect(await admin.getLicense(a.licenseKey)).toMatchObject({ reference: null, expiresAt: null })
  expect(await refusal(admin.listLicenses({ endsFrom: from }))).toBe('endsFrom needs endsBefore.')
  for (const filter of [{ status: 'valid' }, { reference: 'pay_c' }, { domainOrIp: 'a.example' }])
    expect(await refusal(admin.listLicenses({ endsBefore: before, ...filter }))).toBe(
      'endsBefore goes only with endsFrom and resellerId.',
    )
})

test('licenses are found by what they cover, by status and by reseller', async () => {
  const [{ resellerId }, other] = [await admin.createReseller(), await admin.createReseller()]
  const wild = createAdmin({ storage, clock, licenses: { allowWildcards: true } })
  const make = async (domainOrIp: string, status = 'valid', of = resellerId): Promise<string> =>
    (await wild.createLicense({ registeredTo: 'Ada', domainOrIp, status, resellerId: of })).licenseKey
  const shop = await make('*.SHOP-1.example')
  const eu = await make('eu.shop-1.example.', 'invalid')
  const foreign = await make('eu.shop-1.example', 'valid', other.resellerId)
  const ip = await make('2001:DB8::77')
  const city = await make('münchen-1.example')
  const keys = async (of: Parameters<typeof admin.listLicenses>[0]): Promise<string[]> =>
    (await admin.listLicenses(of)).licenses.map(({ licenseKey }) => licenseKey)
  expect(await keys({ domainOrIp: 'EU.shop-1.example' })).toEqual([shop, eu, foreign])
  expect(await keys({ domainOrIp: 'eu.shop-1.example', resellerId })).toEqual([shop, eu])
  expect(await keys({ domainOrIp: 'eu.shop-1.example', resellerId, status: 'valid' })).toEqual([shop])
  expect(await keys({ domainOrIp: '*.shop-1.example' })).toEqual([shop])
  expect(await keys({ domainOrIp: 'shop-1.example' })).toEqual([])
  expect(await keys({ domainOrIp: '2001:db8:0::77' })).toEqual([ip])
  expect(await keys({ domainOrIp: ' xn--mnchen-1-65a.example ' })).toEqual([city])
  expect(await refusal(admin.listLicenses({ domainOrIp: 'http://shop.example' }))).toBe(
    'domainOrIp must be a host name or an IP address, without scheme, port or path.',
  )
})

test('a lifetime ends a reseller token and an API key, and a wrong one is refused', async () => {
  const { token, resellerId } = await admin.createReseller({ tokenLifetimeSeconds: 10 })
  const { token: second } = await admin.createResellerToken(resellerId, { lifetimeSeconds: 20 })
  const { apiKey } = await admin.createApiKey({ lifetimeSeconds: 10 })
  const api = createUtilityApi({ storage, clock })
  clock.advance(9_999)
  await api.verifyResellerToken(token)
  await api.verifyApiKey(apiKey)
  clock.advance(1)
  await expect(api.verifyResellerToken(token)).rejects.toMatchObject({ code: 'invalid_token' })
  await expect(api.verifyApiKey(apiKey)).rejects.toMatchObject({ code: 'invalid_api_key' })
  await api.verifyResellerToken(second)
  await api.close()
  const most = 'must be an integer from 1 to 315360000.'
  expect(await refusal(admin.createApiKey({ lifetimeSeconds: 0 }))).toBe(`lifetimeSeconds ${most}`)
  expect(await refusal(admin.createReseller({ tokenLifetimeSeconds: 1.5 }))).toBe(
    `tokenLifetimeSeconds ${most}`,
  )
  expect(await refusal(admin.createResellerToken(resellerId, { lifetimeSeconds: 4e8 }))).toBe(
    `lifetimeSeconds ${most}`,
  )
})

test('a key that a generator of the host makes longer than any is not looked for', async () => {
  const findLicense = vi.fn(storage.findLicense)
  const keyGenerator = { ...randomKeys(), parseLicenseKey: (text: string) => text.padEnd(129, 'x') }
  const own = createAdmin({ storage: { ...storage, findLicense }, keyGenerator })
  expect(await own.getLicense('LIC-1')).toBeNull()
  expect(findLicense).not.toHaveBeenCalled()
})

test('a secret that a generator of the host makes of characters no header can carry is not stored', async () => {
  const insertCredential = vi.fn(storage.insertCredential)
  const insertAuthorizationCode = vi.fn(storage.insertAuthorizationCode)
  const keyGenerator = { ...randomKeys(), secret: () => 'x'.repeat(32) + ',' }
  const own = createAdmin({
    storage: { ...storage, insertCredential, insertAuthorizationCode },
    keyGenerator,
  })
  const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
  const before = await storage.findClient(clientId, call)
  const calls = [
    () => own.createApiKey(),
    () => own.createReseller(),
    () => own.createAccessToken({ scope: '' }),
    () => own.createClient({ clientId: 'own', redirectUris: [redirectUri] }),
    () => own.rotateClientSecret(clientId),
    () => own.issueAuthorizationCode({ clientId, redirectUri, scope: '' }),
  ]
  const outcomes = await Promise.allSettled(calls.map((create) => create()))
  const reason = expect.objectContaining({
    message:
      'The key generator made a secret that is no bearer token: letters, digits, -._~+/, and = at the end.',
  }) as Error
  expect(outcomes).toEqual(calls.map(() => ({ status: 'rejected', reason })))
  expect(insertCredential).not.toHaveBeenCalled()
  expect(insertAuthorizationCode).not.toHaveBeenCalled()
  expect([await storage.findClient('own', call), await storage.findClient(clientId, call)]).toEqual([
    null,
    before,
  ])
})

test('licenses are changed, counted and deleted by any spelling of their key', async () => {
  const { licenseKey } = await storeLicense()
  expect(
    await admin.updateLicense(licenseKey.toLowerCase().replace('lic-', 'LIC-'), { status: 'invalid' }),
  ).toBe(true)
  expect(await admin.getLicense(licenseKey)).toMatchObject({ status: 'invalid', updatedAt: clock.now() })
  expect(await admin.updateLicense('LIC-none', { status: 'invalid' })).toBe(false)
  expect([await admin.countLicenses(), await admin.countLicenses({ resellerId: 'other' })]).toStrictEqual([
    1, 0,
  ])
  expect(await admin.deleteLicense(licenseKey)).toBe(true)
  expect(await admin.deleteLicense(licenseKey)).toBe(false)
  expect(await admin.getLicense(licenseKey)).toBeNull()
})

test('a license moves to a reseller that exists, and to no other', async () => {
  const { licenseKey, resellerId: before } = await storeLicense()
  const moved = admin.updateLicense(licenseKey, { resellerId: 'nobody', status: 'invalid' })
  expect(await refusal(moved)).toBe('resellerId: there is no reseller "nobody".')
  expect(await admin.getLicense(licenseKey)).toMatchObject({ resellerId: before, status: 'valid' })
  const { resellerId } = await admin.createReseller()
  expect(await admin.updateLicense(licenseKey, { resellerId })).toBe(true)
  expect(await admin.getLicense(licenseKey)).toMatchObject({ resellerId, status: 'valid' })
})

async function storeLicense(): Promise<License> {
  const license = newLicense(randomKeys().licenseKey('LIC-'))
  await storage.insertLicense(license, undefined, call)
  return license
}

test('clients are listed without their hashes, even by a store that lists whole rows', async () => {
  const { clientId } = await admin.createClient({ name: 'Shop', redirectUris: [redirectUri] })
  await admin.revokeClient(clientId)
  const listing = {
    ...(storage.listing as StorageListing),
    clients: async () => ({ clients: [(await storage.findClient(clientId, call)) as Client] }),
  }
  const careless = createAdmin({ storage: { ...storage, listing } })
  expect(await careless.listClients()).toStrictEqual({
    clients: [
      {
        clientId,
        name: 'Shop',
        clientType: 'confidential',
        redirectUris: [redirectUri],
        createdAt: clock.now(),
        revokedAt: clock.now(),
      },
    ],
  })
})

test("without the storage's listing, lists fail with a clear error and everything else works", async () => {
  const { listing: _, ...rest } = storage
  const plain = createAdmin({ storage: rest })
  const lists = [
    () => plain.listClients(),
    () => plain.listResellers(),
    () => plain.listCredentials({ kind: 'api_key' }),
    () => plain.listLicenses(),
    () => plain.countLicenses(),
  ]
  const messages = await Promise.all(lists.map((list) => refusal(list())))
  expect(new Set(messages)).toStrictEqual(new Set(['storage cannot list: it has no `listing`.']))
  await plain.createReseller()
})

test('purging deletes what has expired and returns the counts', async () => {
  const { clientId } = await admin.createClient({ redirectUris: [redirectUri] })
  await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
  await admin.createAccessToken({ scope: '', lifetimeSeconds: 60 })
  const { apiKey } = await admin.createApiKey()
  expect(await admin.purgeExpired()).toStrictEqual({ codes: 0, tokens: 0, idempotency: 0 })
  clock.advance(60_000)
  expect(await admin.purgeExpired()).toStrictEqual({ codes: 1, tokens: 1, idempotency: 0 })
  expect(await storage.findCredential('api_key', hashSecret(apiKey), call)).not.toBeNull()
})

test.each([
  [{}, 'storage'],
  [{ storage: {} }, 'storage'],
  [{ storage: memoryStorage(), clock: {} }, 'clock'],
  [{ storage: memoryStorage(), dns: {} }, 'dns: is not an option'],
])('createAdmin(%#) names the option it refuses', (options, name) => {
  expect(() => createAdmin(options as never)).toThrow(expect.objectContaining({ code: 'invalid_options' }))
  expect(() => createAdmin(options as never)).toThrow(name)
})
