import { DatabaseSync } from 'node:sqlite'
import { createAdmin, UtilityApiError, type Admin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test, vi } from 'vitest'
import { call } from '../storage/support/call.ts'
import { newLicense } from '../storage/support/license.ts'

const storage = memoryStorage()
const licenses = { statuses: ['valid', 'expired'] }
const admin = createAdmin({ storage, licenses })
const { clientId } = await admin.createClient({ redirectUris: ['https://a.example/'] })
const { resellerId } = await admin.createReseller()
const license = newLicense('K'.repeat(128), { resellerId })
await storage.insertLicense(license, undefined, call)

const { clientId: codeClient } = await admin.createClient({ redirectUris: ['https://a.example/'] })
const code = { clientId: codeClient, redirectUri: 'https://a.example/', scope: '' }

const uri = (length: number): string => 'https://a.example/'.padEnd(length, 'p')
const text = (length: number): string => 'x'.repeat(length)
let lastId = 0
/** An identifier of a length, never the same twice. */
const id = (length: number): string => `${(lastId += 1)}-`.padEnd(length, 'x')

/** A call with a value of a length, and the longest that may be. */
const limits: [what: string, longest: number, call: (length: number) => Promise<unknown>][] = [
  ['clientId', 255, (length) => admin.createClient({ clientId: id(length), redirectUris: [] })],
  ['client name', 255, (length) => admin.createClient({ name: '😀'.repeat(length), redirectUris: [] })],
  ['client secret', 1024, (length) => admin.createClient({ clientSecret: text(length), redirectUris: [] })],
  ['redirect URI', 2048, (length) => admin.createClient({ redirectUris: [uri(length)] })],
  [
    'redirect URIs',
    10,
    (count) => admin.createClient({ redirectUris: Array.from({ length: count }, () => uri(30)) }),
  ],
  ['new client name', 255, (length) => admin.updateClient(clientId, { name: text(length) })],
  [
    'new redirect URI',
    2048,
    (length) => admin.updateClient(clientId, { redirectUris: [uri(30), uri(length)] }),
  ],
  ['resellerId', 255, (length) => admin.createReseller({ resellerId: id(length) })],
  ['reseller name', 255, (length) => admin.createReseller({ name: text(length) })],
  ['subject of a token', 255, (length) => admin.createAccessToken({ scope: '', subject: text(length) })],
  ['scope of a token', 1024, (length) => admin.createAccessToken({ scope: text(length) })],
  ['permissions', 1024, (length) => admin.createApiKey({ permissions: [text(24), text(length - 25)] })],
  ['name of a key', 255, (length) => admin.createApiKey({ name: text(length) })],
  ['subject of a code', 255, (length) => admin.issueAuthorizationCode({ ...code, subject: text(length) })],
  [
    'redirect URI of a code, with a port of its own',
    2048,
    async (length) => {
      const path = text(length - 'http://127.0.0.1:8080/'.length)
      const { clientId: native } = await admin.createClient({ redirectUris: [`http://127.0.0.1/${path}`] })
      const redirectUri = `http://127.0.0.1:8080/${path}`
      await admin.issueAuthorizationCode({ clientId: native, redirectUri, scope: '' })
    },
  ],
  ['scope of a code', 1024, (length) => admin.issueAuthorizationCode({ ...code, scope: text(length) })],
  ['subject to revoke', 255, (length) => admin.revokeAccess({ subject: text(length) })],
  ['owner to list', 255, (length) => admin.listCredentials({ kind: 'api_key', ownerId: text(length) })],
  ['status to list', 64, (length) => admin.listLicenses({ status: text(length) })],
  ['reseller to list', 255, (length) => admin.listLicenses({ resellerId: text(length) })],
  ['page', 1000, (limit) => admin.listClients({ limit })],
  [
    'registeredTo',
    255,
    (length) => admin.updateLicense(license.licenseKey, { registeredTo: '😀'.repeat(length) }),
  ],
  [
    'new resellerId',
    255,
    async (length) => {
      const owner = { resellerId: text(length) }
      if (length === 255) await storage.insertReseller({ ...owner, createdAt: 1 }, call)
      await admin.updateLicense(license.licenseKey, owner)
    },
  ],
]

