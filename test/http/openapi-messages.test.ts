/** Every error that the OpenAPI document shows is one that the server sends: each is asked for here. */
import { UtilityApiError } from 'utility-api'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { rawClient, rawRequestText } from './support/raw.ts'
import { sendToFetch } from './support/send.ts'
import { createWorld, licenseHeaders, type World, type WorldOptions } from './support/world.ts'
import type { TestAnswer, TestRequest } from './support/surfaces.ts'
import { tokenFields } from './support/token-request.ts'
import { mostFiles } from '../support/most-files.ts'

const paths = {
  exchange: '/v4/oauth2/token',
  update: '/v2/reseller/{license_key}/update',
  generate: '/v2/reseller/licenses/generate',
  check: '/v3/tools/dnscheck',
  lookup: '/v4/games/blockgame/lookup',
} as const
type Name = keyof typeof paths
const names = Object.keys(paths) as Name[]

interface Documented {
  readonly paths: Record<
    string,
    Record<
      string,
      {
        responses: Record<string, { content: { 'application/json': { examples?: Record<string, Example> } } }>
      }
    >
  >
}
interface Example {
  readonly value: object
}

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const pkce = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** A request that is all right, but for what is changed in it. */
async function good(world: World, name: Name, changes: Record<string, string> = {}): Promise<TestRequest> {
  const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })
  switch (name) {
    case 'exchange': {
      const members = await tokenFields(world, changes)
      return { method: 'POST', path: paths.exchange, headers: json, body: JSON.stringify(members) }
    }
    case 'update': {
      const headers = { ...bearer(world.resellerToken), 'X-Status': 'valid', ...changes }
      return { method: 'PUT', path: '/v2/reseller/LIC-1/update', headers }
    }
    case 'generate':
      return {
        method: 'POST',
        path: paths.generate,
        headers: { ...bearer(world.resellerToken), ...licenseHeaders, ...changes },
      }
    case 'check':
      return {
        method: 'GET',
        path: paths.check,
        headers: {
          ...bearer(world.accessToken),
          'X-Domain': 'example.com',
          'X-Record-Type': 'A',
          ...changes,
        },
      }
    case 'lookup':
      return {
        method: 'GET',
        path: paths.lookup,
        headers: { Basic: world.apiKey, 'X-Address': `127.0.0.1:${world.silentGame.port}`, ...changes },
      }
  }
}

function without(request: TestRequest, ...headers: string[]): TestRequest {
  const kept = Object.entries(request.headers ?? {}).filter(([name]) => !headers.includes(name))
  return { ...request, headers: Object.fromEntries(kept) }
}

const seen = new Map<Name, Set<string>>(names.map((name) => [name, new Set()]))

function note(name: Name, { status, json: body }: Pick<TestAnswer, 'status' | 'json'>): void {
  if (status >= 400) seen.get(name)?.add(`${status} ${JSON.stringify(body)}`)
}

async function ask(world: World, name: Name, request: TestRequest | Promise<TestRequest>): Promise<void> {
  note(name, await world.send(await request))
}

async function inWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const world = await createWorld('Node http', { lookupTimeoutMs: 300, ...options })
  try {
    await work(world)
  } finally {
    await world.close()
  }
}

const scope = {
  dns: {
    locations: [{ location: 'Here', ip: '127.0.0.1', port: 9, provider: 'Nobody' }],
    timeoutMs: 300,
    requiredScope: 'dns:check',
  },
}

async function askAmiss(world: World): Promise<void> {
  for (const name of names) await ask(world, name, { ...(await good(world, name)), method: 'PATCH' })
  for (const name of ['update', 'generate', 'check'] as const) {
    const request = await good(world, name)
    await ask(world, name, without(request, 'Authorization'))
    await ask(world, name, { ...request, headers: { ...request.headers, Authorization: 'Bearer wrong' } })
  }
  for (const key of ['', 'wrong', world.weakApiKey])
    await ask(world, 'lookup', good(world, 'lookup', { Basic: key }))
  await ask(world, 'update', good(world, 'update'))
  await ask(world, 'update', { ...(await good(world, 'update')), path: '/v2/reseller//update' })
  await ask(world, 'update', without(await good(world, 'update'), 'X-Status'))
  const path = `/v2/reseller/${await world.generate()}/update`
  const headers = { Authorization: `Bearer ${world.otherResellerToken}`, 'X-Status': 'valid' }
  await ask(world, 'update', { method: 'PUT', path, headers })
  await ask(world, 'generate', without(await good(world, 'generate'), ...Object.keys(licenseHeaders)))
  for (const status of ['valid', 'invalid'])
    await ask(world, 'generate', good(world, 'generate', { 'Idempotency-Key': 'a', 'X-Status': status }))
  await ask(world, 'check', without(await good(world, 'check'), 'X-Domain'))
  for (const domain of ['not a name', 'ada@example.com'])
    await ask(world, 'check', good(world, 'check', { 'X-Domain': domain }))
  const { accessToken } = await world.admin.createAccessToken({ scope: 'other' })
  await ask(world, 'check', good(world, 'check', { Authorization: `Bearer ${accessToken}` }))
  for (const name of ['check', 'lookup'] as const) {
    // What a host makes of a request that has a body, and gives us without it.
    const request = await good(world, name, { 'Content-Length': '2000' })
    note(name, await sendToFetch(world.api, request))
  }
  await ask(world, 'lookup', without(await good(world, 'lookup'), 'X-Address'))
  for (const address of ['not a name', '10.0.0.1', '127.0.0.1:1999']) {
    await ask(world, 'lookup', good(world, 'lookup', { 'X-Address': address }))
  }
}

