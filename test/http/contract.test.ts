/** What every mount owes beside the five operations: paths, methods, header bytes. */
import { expect } from 'vitest'
import { isInstalled } from '../hosts/hosts.ts'
import { runRows, type Row } from './support/rows.ts'
import { allSurfaces } from './support/surfaces.ts'
import { generateRequest, licenseHeaders, type World } from './support/world.ts'

if (allSurfaces && !isInstalled) console.warn('Skipped: install the hosts with npm ci --prefix test/hosts.')

const checkPath = '/v3/tools/dnscheck'
const updatePath = '/v2/reseller/LIC-1/update'
const notFound = { error: 'not_found', message: 'There is nothing at this path.' }
const safeId = /^[\w-]{36}$/

const paths: Row[] = [
  ...[
    '/',
    '/v3',
    `${checkPath}/`,
    `/${checkPath}`,
    '/v3/tools/%64nscheck',
    '/V3/tools/dnscheck',
    '/v1/x',
  ].map((path): Row => ({
    name: `path ${path}`,
    request: () => ({ method: 'GET', path }),
    status: 404,
    body: notFound,
    headers: { 'X-Request-Id': safeId, 'Content-Type': 'application/json', 'WWW-Authenticate': null },
  })),
  ...['/v2/reseller//update', '/v2/reseller/a/b/update', `${updatePath}/x`].map((path): Row => ({
    name: `path ${path}`,
    request: () => ({ method: 'PUT', path }),
    status: 404,
    body: notFound,
  })),
  {
    name: 'a query changes nothing',
    request: ({ accessToken }) => ({ ...check(accessToken), path: `${checkPath}?a=1&/v2/x?b` }),
    status: 200,
  },
  {
    name: 'a percent-encoded license key is decoded once',
    request: async (world) => {
      const key = await world.generate()
      return { ...update(world, encodeEach(key)), headers: updateHeaders(world) }
    },
    status: 200,
  },
  {
    name: 'an encoded slash stays inside the license key',
    request: (world) => update(world, 'LIC-1%2Fupdate'),
    status: 404,
    check: (_, { json }) => expect(json).toMatchObject({ error: 'license_not_found' }),
  },
]

const methods: Row[] = [
  ...['POST', 'PUT', 'DELETE', 'PATCH'].map((method): Row => ({
    name: `${method} on a GET path`,
    request: () => ({ method, path: checkPath }),
    status: 405,
    body: { error: 'method_not_allowed', message: 'The method must be one of GET, HEAD, OPTIONS.' },
    headers: { Allow: 'GET, HEAD, OPTIONS' },
  })),
  {
    name: 'GET on the token endpoint, in its own words',
    request: () => ({ method: 'GET', path: '/v4/oauth2/token' }),
    status: 405,
    body: { error: 'invalid_request', error_description: 'The method must be one of POST, OPTIONS.' },
    headers: { Allow: 'POST, OPTIONS', 'Cache-Control': 'no-store' },
  },
  ...Object.entries({
    '/v4/oauth2/token': 'POST, OPTIONS',
    [updatePath]: 'PUT, OPTIONS',
    '/v2/reseller/licenses/generate': 'POST, OPTIONS',
    [checkPath]: 'GET, HEAD, OPTIONS',
    '/v4/games/blockgame/lookup': 'GET, HEAD, OPTIONS',
  }).map(([path, Allow]): Row => ({
    name: `OPTIONS ${path}`,
    request: () => ({ method: 'OPTIONS', path }),
    status: 204,
    headers: { Allow, 'Content-Type': null },
    check: (_, { text }) => expect(text).toBe(''),
  })),
  {
    name: 'HEAD is GET without its body',
    request: ({ accessToken }) => ({ ...check(accessToken), method: 'HEAD' }),
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Content-Length': /^[1-9]\d*$/ },
    check: (_, { text }) => expect(text).toBe(''),
  },
  {
    name: 'HEAD without credentials',
    request: () => ({ method: 'HEAD', path: checkPath }),
    status: 401,
    headers: { 'WWW-Authenticate': /^Bearer/, 'Content-Length': /^[1-9]\d*$/ },
    check: (_, { text }) => expect(text).toBe(''),
  },
  {
    name: 'HEAD where there is no GET',
    request: () => ({ method: 'HEAD', path: updatePath }),
    status: 405,
    headers: { Allow: 'PUT, OPTIONS' },
    check: (_, { text }) => expect(text).toBe(''),
  },
]

