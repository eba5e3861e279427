import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import type { DnsRecord, RecordType } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeDnsServer } from 'utility-api/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestAnswer, TestRequest } from './support/surfaces.ts'
import { createWorld, licenseHeaders, type World, type WorldOptions } from './support/world.ts'
import { tokenFields } from './support/token-request.ts'

// The document is read here by a validator that knows nothing of zod: what we promise against what we send.

interface MediaType {
  readonly schema?: AnySchema
  readonly example?: unknown
  readonly examples?: Record<string, { value: unknown }>
}
interface Header {
  readonly required?: boolean
  readonly schema: AnySchema
  readonly example?: string
}
interface Response {
  readonly headers: Record<string, Header | { readonly $ref: string }>
  readonly content: Record<string, MediaType>
}
interface Parameter {
  readonly name: string
  readonly schema: AnySchema
  readonly example: unknown
}
interface Operation {
  readonly parameters: (Parameter | { $ref: string })[]
  readonly requestBody?: { readonly content: Record<string, MediaType> }
  readonly responses: Record<string, Response>
}
interface Described {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly headers: Record<string, Header> }
}

const ajv = new Ajv2020({ strict: true, allErrors: true })

let world: World
let broken: World
let limited: World
let described: Described

beforeAll(async () => {
  world = await createWorld('Node http', { lookupTimeoutMs: 300, ...withScope() })
  const storage = {
    ...memoryStorage(),
    findCredential: () => Promise.reject(new StorageError('unavailable', 'gone')),
    findClient: () => Promise.reject(new StorageError('unavailable', 'gone')),
  }
  broken = await createWorld('Node http', { storage })
  limited = await createWorld('Node http', {
    rateLimiter: { consume: async () => ({ allowed: false, retryAfterSeconds: 7 }) },
  })
  described = world.api.openapi() as unknown as Described
})

afterAll(() => Promise.all([world.close(), broken.close(), limited.close()]))

function withScope(): WorldOptions {
  const locations = [{ location: 'Here', ip: '127.0.0.1', port: 9, provider: 'Nobody' }]
  return { dns: { locations, timeoutMs: 300, requiredScope: 'dns:check' } }
}

type Case = readonly [status: number, operation: string, request: () => TestRequest | Promise<TestRequest>]

const token = '/v4/oauth2/token'
const update = '/v2/reseller/{license_key}/update'
const generate = '/v2/reseller/licenses/generate'
const dns = '/v3/tools/dnscheck'
const lookup = '/v4/games/blockgame/lookup'

const bearer = (secret: string): Record<string, string> => ({ Authorization: `Bearer ${secret}` })
const put = (key: string, headers: Record<string, string>): TestRequest => ({
  method: 'PUT',
  path: `/v2/reseller/${key}/update`,
  headers,
})
const post = (headers: Record<string, string>): TestRequest => ({ method: 'POST', path: generate, headers })
const get = (path: string, headers: Record<string, string>): TestRequest => ({ method: 'GET', path, headers })

async function exchange(
  change: Record<string, string> = {},
  type = 'application/json',
): Promise<TestRequest> {
  const body = await tokenFields(world, change)
  return { method: 'POST', path: token, headers: { 'Content-Type': type }, body: JSON.stringify(body) }
}

