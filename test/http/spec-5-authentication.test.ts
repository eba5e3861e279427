import { runRows, type Row } from './support/rows.ts'
import type { TestRequest } from './support/surfaces.ts'
import { licenseHeaders, type World } from './support/world.ts'

const invalidToken = { error: 'invalid_token', message: 'The bearer token is invalid, expired or revoked.' }
const missingToken = { error: 'invalid_token', message: 'The bearer token is missing.' }
const invalidKey = { error: 'invalid_api_key', message: 'The API key is invalid.' }

type Protected = (world: World, headers: Record<string, string | string[]>) => TestRequest

const update: Protected = (_, headers) => ({
  method: 'PUT',
  path: '/v2/reseller/LIC-1/update',
  headers: { 'X-Status': 'valid', ...headers },
})
const generate: Protected = (_, headers) => ({
  method: 'POST',
  path: '/v2/reseller/licenses/generate',
  headers: { ...licenseHeaders, ...headers },
})
const check: Protected = (_, headers) => ({
  method: 'GET',
  path: '/v3/tools/dnscheck',
  headers: { 'X-Domain': 'example.com', 'X-Record-Type': 'A', ...headers },
})
const lookUp: Protected = ({ game }, headers) => ({
  method: 'GET',
  path: '/v4/games/blockgame/lookup',
  headers: { 'X-Address': game.ip, 'X-Port': String(game.port), ...headers },
})

/** Rows that hold for every operation behind a bearer token. */
function bearerRows(
  operation: string,
  send: Protected,
  right: (world: World) => string,
  wrong: (world: World) => string,
): Row[] {
  const challenge = 'Bearer realm="utility-api"'
  const refuse = (
    name: string,
    headers: (world: World) => Record<string, string | string[]>,
    expected = `${challenge}, error="invalid_token"`,
  ): Row => ({
    name: `${operation}: ${name}`,
    request: (world) => send(world, headers(world)),
    status: 401,
    body: invalidToken,
    headers: { 'WWW-Authenticate': expected },
  })
  return [
    {
      name: `${operation}: no token`,
      request: (world) => send(world, {}),
      status: 401,
      body: missingToken,
      headers: { 'WWW-Authenticate': challenge },
    },
    refuse('an unknown token', () => ({ Authorization: 'Bearer unknown' })),
    refuse('a credential of another kind', (world) => ({ Authorization: `Bearer ${wrong(world)}` })),
    refuse('an API key as a token', ({ apiKey }) => ({ Authorization: `Bearer ${apiKey}` })),
    refuse('another scheme', (world) => ({ Authorization: `Basic ${right(world)}` }), challenge),
    refuse('the token alone', (world) => ({ Authorization: right(world) }), challenge),
    refuse('something after the token', (world) => ({ Authorization: `Bearer ${right(world)} x` })),
    refuse('a repeated header', (world) => ({
      Authorization: [`Bearer ${right(world)}`, `Bearer ${right(world)}`],
    })),
    {
      name: `${operation}: a token in the query`,
      request: (world) => {
        const request = send(world, {})
        return { ...request, path: `${request.path}?access_token=${right(world)}` }
      },
      status: 401,
      body: missingToken,
    },
    {
      name: `${operation}: credentials are judged before the input`,
      request: (world) => ({ ...send(world, {}), headers: { Authorization: 'Bearer unknown' } }),
      status: 401,
      body: invalidToken,
    },
  ]
}

const keyRows: Row[] = [
  ...Object.entries({
    'an unknown key': () => ({ Basic: 'unknown' }),
    'a reseller token as a key': ({ resellerToken }: World) => ({ Basic: resellerToken }),
    'something after the key': ({ apiKey }: World) => ({ Basic: `${apiKey} x` }),
    'a repeated header': ({ apiKey }: World) => ({ Basic: [apiKey, apiKey] }),
  }).map(([name, headers]): Row => ({
    name: `lookup: ${name}`,
    request: (world) => lookUp(world, headers(world) as Record<string, string | string[]>),
    status: 401,
    body: invalidKey,
    headers: { 'WWW-Authenticate': 'ApiKey realm="utility-api", header="Basic"' },
  })),
  {
    name: 'lookup: no key',
    request: (world) => lookUp(world, {}),
    status: 401,
    body: { error: 'invalid_api_key', message: 'The API key is missing.' },
    headers: { 'WWW-Authenticate': 'ApiKey realm="utility-api", header="Basic"' },
  },
  {
    name: 'lookup: the key as a bearer token',
    request: (world) => lookUp(world, { Authorization: `Bearer ${world.apiKey}` }),
    status: 401,
    body: { error: 'invalid_api_key', message: 'The API key is missing.' },
  },
  {
    name: 'lookup: a key without the permission',
    request: (world) => lookUp(world, { Basic: world.weakApiKey }),
    status: 401,
    body: { error: 'invalid_api_key', message: 'The API key lacks the permission.' },
  },
]

const accepted: Row[] = [
  {
    name: 'the scheme is case-insensitive',
    request: (world) => generate(world, { Authorization: `bEaReR  ${world.resellerToken}` }),
    status: 200,
  },
  {
    name: 'a bearer token opens the DNS check',
    request: (world) => check(world, { Authorization: `Bearer ${world.accessToken}` }),
    status: 200,
  },
  { name: 'a key opens the lookup', request: (world) => lookUp(world, { Basic: world.apiKey }), status: 200 },
]

runRows('Section 5', [
  ...bearerRows(
    'update',
    update,
    (world) => world.resellerToken,
    (world) => world.accessToken,
  ),
  ...bearerRows(
    'generate',
    generate,
    (world) => world.resellerToken,
    (world) => world.accessToken,
  ),
  ...bearerRows(
    'DNS check',
    check,
    (world) => world.accessToken,
    (world) => world.resellerToken,
  ),
  ...keyRows,
  ...accepted,
])

runRows(
  'Section 5 with a required scope',
  [
    {
      name: 'the DNS check refuses a token without it',
      request: (world) => check(world, { Authorization: `Bearer ${world.accessToken}` }),
      status: 403,
      body: { error: 'insufficient_scope', message: 'The access token lacks the scope dns:other.' },
      headers: {
        'WWW-Authenticate': 'Bearer realm="utility-api", error="insufficient_scope", scope="dns:other"',
      },
    },
  ],
  { dns: { requiredScope: 'dns:other' } },
)
