import fc from 'fast-check'
import { createAdmin, createUtilityApi, type UtilityApiError } from 'utility-api'
import { expect, test } from 'vitest'
import { called, type Loose } from './support/mistake.ts'
import { admin, storage } from './support/values.ts'

/** How the schema library says it. */
const itsWords =
  /Invalid (?:input|option|string|key|element|value)|[Ee]xpected|received|Unrecognized|Too (?:big|small)|pattern/

const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true })
const objectOf = (names: readonly string[]): fc.Arbitrary<unknown> =>
  fc.dictionary(fc.constantFrom(...names), anything, { maxKeys: 3 })

const nested: Readonly<Record<string, readonly string[]>> = {
  oauth: ['accessTokenLifetimeSeconds', 'onReplay', 'issuer'],
  licenses: ['keyPrefix', 'statuses', 'allowWildcards', 'issuer', 'signingKey'],
  dns: ['locations', 'timeoutMs', 'cacheTtlMs', 'maxConcurrentPerResolver', 'requiredScope', 'client'],
  blockgame: [
    'timeoutMs',
    'client',
    'allowAddress',
    'resolvers',
    'protocolVersion',
    'details',
    'requiredPermission',
  ],
}
const flat = [
  'storage',
  'basePath',
  'clock',
  'keyGenerator',
  'storageTimeoutMs',
  'maxInFlight',
  'maxAnswerBytes',
  'rateLimiter',
  'logger',
  'onRequestEnd',
  'errorBody',
  'nonsense',
]
const options = fc.record(
  {
    ...Object.fromEntries(flat.map((name) => [name, anything])),
    ...Object.fromEntries(
      Object.entries(nested).map(([name, names]) => [name, fc.oneof(anything, objectOf(names))]),
    ),
    storage: fc.oneof({ weight: 4, arbitrary: fc.constant(storage) }, { weight: 1, arbitrary: anything }),
  },
  { requiredKeys: [] },
)

const factories = { createUtilityApi, createAdmin }

test.each(Object.entries(factories))('whatever is given to %s, the words are ours', (_, factory) => {
  fc.assert(
    fc.property(fc.oneof(options, anything), (given) => {
      try {
        called(factory, given)()
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_options' })
        // Without what it repeats: a name that nobody knows.
        expect((error as Error).message.replace(/^[^:]*:/, '')).not.toMatch(itsWords)
      }
    }),
    { numRuns: 200 },
  )
})

const members = [
  'clientId',
  'redirectUris',
  'name',
  'scope',
  'subject',
  'resellerId',
  'registeredTo',
  'domainOrIp',
  'status',
  'licenseKey',
  'limit',
  'after',
  'kind',
  'ownerId',
  'permissions',
  'lifetimeSeconds',
  'reference',
  'expiresAt',
  'secret',
  'id',
  'state',
  'codeChallenge',
  'redirectUri',
  'scopes',
]

test.each(Object.keys(admin))('whatever is given to admin.%s, the words are ours', async (name) => {
  const method = admin[name as keyof typeof admin] as Loose
  const argument = fc.oneof(objectOf(members), fc.string(), anything)
  await fc.assert(
    fc.asyncProperty(fc.array(argument, { maxLength: 2 }), async (args) => {
      const error = await (async () => method(...args))().then(
        () => null,
        (thrown: unknown) => thrown as Error,
      )
      if (error === null) return
      expect(error).toMatchObject({ name: 'UtilityApiError', code: 'invalid_argument', status: 400 })
      expect(error.message.startsWith(`${(error as UtilityApiError).argument}`)).toBe(true)
      expect(error.message.replaceAll(/"[^"]*"/g, '')).not.toMatch(itsWords)
    }),
    { numRuns: 50 },
  )
})

const nobody = (): Promise<never> => Promise.reject(new Error('nobody is asked'))
const offline = createUtilityApi({
  storage,
  dns: { client: { query: nobody, close: async () => {} } },
  blockgame: { client: { status: nobody, close: async () => {} } },
})

test.each(['checkDns', 'lookUpGameServer'] as const)(
  'whatever is given to api.%s, the words are ours',
  async (name) => {
    const fields = ['domain', 'recordType', 'address', 'port', 'signal', 'caller', 'onAnswer']
    const argument = fc.oneof(objectOf(fields), objectOf(fields.slice(0, 4)), anything)
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 2 }), async (args) => {
        const error = await (async () => (offline[name] as Loose)(...args))().then(
          () => null,
          (thrown: unknown) => thrown as Error,
        )
        expect(error?.message ?? '').not.toMatch(itsWords)
      }),
      { numRuns: 200 },
    )
  },
)

test('whatever is sent to the token endpoint, the words are ours', async () => {
  const fields = ['grant_type', 'code', 'redirect_uri', 'client_id', 'client_secret', 'code_verifier']
  const value = fc.oneof(fc.constantFrom('authorization_code', 'client'), fc.jsonValue())
  const body = fc.oneof(fc.dictionary(fc.constantFrom(...fields), value), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const response = await offline.fetch(
        new Request('http://localhost/v4/oauth2/token', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(sent),
        }),
      )
      expect(response.status).toBeOneOf([400, 401])
      expect(await response.text()).not.toMatch(itsWords)
    }),
    { numRuns: 200 },
  )
})
