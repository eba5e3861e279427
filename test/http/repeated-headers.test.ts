/** A header that an operation reads and that comes twice is refused where the host shows it, and joined elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces, type TestAnswer, type TestRequest } from './support/surfaces.ts'
import { createWorld, type World } from './support/world.ts'

const license = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'example.com', 'X-Status': 'valid' }

type Headers = Record<string, string | string[]>

const requests: Readonly<Record<string, (world: World, headers: Headers) => Promise<TestRequest>>> = {
  generate: async ({ resellerToken }, headers) => ({
    method: 'POST',
    path: '/v2/reseller/licenses/generate',
    headers: { Authorization: `Bearer ${resellerToken}`, ...license, ...headers },
  }),
  update: async ({ resellerToken, generate }, headers) => ({
    method: 'PUT',
    path: `/v2/reseller/${await generate()}/update`,
    headers: { Authorization: `Bearer ${resellerToken}`, ...license, ...headers },
  }),
  check: async ({ accessToken }, headers) => ({
    method: 'GET',
    path: '/v3/tools/dnscheck',
    headers: {
      Authorization: `Bearer ${accessToken}`,
      'X-Domain': 'example.com',
      'X-Record-Type': 'A',
      ...headers,
    },
  }),
  lookup: async ({ apiKey, game }, headers) => ({
    method: 'GET',
    path: '/v4/games/blockgame/lookup',
    headers: { Basic: apiKey, 'X-Address': game.ip, 'X-Port': String(game.port), ...headers },
  }),
}

const repeated: [operation: string, name: string, values: [string, string]][] = [
  ['generate', 'X-Registered-To', ['Ada', 'Bob']],
  ['generate', 'X-Registered-To', ['Ada', 'Ada']],
  ['generate', 'X-Registered-To', ['Ada', '']],
  ['generate', 'X-Domain-Or-IP', ['example.com', 'example.org']],
  ['generate', 'X-Status', ['valid', 'valid']],
  ['generate', 'Idempotency-Key', ['a', 'b']],
  ['update', 'X-Registered-To', ['Ada', 'Bob']],
  ['update', 'X-Status', ['valid', 'invalid']],
  ['check', 'X-Domain', ['example.com', 'example.com']],
  ['check', 'X-Record-Type', ['A', 'AAAA']],
  ['lookup', 'X-Address', ['127.0.0.1', '127.0.0.2']],
  ['lookup', 'X-Port', ['25565', '25565']],
]

const joins = new Set(['api.fetch', 'Hono'])

describe.each(Object.keys(surfaces))('Repeated headers through %s', (surface) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(surface)
  })
  afterAll(() => world.close())

  async function send(operation: string, headers: Headers): Promise<TestAnswer> {
    return world.send(await requests[operation]!(world, headers))
  }

  if (joins.has(surface)) {
    test('the values are joined, as the host joins them', async () => {
      const { json } = await send('generate', { 'X-Registered-To': ['Ada', 'Bob'] })
      expect(json).toMatchObject({ data: { registered_to: 'Ada, Bob' } })
    })
    return
  }

  test.each(repeated)('%s, %s: %j', async (operation, name, values) => {
    const { status, json } = await send(operation, { [name]: values })
    expect([status, json]).toStrictEqual([
      400,
      { error: 'invalid_request', message: `${name} must be sent once.` },
    ])
  })

  test('other headers may be repeated', async () => {
    const { status } = await send('generate', { 'X-Forwarded-For': ['192.0.2.1', '192.0.2.2'] })
    expect(status).toBe(200)
  })

  test('a caller without credentials is not told', async () => {
    const headers = { Authorization: 'Bearer wrong', 'X-Status': ['valid', 'valid'] }
    expect((await send('generate', headers)).status).toBe(401)
  })
})
