import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import { createAdmin, createUtilityApi, UtilityApiError } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { beforeAll, expect, test } from 'vitest'

// A gateway that reads the document must let through what the service accepts, and as little else as can be said in it.
// The document is read by a validator that knows nothing of zod.

interface Parameter {
  readonly name: string
  readonly schema: AnySchema
}
interface Operation {
  readonly security: object[]
  readonly parameters: readonly (Parameter | { $ref: string })[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: AnySchema }> }
  readonly responses: Record<string, { content: Record<string, { readonly schema: AnySchema }> }>
}

const ajv = new Ajv2020({ strict: true })
const redirectUri = 'https://shop.example/callback'
const storage = memoryStorage()
const admin = createAdmin({ storage })
const answer = { status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 1 } as const
const locations = [{ location: 'Here', ip: '127.0.0.1', provider: 'Nobody' }]
const api = createUtilityApi({
  storage,
  dns: { locations, client: { query: async () => answer, close: async () => {} } },
  blockgame: {
    client: {
      status: () => Promise.reject(new UtilityApiError('server_check_failed', 'It is down.')),
      close: async () => {},
    },
  },
})
const document = api.openapi() as unknown as { paths: Record<string, Record<string, Operation>> }

let client: { clientId: string; clientSecret: string }
let credentials: Record<string, Record<string, string>>

beforeAll(async () => {
  client = await admin.createClient({ redirectUris: [redirectUri] })
  const { token } = await admin.createReseller()
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const { apiKey } = await admin.createApiKey()
  const reseller = { Authorization: `Bearer ${token}` }
  credentials = {
    '/v2/reseller/licenses/generate': reseller,
    '/v2/reseller/{license_key}/update': reseller,
    '/v3/tools/dnscheck': { Authorization: `Bearer ${accessToken}` },
    '/v4/games/blockgame/lookup': { Basic: apiKey },
  }
})

function operationAt(path: string): { method: string; operation: Operation } {
  const [[method, operation] = []] = Object.entries(document.paths[path] ?? {})
  if (method === undefined || operation === undefined) throw new Error(`${path} is not described.`)
  return { method: method.toUpperCase(), operation }
}

/** Whether the service takes these headers: what it answers is not that one of them is wrong. */
async function takesHeaders(path: string, headers: Record<string, string>): Promise<boolean> {
  const { method } = operationAt(path)
  // In a header, text is sent as the octets of its UTF-8.
  const octets = Object.entries(headers).map(([name, text]) => [name, Buffer.from(text).toString('latin1')])
  const all = { ...credentials[path], ...Object.fromEntries(octets) }
  const url = `http://localhost${path.replace('{license_key}', 'LIC-1')}`
  return (await api.fetch(new Request(url, { method, headers: all }))).status !== 400
}

function allows(path: string, name: string, value: string): boolean {
  const { operation } = operationAt(path)
  const parameter = operation.parameters.find((each) => 'name' in each && each.name === name) as Parameter
  return ajv.validate(parameter.schema, value) as boolean
}

const visible = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))
const within = (before: string, after: string): string[] => visible.map((each) => before + each + after)
const license = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }
const check = { 'X-Domain': 'shop.example', 'X-Record-Type': 'A' }
const types = ['A', 'AAAA', 'MX', 'NS', 'PTR', 'CNAME', 'SOA', 'TXT', 'SRV', 'CAA', 'DS', 'DNSKEY']

/** By header: its values, and those that the service refuses although no schema of ours says so. */
const headers: Record<
  string,
  { path: string; others: object; values: string[]; onlyRefused?: string[]; onlyTaken?: string[] }
> = {
  'X-Registered-To': {
    path: '/v2/reseller/licenses/generate',
    others: license,
    values: [
      ...within('A', 'a'),
      'A\ta',
      'x'.repeat(255),
      'x'.repeat(256),
      '𝒳'.repeat(255),
      'A\u202ea',
      'Zoë',
    ],
  },
  'X-Domain-Or-IP': {
    path: '/v2/reseller/licenses/generate',
    others: license,
    values: [...within('sho', 'p.example'), '::1', '192.0.2.1', 'bücher.example', `${'a.'.repeat(128)}a`],
    onlyRefused: ['sho:p.example'],
  },
  'X-Status': {
    path: '/v2/reseller/{license_key}/update',
    others: {},
    values: ['valid', 'invalid', 'VALID', 'other'],
  },
  'Idempotency-Key': {
    path: '/v2/reseller/licenses/generate',
    others: license,
    values: [...within('a', 'b'), 'x'.repeat(255), 'x'.repeat(256)],
  },
  'X-Domain': {
    path: '/v3/tools/dnscheck',
    others: check,
    values: [
      ...within('sho', 'p.example'),
      'bücher.example',
      'a\\ b.example',
      'a\\@b.example',
      'x'.repeat(1100),
    ],
  },
  'X-Record-Type': {
    path: '/v3/tools/dnscheck',
    others: check,
    values: [...types, ...types.map((type) => type.toLowerCase()), 'ANY', 'HTTPS', 'ſrv', 'Mx', 'A A'],
    // Twelve words in each mixture of cases would be no list anymore.
    onlyTaken: ['Mx'],
  },
  'X-Address': {
    path: '/v4/games/blockgame/lookup',
    others: {},
    values: [
      ...within('sho', 'p.example'),
      '[2001:db8::1]:25565',
      '192.0.2.1:1',
      'a.example:x',
      'a'.repeat(300),
    ],
    onlyRefused: ['sho:p.example', 'sho[p.example', 'sho]p.example', 'a.example:x'],
  },
  'X-Port': {
    path: '/v4/games/blockgame/lookup',
    others: { 'X-Address': 'a.example' },
    values: ['1', '25565', '65535', '65536', '0', '080', '+80', '8.0', '80 ', '100000'],
  },
}