test.each(limits)(
  '%s: %i is stored, one more is refused before storage is asked',
  async (_, longest, work) => {
    await work(longest)
    const error: unknown = await work(longest + 1).then(
      () => expect.fail('was accepted'),
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(UtilityApiError)
    expect(error).toMatchObject({ code: 'invalid_argument', status: 400, expose: true })
  },
)

test('a license key of 128 characters is looked up, a longer one is not found', async () => {
  const asked: string[] = []
  const watched = createAdmin({
    storage: {
      ...storage,
      findLicense(licenseKey, ...rest) {
        asked.push(licenseKey)
        return storage.findLicense(licenseKey, ...rest)
      },
    },
  })
  expect(await watched.getLicense(license.licenseKey)).not.toBeNull()
  expect(await watched.getLicense(`${license.licenseKey}K`)).toBeNull()
  expect(asked).toStrictEqual([license.licenseKey])
})

test.each<[string, (watched: Admin) => Promise<unknown>, unknown]>([
  ['updateClient', (watched) => watched.updateClient('a b', {}), false],
  [
    'rotateClientSecret',
    (watched) => watched.rotateClientSecret('a b'),
    'clientId: there is no confidential client "a b".',
  ],
  ['revokeClient', (watched) => watched.revokeClient('a b'), false],
  [
    'findClient',
    (watched) => watched.issueAuthorizationCode({ ...code, clientId: 'a b' }),
    'clientId: there is no live client "a b".',
  ],
  ['revokeCredential', (watched) => watched.revoke({ id: 'a b' }), false],
])('%s is not called with what cannot be an identifier', async (method, work, expected) => {
  const asked = vi.fn(async () => true)
  const watched = createAdmin({ storage: { ...storage, [method]: asked } })
  expect(await work(watched).catch((error: Error) => error.message)).toBe(expected)
  expect(asked).not.toHaveBeenCalled()
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'file:///etc/passwd',
  'urn:ietf:wg:oauth:2.0:oob',
  'myapp:/callback',
  'http://a.example/',
  'http://127.0.0.1.a.example/',
  'http://localhost@a.example/',
  'http://notlocalhost/',
  'http://a.127.0.0.1.example/',
  'https:/a.example/',
  'https:///a.example/',
  'http:a.example',
  'https://a.example:65536/',
  '/callback',
  '',
])('the redirection URI %j is refused', async (redirectUri) => {
  await expect(admin.createClient({ redirectUris: [redirectUri] })).rejects.toMatchObject({
    code: 'invalid_argument',
  })
})

test.each([
  ['https://user:pw@a.example/', 'user information', 'https://…@a.example/'],
  ['https://user@a.example/', 'user information', 'https://…@a.example/'],
  ['http://127.0.0.1:80@a.example/', 'user information', 'http://…@a.example/'],
  ['https://a.example/?code=1', 'the parameter code, which the answer has', 'https://a.example/?code=1'],
  [
    'https://a.example/?a=b&%73tate',
    'the parameter state, which the answer has',
    'https://a.example/?a=b&%73tate',
  ],
  ['com.example.app:/cb?iss=x', 'the parameter iss, which the answer has', 'com.example.app:/cb?iss=x'],
  ['http://127.0.0.1/?error=', 'the parameter error, which the answer has', 'http://127.0.0.1/?error='],
  ['com.example.app://user@host/', 'user information', 'com.example.app://…@host/'],
  ['https://a.example\\@b.example/', 'a backslash', 'https://…@b.example/'],
  ['https://a.example/\\x', 'a backslash'],
  ['https://a.example/"x', 'a quote'],
  ["https://a.example/'x", 'a quote'],
  ['https://a.example/`x', 'a quote'],
  ['https://a.example/<x', 'an angle bracket'],
  ['https://a.example/>x', 'an angle bracket'],
  ['https://*.a.example/cb', 'a wildcard'],
  ['https://a.example/*', 'a wildcard'],
  ['https://{tenant}.a.example/', 'a wildcard'],
  ['https://a.example/#', 'a fragment'],
  ['https://a.example/#x', 'a fragment'],
  ['https://a.example/ x', 'a space, a control character or one outside ASCII'],
  ['https://a.example/\u00e4', 'a space, a control character or one outside ASCII'],
  ['https://a.example/\n', 'a space, a control character or one outside ASCII'],
])('the redirection URI %j is refused for %s', async (redirectUri, part, shown = redirectUri) => {
  for (const refused of [
    () => admin.createClient({ redirectUris: [redirectUri] }),
    () => admin.updateClient(clientId, { redirectUris: [uri(30), redirectUri] }),
  ]) {
    await expect(refused()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: `redirectUris: "${shown}" must not have ${part} in it.`,
    })
  }
})