const cases: Case[] = [
  [200, token, () => exchange()],
  [400, token, () => exchange({ code: 'wrong' })],
  [400, token, () => exchange({ grant_type: 'password' })],
  [
    400,
    token,
    async () => {
      const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [] })
      return exchange({ client_id: clientId, client_secret: clientSecret })
    },
  ],
  [401, token, () => exchange({ client_secret: 'wrong' })],
  [405, token, () => get(token, {})],
  [413, token, () => exchange({ more: 'x'.repeat(70_000) })],
  [415, token, () => exchange({}, 'text/plain')],
  [
    200,
    update,
    async () => put(await world.generate(), { ...bearer(world.resellerToken), 'X-Status': 'invalid' }),
  ],
  [400, update, async () => put(await world.generate(), bearer(world.resellerToken))],
  [401, update, () => put('LIC-1', {})],
  [
    401,
    update,
    async () => put(await world.generate(), { ...bearer(world.otherResellerToken), 'X-Status': 'valid' }),
  ],
  [404, update, () => put('LIC-1', { ...bearer(world.resellerToken), 'X-Status': 'valid' })],
  [405, update, () => ({ method: 'DELETE', path: '/v2/reseller/LIC-1/update' })],
  [200, generate, () => post({ ...bearer(world.resellerToken), ...licenseHeaders, 'Idempotency-Key': 'a' })],
  [
    422,
    generate,
    () =>
      post({
        ...bearer(world.resellerToken),
        ...licenseHeaders,
        'Idempotency-Key': 'a',
        'X-Status': 'invalid',
      }),
  ],
  [400, generate, () => post(bearer(world.resellerToken))],
  [401, generate, () => post(licenseHeaders)],
  [
    200,
    dns,
    () => get(dns, { ...bearer(world.accessToken), 'X-Domain': 'example.com', 'X-Record-Type': 'A' }),
  ],
  [
    400,
    dns,
    () => get(dns, { ...bearer(world.accessToken), 'X-Domain': 'example.com', 'X-Record-Type': 'ANY' }),
  ],
  [401, dns, () => get(dns, {})],
  [
    403,
    dns,
    async () => get(dns, bearer((await world.admin.createAccessToken({ scope: 'other' })).accessToken)),
  ],
  [
    200,
    lookup,
    () => get(lookup, { Basic: world.apiKey, 'X-Address': world.game.ip, 'X-Port': String(world.game.port) }),
  ],
  [400, lookup, () => get(lookup, { Basic: world.apiKey })],
  [400, lookup, () => get(lookup, { Basic: world.apiKey, 'X-Address': '10.0.0.1' })],
  [
    401,
    token,
    async () => {
      const request = await exchange({ client_id: '', client_secret: '' })
      return { ...request, headers: { ...request.headers, Authorization: 'Basic eDp5' } }
    },
  ],
  [401, lookup, () => get(lookup, { Basic: 'wrong' })],
  [
    500,
    lookup,
    () =>
      get(lookup, {
        Basic: world.apiKey,
        'X-Address': world.silentGame.ip,
        'X-Port': String(world.silentGame.port),
      }),
  ],
]

function operationAt(path: string): Operation {
  const operation = Object.values(described.paths[path] ?? {})[0]
  if (operation === undefined) throw new Error(`${path} is not described.`)
  return operation
}

function problems(schema: AnySchema, value: unknown): unknown {
  const validate = ajv.compile(schema)
  return validate(value) ? [] : validate.errors
}

/** What the document says of this answer that is not so. */
function checkAnswer(path: string, { status, headers, json }: TestAnswer): void {
  const response = operationAt(path).responses[status]
  expect(response, `${path} ${status} is described`).toBeDefined()
  const schema = response?.content['application/json']?.schema
  expect(schema).toBeDefined()
  expect(problems(schema ?? {}, json)).toEqual([])
  expect(headers['content-type']).toBe('application/json')
  for (const [name, entry] of Object.entries(response?.headers ?? {})) {
    const header = '$ref' in entry ? described.components.headers[entry.$ref.split('/').at(-1) ?? ''] : entry
    const value = headers[name.toLowerCase()]
    if (header?.required === true) expect(value, name).toBeDefined()
    if (value !== undefined) expect(problems(header?.schema ?? {}, value)).toEqual([])
    if (name === 'WWW-Authenticate' && value !== undefined)
      expect(value.split(' ')[0], 'its scheme').toBe(header?.example?.split(' ')[0])
  }
  for (const name of ['www-authenticate', 'retry-after', 'allow', 'cache-control']) {
    if (headers[name] === undefined) continue
    expect(Object.keys(response?.headers ?? {}).map((each) => each.toLowerCase())).toContain(name)
  }
}

describe('real answers match the document', () => {
  test.for(cases)('%i from %s', async ([status, path, request]) => {
    const answer = await world.send(await request())
    expect(answer.status).toBe(status)
    checkAnswer(path, answer)
  })

  test.for([token, generate, dns, lookup])('500 from %s, when the database fails', async (path) => {
    const answer = await broken.send(await requestTo(path, broken))
    expect(answer.status).toBe(500)
    checkAnswer(path, answer)
  })

  test.for([token, generate, dns, lookup])('429 from %s, when the limiter refuses', async (path) => {
    const answer = await limited.send(await requestTo(path, limited))
    expect(answer.status).toBe(429)
    expect(answer.headers['retry-after']).toBe('7')
    checkAnswer(path, answer)
  })

  test('503 from every operation, after closing', async () => {
    const closing = await createWorld('Node http')
    await closing.api.close()
    for (const path of [token, generate, dns, lookup]) {
      const answer = await closing.send(await requestTo(path, closing))
      expect(answer.status).toBe(503)
      checkAnswer(path, answer)
    }
    await closing.close()
  })
})