test.for(Object.entries(headers))(
  '%s: the document forbids what is refused, and nothing else',
  async ([name, one]) => {
    const differing = { onlyRefused: [] as string[], onlyTaken: [] as string[] }
    for (const value of one.values.map((each) => each.trim())) {
      // oxlint-disable-next-line no-await-in-loop
      const taken = await takesHeaders(one.path, { ...one.others, [name]: value })
      const allowed = allows(one.path, name, value)
      if (allowed && !taken) differing.onlyRefused.push(value)
      if (!allowed && taken) differing.onlyTaken.push(value)
    }
    expect(differing).toEqual({ onlyRefused: one.onlyRefused ?? [], onlyTaken: one.onlyTaken ?? [] })
  },
)

test('it allows wildcards where licenses may have them', () => {
  const path = '/v2/reseller/licenses/generate'
  const { paths } = createUtilityApi({ storage, licenses: { allowWildcards: true } }).openapi()
  const operation = paths[path]?.['post'] as unknown as Operation
  const { schema } = operation.parameters[1] as Parameter
  const allowed = ['*.shop.example', 'shop.example', '*shop.example', 'shop.*'].filter((value) =>
    ajv.validate(schema, value),
  )
  expect(allowed).toEqual(['*.shop.example', 'shop.example'])
})

const token = '/v4/oauth2/token'

async function exchange(
  members: Record<string, string | undefined>,
  basic = false,
): Promise<{ allowed: boolean; status: number; error: unknown }> {
  const body = JSON.parse(
    JSON.stringify({ grant_type: 'authorization_code', code: 'x', redirect_uri: redirectUri, ...members }),
  ) as object
  const credential = Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')
  const request = new Request(`http://localhost${token}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(basic && { Authorization: `Basic ${credential}` }),
    },
    body: JSON.stringify(body),
  })
  const response = await api.fetch(request)
  const { error } = (await response.json()) as { error: unknown }
  const schema = operationAt(token).operation.requestBody?.content['application/json']?.schema ?? false
  return { allowed: ajv.validate(schema, body) as boolean, status: response.status, error }
}

test('a client may authenticate by its body or by Basic, as the document says', async () => {
  const { clientId: client_id, clientSecret: client_secret } = client
  const passed = { allowed: true, status: 400, error: 'invalid_grant' }
  expect(await exchange({ client_id, client_secret })).toEqual(passed)
  expect(await exchange({}, true)).toEqual(passed)
  expect(await exchange({ client_id }, true)).toEqual(passed)
  expect(await exchange({ client_id, client_secret }, true)).toEqual(passed)
  expect(operationAt(token).operation.security).toEqual([{ client: [] }, {}])
})

test.each([
  ['grant_type', 'password'],
  ['grant_type', undefined],
  ['code', 'é'],
  ['code', undefined],
  ['redirect_uri', ''],
  ['code_verifier', 'short'],
  ['code_verifier', 'x'.repeat(129)],
  ['client_id', 'é'],
  ['client_id', 'x'.repeat(256)],
  ['client_secret', 'é'],
])('the document forbids the %s %j, which is refused', async (name, value) => {
  const { clientId: client_id, clientSecret: client_secret } = client
  const { allowed, error } = await exchange({ client_id, client_secret, [name]: value })
  expect({ allowed, refused: error !== 'invalid_grant' }).toEqual({ allowed: false, refused: true })
})

test.each(['/v2/reseller//update', '/v2/reseller/%zz/update'])(
  'what %s answers is in the document of the update',
  async (path) => {
    const response = await api.fetch(new Request(`http://localhost${path}`, { method: 'PUT' }))
    const { responses } = operationAt('/v2/reseller/{license_key}/update').operation
    const schema = responses[response.status]?.content['application/json']?.schema ?? false
    expect(ajv.validate(schema, await response.json()), JSON.stringify(schema)).toBe(true)
  },
)
