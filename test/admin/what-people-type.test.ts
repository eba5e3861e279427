import { DatabaseSync } from 'node:sqlite'
import { createAdmin, type Admin, type AdminStorage } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'

// What somebody typed into a form reaches `admin` in each field. It is a 400 with a sentence, or it is done, and never
// what an error handler takes for a failure of the server.

const typed = [
  '',
  ' ',
  'a b',
  ' a',
  'a\n',
  'a\u0000',
  '\u0000',
  '\ud800',
  '\u202ea',
  'é',
  '😀',
  '-1',
  "'; DROP TABLE utility_api_licenses; --",
  '%00',
  '1:\u0000',
  '0:\ud800',
  'https://a.example/',
  '*.a.example',
  '0300.0.2.1',
  'x'.repeat(256),
  '😀'.repeat(256),
  'x'.repeat(100_000),
]

type Asking = Exclude<
  keyof Admin,
  'authorizationServerMetadata' | 'protectedResourceMetadata' | 'purgeExpired'
>
type Arguments = readonly (string | Readonly<Record<string, unknown>>)[]

const code = { clientId: 'client', redirectUri: 'https://a.example/', scope: 'a' }
const asked = { ...code, kind: 'ask', state: 's', codeChallenge: 'c'.repeat(43) }
const page = { after: '1', limit: 5 }

/** Arguments with which each method does something. */
const right: { readonly [Method in Asking]: Arguments } = {
  createClient: [
    { name: 'a', redirectUris: [code.redirectUri], clientId: 'new', clientSecret: 's'.repeat(32) },
  ],
  updateClient: ['client', { name: 'a', redirectUris: [code.redirectUri] }],
  rotateClientSecret: ['client'],
  revokeClient: ['none'],
  readAuthorizationRequest: [
    { client_id: 'client', scope: 'a' },
    { scopes: ['a'], defaultScope: 'a' },
  ],
  grantAuthorization: [asked, { subject: 'a', scope: 'a' }],
  denyAuthorization: [asked, { error: 'login_required', description: 'a' }],
  issueAuthorizationCode: [{ ...code, subject: 'a', codeChallenge: 'c'.repeat(43), lifetimeSeconds: 5 }],
  createReseller: [{ name: 'a', resellerId: 'new', tokenLifetimeSeconds: 5 }],
  createResellerToken: ['shop', { lifetimeSeconds: 5 }],
  createAccessToken: [{ scope: 'a', clientId: 'client', subject: 'a', lifetimeSeconds: 5 }],
  createApiKey: [{ name: 'a', permissions: ['a'], lifetimeSeconds: 5 }],
  revoke: [{ id: 'a' }],
  revokeAccess: [{ subject: 'a' }],
  listClients: [page],
  listResellers: [page],
  listCredentials: [{ kind: 'api_key', ownerId: 'a', ...page }],
  listLicenses: [{ resellerId: 'shop', domainOrIp: 'a.example', status: 'valid', reference: 'a', ...page }],
  countLicenses: [{ resellerId: 'shop' }],
  createLicense: [
    {
      resellerId: 'shop',
      registeredTo: 'Ada',
      domainOrIp: 'a.example',
      status: 'valid',
      reference: 'a',
      licenseKey: 'a',
    },
  ],
  getLicense: ['LIC-1'],
  updateLicense: [
    'LIC-1',
    { registeredTo: 'Ada', domainOrIp: 'a.example', status: 'valid', resellerId: 'shop', reference: 'a' },
  ],
  deleteLicense: ['LIC-1'],
}

/** Every way to put something else into one field of the arguments. */
function* withOneField(args: Arguments, values: readonly unknown[]): Generator<readonly unknown[]> {
  for (const [index, argument] of args.entries()) {
    if (typeof argument === 'string') for (const value of values) yield args.with(index, value as string)
    else
      for (const [name, before] of Object.entries(argument))
        for (const value of values)
          yield args.with(index, { ...argument, [name]: Array.isArray(before) ? [value] : value })
  }
}

function queryOf(args: readonly unknown[]): readonly unknown[] {
  const [query, ...others] = args
  return [new URLSearchParams(query as Record<string, string>), ...others]
}

async function sqlite(): Promise<AdminStorage> {
  const storage = sqliteStorage(new DatabaseSync(':memory:'))
  await storage.migrate()
  return storage
}

const stores: Readonly<Record<string, () => AdminStorage | Promise<AdminStorage>>> = {
  memory: memoryStorage,
  sqlite,
}
const cases = Object.keys(stores).flatMap((store) =>
  Object.keys(right).map((method) => [method as Asking, store] as const),
)

test.each(cases)('%s on %s', async (method, store) => {
  const admin = createAdmin({ storage: await (stores[store] as () => AdminStorage)() })
  await admin.createClient({ clientId: 'client', redirectUris: [code.redirectUri] })
  await admin.createReseller({ resellerId: 'shop' })
  const call = admin[method] as (...args: readonly unknown[]) => Promise<unknown>
  const numbers = [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53]
  let refused = 0
  for (const args of withOneField(right[method], [...typed, ...numbers])) {
    const given = method === 'readAuthorizationRequest' ? queryOf(args) : args
    // One after another: what one does, such as revoking the client, others see.
    // oxlint-disable-next-line no-await-in-loop
    const error = await call(...given).then(
      () => null,
      (thrown: unknown) => thrown as Error,
    )
    if (error === null) continue
    refused += 1
    expect(error).toMatchObject({ name: 'UtilityApiError' })
    expect((error as { code?: string }).code).toBeOneOf(['invalid_argument', 'idempotency_mismatch'])
    expect((error as { status?: number }).status).toBeOneOf([400, 422])
    expect(error.message).toMatch(/^\w[^]*\.$/)
    expect(error.message.length).toBeLessThan(400)
  }
  expect(refused).toBeGreaterThan(0)
})