/** A request that is all right, but for the world it is sent to. */
async function requestTo(path: string, to: World): Promise<TestRequest> {
  if (path === generate) return post({ ...bearer(to.resellerToken), ...licenseHeaders })
  if (path === dns)
    return get(dns, { ...bearer(to.accessToken), 'X-Domain': 'a.example', 'X-Record-Type': 'A' })
  if (path === lookup) return get(lookup, { Basic: to.apiKey, 'X-Address': 'a.example' })
  return exchange({ client_id: to.clientId, client_secret: to.clientSecret })
}

const owner = { host: 'shop.example', ttl: 300 }
const records: Readonly<Record<RecordType, DnsRecord>> = {
  A: { type: 'A', ...owner, ip: '203.0.113.20' },
  AAAA: { type: 'AAAA', ...owner, ip: '2001:db8::1', ipv6: '2001:db8::1' },
  MX: { type: 'MX', ...owner, pri: 10, target: 'mail.shop.example' },
  NS: { type: 'NS', ...owner, target: 'ns.shop.example' },
  PTR: { type: 'PTR', ...owner, target: 'www.shop.example' },
  CNAME: { type: 'CNAME', ...owner, target: 'www.shop.example' },
  SOA: {
    type: 'SOA',
    ...owner,
    mname: 'ns.shop.example',
    rname: 'hostmaster.shop.example',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    'minimum-ttl': 5,
  },
  TXT: { type: 'TXT', ...owner, txt: 'a', entries: ['a'] },
  SRV: { type: 'SRV', ...owner, pri: 0, weight: 0, port: 25565, target: 'mc.shop.example' },
  CAA: { type: 'CAA', ...owner, flags: 0, tag: 'issue', value: 'ca.example' },
  DS: { type: 'DS', ...owner, key_tag: 1, algorithm: 13, digest_type: 2, digest: 'AB'.repeat(32) },
  DNSKEY: {
    type: 'DNSKEY',
    ...owner,
    flags: 257,
    protocol: 3,
    algorithm: 13,
    public_key: Buffer.alloc(64, 7).toString('base64'),
    key_tag: 0,
  },
}

test.for(Object.values(records))('a real $type record has the shape of its type', async (record) => {
  const server = await fakeDnsServer({ records: [record] })
  const locations = [{ location: 'Here', ip: server.ip, port: server.port, provider: 'Loopback' }]
  const other = await createWorld('Node http', { dns: { locations } })
  const headers = { ...bearer(other.accessToken), 'X-Domain': 'shop.example', 'X-Record-Type': record.type }
  const answer = await other.send(get(dns, headers))
  await Promise.all([other.close(), server.close()])
  const [result] = answer.json as { dns_results: object[] }[]
  expect(result?.dns_results).toHaveLength(1)
  checkAnswer(dns, answer)

  // The schema lets further members pass; here all that come must be described.
  const schema = operationAt(dns).responses['200']?.content['application/json']?.schema ?? {}
  const shapes = (schema as ResultsSchema).items.properties.dns_results.items.oneOf
  const own = shapes.find(({ properties }) => properties.type.enum[0] === record.type)
  expect(Object.keys(result?.dns_results[0] ?? {}).toSorted()).toEqual(own?.required.toSorted())
})

interface ResultsSchema {
  readonly items: {
    readonly properties: { readonly dns_results: { readonly items: { readonly oneOf: readonly Shape[] } } }
  }
}
interface Shape {
  readonly properties: { readonly type: { readonly enum: readonly string[] } }
  readonly required: string[]
}

describe('every example matches its schema', () => {
  const each = (look: (operation: Operation) => void): void =>
    Object.values(described.paths).forEach((path) => Object.values(path).forEach(look))

  test('of parameters', () => {
    each(({ parameters }) => {
      for (const parameter of parameters) {
        if ('$ref' in parameter || parameter.example === undefined) continue
        expect(problems(parameter.schema, parameter.example), parameter.name).toEqual([])
      }
    })
  })

  test('of bodies', () => {
    each(({ requestBody, responses }) => {
      const contents = [requestBody, ...Object.values(responses)].flatMap((part) =>
        Object.values(part?.content ?? {}),
      )
      for (const { schema = {}, example, examples = {} } of contents) {
        const values = [example, ...Object.values(examples).map(({ value }) => value)]
        const given = values.filter((value) => value !== undefined)
        expect(given.length).toBeGreaterThan(0)
        for (const value of given) expect(problems(schema, value)).toEqual([])
      }
    })
  })
})