test.each([
  'https://a.example',
  'https://a.example/x//y@z?u=v@w',
  'https://a.example/(a)!$&,;=:@~-._%20',
  'https://a.example:8443/x?y=z',
  'http://localhost:3000/callback',
  'http://127.0.0.1/callback',
  'http://[::1]:3000/callback',
  'com.example.app:/callback',
  'com.example.app://callback',
])('the redirection URI %j is accepted', async (redirectUri) => {
  await admin.createClient({ redirectUris: [redirectUri] })
})

test.each([{ name: 'a\nb' }, { name: '\u202eb' }, { name: 'a\ud800' }])(
  'the name %j is refused',
  async (fields) => {
    await expect(admin.createApiKey(fields)).rejects.toMatchObject({ code: 'invalid_argument' })
  },
)

test.each([
  {},
  { registeredTo: '' },
  { registeredTo: 'a\u0000' },
  { registeredTo: 'a\udc00' },
  { registeredTo: '\u00a0 ' },
  { domainOrIp: ' \u00a0' },
  { status: undefined },
  { domainOrIp: 'https://a.example/' },
  { domainOrIp: '*.a.example' },
  { status: 'invalid' },
  { resellerId: 'a b' },
])('a license is not changed to %j', async (change) => {
  await expect(admin.updateLicense(license.licenseKey, change as object)).rejects.toMatchObject({
    code: 'invalid_argument',
  })
})

test('a page mark of 1,024 characters reaches storage, a longer one does not', async () => {
  const asked: unknown[] = []
  const clients = async ({ after }: { after?: string }) => (asked.push(after?.length), { clients: [] })
  const listing = { ...(storage.listing as NonNullable<typeof storage.listing>), clients }
  const watched = createAdmin({ storage: { ...storage, listing } })
  await watched.listClients({ after: 'x'.repeat(1024) })
  await expect(watched.listClients({ after: 'x'.repeat(1025) })).rejects.toThrow(
    'after must be what an earlier page',
  )
  expect(asked).toEqual([1024])
})

const lists: Readonly<Record<string, (after: string, of: Admin) => Promise<unknown>>> = {
  clients: (after, of) => of.listClients({ after }),
  resellers: (after, of) => of.listResellers({ after }),
  credentials: (after, of) => of.listCredentials({ kind: 'api_key', after }),
  licenses: (after, of) => of.listLicenses({ after }),
}

test.each(Object.entries(lists))('a list of %s refuses what is no mark of it', async (_, list) => {
  await expect(list('\u0000', admin)).rejects.toMatchObject({
    code: 'invalid_argument',
    status: 400,
    message: 'after must be what an earlier page of this list has as next.',
  })
})

test.each(Object.entries(lists))(
  'a list of %s says what the storage lacks, whatever the mark',
  async (_, list) => {
    const storageOf = sqliteStorage(new DatabaseSync(':memory:'))
    await expect(list('5', createAdmin({ storage: storageOf }))).rejects.toMatchObject({
      name: 'StorageError',
      kind: 'invalid',
      message: expect.stringContaining('migrate()'),
    })
  },
)

test.each(['', 'a b', 'a\u0000', 'é'])('no license has the status %j', async (status) => {
  await expect(admin.listLicenses({ status })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'status must be 1 to 64 visible ASCII characters.',
  })
})