const octets = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Text in a header, as octets, comes back as what its sender meant. */
const headerBytes: Row[] = [
  ...Object.entries({
    'UTF-8': [octets('Università'), 'Università'],
    'UTF-8 ending in octet A0': [octets('Università '.trim()), 'Università'],
    'Latin-1': ['Universit\u00e0', 'Università'],
    'UTF-8 beyond the BMP': [octets('名前 😀'), '名前 😀'],
    'no-break spaces inside': [octets('a\u00a0b'), 'a\u00a0b'],
    'no-break spaces around, in UTF-8': [octets('\u00a0a\u00a0'), 'a'],
    'a comma': ['Lovelace, Ada', 'Lovelace, Ada'],
  }).map(([name, [sent, meant]]): Row => ({
    name: `header text: ${name}`,
    request: ({ resellerToken }) => generateRequest(resellerToken, { 'X-Registered-To': sent ?? '' }),
    status: 200,
    check: (_, { json }) => expect(json).toMatchObject({ data: { registered_to: meant } }),
  })),
  {
    name: 'header names in any case',
    request: ({ resellerToken }) => ({
      method: 'POST',
      path: '/v2/reseller/licenses/generate',
      headers: Object.fromEntries(
        Object.entries({ Authorization: `Bearer ${resellerToken}`, ...licenseHeaders }).map(
          ([name, value]) => [name.toUpperCase(), value],
        ),
      ),
    }),
    status: 200,
  },
  {
    name: 'a request id is taken over',
    request: () => ({ method: 'GET', path: checkPath, headers: { 'X-Request-Id': 'trace.1:2/3+4=~' } }),
    status: 401,
    headers: { 'X-Request-Id': 'trace.1:2/3+4=~' },
  },
  ...['a b', 'x'.repeat(65), 'a"b', octets('ä')].map((id): Row => ({
    name: `a request id is not taken over: ${JSON.stringify(id)}`,
    request: () => ({ method: 'GET', path: checkPath, headers: { 'X-Request-Id': id } }),
    status: 401,
    headers: { 'X-Request-Id': safeId },
  })),
]

const bodies: Row[] = [
  ...['x', 'x'.repeat(70_000)].map((body): Row => ({
    name: `a body of ${body.length} bytes where none belongs is ignored`,
    request: async (world) => ({ ...update(world, await world.generate()), body }),
    status: 200,
  })),
  {
    name: 'a body with a refusal before it is read',
    request: () => ({ method: 'PUT', path: updatePath, body: 'x'.repeat(70_000) }),
    status: 401,
  },
  {
    name: 'a body to nowhere',
    request: () => ({ method: 'POST', path: '/nowhere', body: 'x'.repeat(70_000) }),
    status: 404,
    body: notFound,
  },
]

function check(token: string) {
  return {
    method: 'GET',
    path: checkPath,
    headers: { Authorization: `Bearer ${token}`, 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
  }
}

function updateHeaders({ resellerToken }: World): Record<string, string> {
  return { Authorization: `Bearer ${resellerToken}`, 'X-Status': 'invalid' }
}

function update(world: World, key: string) {
  return { method: 'PUT', path: `/v2/reseller/${key}/update`, headers: updateHeaders(world) }
}

function encodeEach(text: string): string {
  return Buffer.from(text).toString('hex').replaceAll(/../g, '%$&')
}

runRows('Every mount', [...paths, ...methods, ...headerBytes, ...bodies], {}, true)

runRows(
  'Every mount with a base path',
  [
    {
      name: 'the base path is stripped',
      request: ({ accessToken }) => ({ ...check(accessToken), path: `/base${checkPath}` }),
      status: 200,
    },
    {
      name: 'it need not be there',
      request: ({ accessToken }) => check(accessToken),
      status: 200,
    },
    {
      name: 'it is stripped once',
      request: () => ({ method: 'GET', path: `/base/base${checkPath}` }),
      status: 404,
    },
    {
      name: 'it ends at a slash',
      request: () => ({ method: 'GET', path: `/basement${checkPath}` }),
      status: 404,
    },
  ],
  { basePath: '/base' },
)
