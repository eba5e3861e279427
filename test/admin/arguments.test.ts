import { createAdmin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'

const admin = createAdmin({ storage: memoryStorage() })
const redirectUris = ['https://a.example/']
const code = { clientId: 'a', redirectUri: 'https://a.example/' }
const asked = { ...code, scope: '', state: null, codeChallenge: null }

/** Arguments that TypeScript refuses, and what JavaScript is told. */
const mistakes: [method: keyof typeof admin, args: unknown[], says: string][] = [
  ['createClient', [], 'client must be an object, as in { redirectUris }.'],
  ['createClient', [{}], 'redirectUris must be an array of strings.'],
  [
    'createClient',
    [{ redirectUri: 'https://a.example/' }],
    'redirectUri is not known here; redirectUris is.',
  ],
  ['createClient', [{ redirectUris: 'https://a.example/' }], 'redirectUris must be an array of strings.'],
  [
    'createClient',
    [{ redirectUris, secret: 'a' }],
    'secret is not known here, only name, redirectUris, clientType, clientId, clientSecret.',
  ],
  ['createClient', [{ redirectUris: [7] }], 'redirectUris.0 must be a string.'],
  ['updateClient', ['a', { redirectUri: 'a' }], 'redirectUri is not known here; redirectUris is.'],
  ['updateClient', [undefined, {}], 'clientId must be a string.'],
  ['rotateClientSecret', [{ clientId: 'a' }], 'clientId must be a string.'],
  ['revokeClient', [], 'clientId must be a string.'],
  [
    'readAuthorizationRequest',
    [{ client_id: 'a' }, { scopes: [] }],
    'query must be URLSearchParams: write new URL(request.url, issuer).searchParams.',
  ],
  ['readAuthorizationRequest', [new URLSearchParams()], 'options must be an object, as in { scopes }.'],
  [
    'readAuthorizationRequest',
    [new URLSearchParams(), { scopes: [], defaultScopes: 'a' }],
    'defaultScopes is not known here; defaultScope is.',
  ],
  ['grantAuthorization', [asked, { subject: 42 }], 'subject must be a string.'],
  ['grantAuthorization', [{ ...asked, codeChallenge: undefined }], 'codeChallenge must be a string or null.'],
  ['grantAuthorization', [{ ...asked, state: undefined }], 'state must be a string or null.'],
  ['grantAuthorization', [null], 'request must be an object.'],
  ['issueAuthorizationCode', [code], "scope must be a string, '' for none."],
  [
    'createReseller',
    [{ title: 'a' }],
    'title is not known here, only name, resellerId, tokenLifetimeSeconds.',
  ],
  ['createResellerToken', [7], 'resellerId must be a string.'],
  ['createAccessToken', [], 'token must be an object, as in { scope }.'],
  ['createAccessToken', [{}], "scope must be a string, '' for none."],
  ['createAccessToken', [{ scopes: ['a'] }], 'scopes is not known here; scope is.'],
  [
    'createAccessToken',
    [{ scope: '', lifetimeMs: 5 }],
    'lifetimeMs is not known here, only scope, lifetimeSeconds, clientId, subject.',
  ],
  ['createReseller', ['Example Hosting'], 'reseller must be an object, as in { name }.'],
  ['listLicenses', [10], 'page must be an object, as in { limit }.'],
  ['createApiKey', [{ permissions: 'a' }], 'permissions must be an array of strings.'],
  ['createApiKey', [new Map([['name', 'a']])], 'key must be an object, as in { name }.'],
  ['createApiKey', [['a']], 'key must be an object, as in { name }.'],
  ['revoke', ['a'], 'which must be either { id } or { secret }.'],
  ['revoke', [{ token: 'a' }], 'which must be either { id } or { secret }.'],
  [
    'revokeAccess',
    [{ subject: undefined }],
    'which must be either { clientId }, { subject } or { resellerId }.',
  ],
  [
    'revokeAccess',
    [{ clientId: 'a', resellerId: 'b' }],
    'which must be either { clientId }, { subject } or { resellerId }.',
  ],
  ['getLicense', [7], 'licenseKey must be a string.'],
  [
    'updateLicense',
    ['LIC-1', { owner: 'a' }],
    'owner is not known here, only registeredTo, domainOrIp, status, resellerId, reference, expiresAt.',
  ],
  ['denyAuthorization', [{}], 'clientId must be a string.'],
  ['denyAuthorization', [{ ...code, scope: '' }], 'state must be a string or null.'],
  ['denyAuthorization', [asked, 'login_required'], 'reason must be an object, as in { error }.'],
  ['denyAuthorization', [asked, { code: 'x' }], 'code is not known here, only error, description.'],
  ['listClients', [{ limit: '5' }], 'limit must be a number.'],
  ['listCredentials', [], 'page must be an object, as in { kind }.'],
  ['countLicenses', [{ status: 'valid' }], 'status is not known here, only resellerId.'],
]

test.each(mistakes)('%s(...%j) says: %s', async (method, args, says) => {
  const call = admin[method] as (...values: unknown[]) => Promise<unknown>
  await expect(call(...args)).rejects.toMatchObject({ code: 'invalid_argument', status: 400, message: says })
})

test('authorizationServerMetadata, which returns at once, throws at once', () => {
  expect(() => admin.authorizationServerMetadata({} as never)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message: 'authorizationEndpoint must be a string.' }),
  )
})