async function exchangeAmiss(world: World): Promise<void> {
  const changes: Record<string, string>[] = [
    { grant_type: '' },
    { grant_type: 'password' },
    { code: 'wrong' },
    { code_verifier: pkce },
    { client_secret: 'wrong' },
  ]
  for (const change of changes) await ask(world, 'exchange', good(world, 'exchange', change))
  const { clientId, clientSecret } = await world.admin.createClient({ redirectUris: [] })
  const other = { client_id: clientId, client_secret: clientSecret }
  await ask(world, 'exchange', good(world, 'exchange', other))
  const request = await good(world, 'exchange')
  const basic = (text: string): Record<string, string> => ({
    ...json,
    Authorization: `Basic ${Buffer.from(text).toString('base64')}`,
  })
  const own = `${world.clientId}:${world.clientSecret}`
  await ask(world, 'exchange', { ...request, headers: { ...json, Authorization: 'Basic ?' } })
  await ask(world, 'exchange', {
    ...(await good(world, 'exchange', { client_secret: 'other' })),
    headers: basic(own),
  })
  await ask(world, 'exchange', {
    ...(await good(world, 'exchange', { client_secret: '', client_id: 'x' })),
    headers: basic(own),
  })
  const bodies: [Record<string, string>, string | Uint8Array][] = [
    [json, '{'],
    [json, '[]'],
    [form, 'a=%'],
    [form, '{}'],
    [form, 'a&'.repeat(1000)],
    [json, '['.repeat(33)],
    [json, Uint8Array.of(0xff)],
    [{ 'Content-Type': 'application/json; charset=latin1' }, '{}'],
    [{ 'Content-Type': 'text/plain' }, '{}'],
    [{ ...json, 'Content-Encoding': 'gzip' }, '{}'],
    [json, 'x'.repeat(70_000)],
  ]
  for (const [headers, body] of bodies)
    await ask(world, 'exchange', { method: 'POST', path: paths.exchange, headers, body } as TestRequest)
}

/** A body in too many pieces, and one more body than are read at once. */
async function sendBodiesAmiss(world: World): Promise<void> {
  const port = world.address?.port ?? 0
  const head = rawRequestText(`POST ${paths.exchange}`, { ...json, 'Transfer-Encoding': 'chunked' })
  const clients = await Promise.all(Array.from({ length: 513 }, () => rawClient(port)))
  for (const client of clients) client.write(head)
  const first = await Promise.race(clients.map((client) => client.answer()))
  note('exchange', { status: first.status, json: JSON.parse(first.body) })
  for (const client of clients) client.close()
  const pieces = await rawClient(port)
  pieces.write(head + '1\r\nx\r\n'.repeat(1100))
  const answer = await pieces.answer()
  note('exchange', { status: answer.status, json: JSON.parse(answer.body) })
  pieces.close()
}

/** Asks for each operation while a request of its caller is held at its work. */
async function askWhileHeld(maxInFlight: number): Promise<void> {
  for (const name of names) {
    const held = Promise.withResolvers<void>()
    const released = held.promise
    const inside: { world?: World } = {}
    // The world's own storage, which does not exist yet, behind methods of which those that do the work wait.
    const method =
      <Method extends keyof AdminStorage>(key: Method, waits = false) =>
      async (...args: never[]): Promise<unknown> => {
        if (waits) await released
        const { storage } = inside.world as unknown as {
          storage: Record<string, (...args: never[]) => unknown>
        }
        return storage[key]?.(...args)
      }
    const storage = {
      findClient: method('findClient'),
      findCredential: method('findCredential'),
      findAuthorizationCode: method('findAuthorizationCode', true),
      redeemAuthorizationCode: method('redeemAuthorizationCode'),
      revokeAccessTokensOfCode: method('revokeAccessTokensOfCode'),
      insertLicense: method('insertLicense', true),
      updateLicense: method('updateLicense', true),
      findLicense: method('findLicense'),
    } as unknown as AdminStorage
    await inWorld({ storage, maxInFlight, ...silentResolver(released) }, async (world) => {
      inside.world = world
      const first = world.send(await good(world, name))
      await new Promise((resolve) => setTimeout(resolve, 50))
      await ask(world, name, good(world, name))
      held.resolve()
      await first
    })
  }
}

function silentResolver(until: Promise<void>): WorldOptions {
  const locations = [{ location: 'Here', ip: '127.0.0.1', provider: 'Nobody' }]
  const answer = { status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 1 } as const
  const client = { query: () => until.then(() => answer), close: async () => {} }
  return { dns: { locations, client } }
}

/** Asks once more on a connection whose answers are not written. */
async function askOnFullConnection(world: World): Promise<void> {
  const connection = {}
  for (const name of names) {
    const { method, path, headers = {} } = await good(world, name)
    const request = {
      method,
      url: path,
      header: (header: string) => (headers[header] as string | undefined) ?? null,
      body: async () => new Uint8Array(),
    }
    for (let sent = 0; sent < 17; sent += 1) {
      const { status, body } = await world.api.dispatch(request, { connection })
      note(name, { status, json: JSON.parse(String(body)) })
    }
  }
}

/** Five locations whose answers are each as large as one may be, which is more than a caller may have under way. */
const largeAnswers = {
  dns: {
    locations: Array.from({ length: 5 }, () => ({ location: 'Here', ip: '127.0.0.1', provider: 'Nobody' })),
    client: {
      query: async () =>
        ({
          status: 'NOERROR',
          records: [
            {
              type: 'TXT',
              host: 'example.com',
              ttl: 1,
              txt: 'x'.repeat(120_000),
              entries: ['x'.repeat(120_000)],
            },
          ],
          cnameChain: [],
          transport: 'tcp',
          latencyMs: 1,
        }) as const,
      close: async () => {},
    },
  },
  maxAnswerBytes: 4_194_304,
} satisfies WorldOptions

/** A client whose machine has no file left to open. */
const withoutFiles = {
  dns: {
    locations: largeAnswers.dns.locations,
    client: {
      query: () => Promise.reject(new UtilityApiError('unavailable', 'No socket could be opened.')),
      close: async () => {},
    },
  },
} satisfies WorldOptions

/** A client that keeps its place for longer than others wait for theirs. */
const slowClient = {
  status: () => new Promise<never>((_, reject) => setTimeout(() => reject(new Error('late')), 500)),
  close: async () => {},
}

const fewFiles = mostFiles < 2000
const needsFiles = 'needs ulimit -n 2000'

test('every error in the document is one that the server sends', async ({ skip }) => {
  skip(fewFiles, needsFiles)
  let documented: Documented | undefined
  await inWorld(scope, async (world) => {
    documented = world.api.openapi() as unknown as Documented
    await askAmiss(world)
    await exchangeAmiss(world)
    await sendBodiesAmiss(world)
    await askOnFullConnection(world)
  })
  await inWorld(
    { rateLimiter: { consume: async () => ({ allowed: false, retryAfterSeconds: 1 }) } },
    async (world) => {
      for (const name of names) await ask(world, name, good(world, name))
    },
  )
  const failing = (method: string) => ({ [method]: () => Promise.reject(new Error('gone')) })
  const broken = { ...memoryStorage(), ...failing('findClient'), ...failing('findCredential') }
  await inWorld({ storage: broken }, async (world) => {
    for (const name of names) await ask(world, name, good(world, name))
  })
  const stopped = {
    now: () => {
      throw new Error('stopped')
    },
  }
  await inWorld({ clock: stopped }, async (world) => {
    for (const name of names) await ask(world, name, good(world, name))
  })
  await inWorld(withoutFiles, async (world) => ask(world, 'check', good(world, 'check')))
  await inWorld(largeAnswers, async (world) => ask(world, 'check', good(world, 'check')))
  await askWhileHeld(1)
  await askWhileHeld(2)
  await inWorld({ blockgame: { timeoutMs: 100, maxConcurrent: 1, client: slowClient } }, async (world) => {
    const hosts = ['127.0.0.1', 'localhost', 'a.localhost', 'b.localhost']
    const lookups = hosts.map((host) =>
      good(world, 'lookup', { 'X-Address': `${host}:${world.silentGame.port}` }),
    )
    await Promise.all(lookups.map((lookup) => ask(world, 'lookup', lookup)))
  })
  await inWorld({}, async (world) => {
    const requests = await Promise.all(names.map((name) => good(world, name)))
    await world.api.close()
    for (const [index, name] of names.entries()) await ask(world, name, requests[index] as TestRequest)
  })

  const missing = names.flatMap((name) =>
    Object.values(documented?.paths[paths[name]] ?? {}).flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, { content }]) =>
        Object.values(content['application/json'].examples ?? {})
          .map(({ value }) => `${status} ${JSON.stringify(value)}`)
          .filter((line) => !seen.get(name)?.has(line))
          .map((line) => `${name}: ${line}`),
      ),
    ),
  )
  expect(missing).toStrictEqual([])
}, 60_000)

// RFC 6749 section 5.2: no quote, no backslash, nothing but ASCII.
test('errors of the exchange are of the characters and codes allowed', ({ skip }) => {
  skip(fewFiles, needsFiles)
  const sent = [...(seen.get('exchange') ?? [])].map((line) => JSON.parse(line.slice(4)) as { error: string })
  const codes =
    /^(?:invalid_(?:request|client|grant|scope)|unauthorized_client|unsupported_grant_type|server_error|temporarily_unavailable)$/
  for (const { error } of sent) expect(error).toMatch(codes)
  expect(sent.length).toBeGreaterThan(20)
  for (const text of sent.flatMap((body) => Object.values(body)))
    expect(text).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
})
