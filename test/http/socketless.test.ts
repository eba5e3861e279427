/** Requests that no server has read from a socket get the answers of those that one has. */
import express5 from 'express'
import { createAdmin, createUtilityApi, type UtilityApi } from 'utility-api'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listenNode } from './support/hosts.ts'
import { sendToPort, type TestRequest } from './support/send.ts'
import { socketless, type Inject, type Listener } from './support/socketless.ts'
import { buildWorld, generateRequest, redirectUri, type World } from './support/world.ts'
import { grantFields } from './support/grant.ts'

const mounts: Readonly<Record<string, (api: UtilityApi) => Listener>> = {
  Node: (api) => toNodeHandler(api) as Listener,
  Express: (api) => {
    const handler = toExpressHandler(api)
    return (request, response) =>
      handler(request, response, (error) => {
        throw error
      })
  },
  'Express application': (api) => express5().use(toExpressHandler(api)) as Listener,
}

/** For comparison. */
const overSocket: Inject = async (listener, request) => {
  const { port, close } = await listenNode(listener)
  try {
    return await sendToPort(port, request)
  } finally {
    await close()
  }
}

type Sent = (world: World) => TestRequest | Promise<TestRequest>

async function exchange({ issueCode, clientId, clientSecret }: World): Promise<Record<string, string>> {
  return grantFields({ clientId, clientSecret }, await issueCode(), redirectUri)
}

const token = { method: 'POST', path: '/v4/oauth2/token' }
const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const lookup = { method: 'GET', path: '/v4/games/blockgame/lookup' }

const requests: [what: string, request: Sent, status: number, json: unknown][] = [
  [
    'exchange, JSON',
    async (world) => ({ ...token, headers: json, body: JSON.stringify(await exchange(world)) }),
    200,
    { token_type: 'Bearer' },
  ],
  [
    'exchange, form',
    async (world) => ({
      ...token,
      headers: form,
      body: new URLSearchParams(await exchange(world)).toString(),
    }),
    200,
    { token_type: 'Bearer' },
  ],
  ['exchange without a body', () => ({ ...token, headers: json }), 400, { error: 'invalid_request' }],
  [
    'exchange, a body that is no JSON',
    () => ({ ...token, headers: json, body: '{' }),
    400,
    { error: 'invalid_request' },
  ],
  [
    'exchange, a body that is too large',
    () => ({ ...token, headers: json, body: JSON.stringify({ code: 'x'.repeat(70_000) }) }),
    413,
    { error: 'invalid_request' },
  ],
  [
    'generate',
    ({ resellerToken }) => generateRequest(resellerToken),
    200,
    { data: { registered_to: 'Ada Lovelace' } },
  ],
  [
    'update, with a body that nobody reads',
    async ({ resellerToken, generate }) => ({
      method: 'PUT',
      path: `/v2/reseller/${await generate()}/update`,
      headers: { Authorization: `Bearer ${resellerToken}`, 'X-Status': 'invalid' },
      body: 'x'.repeat(70_000),
    }),
    200,
    {},
  ],
  [
    'check',
    ({ accessToken }) => ({
      method: 'GET',
      path: '/v3/tools/dnscheck',
      headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
    }),
    200,
    [{ status: 'NOERROR' }, { status: 'NOERROR' }],
  ],
  [
    'lookup',
    ({ apiKey, game }) => ({
      ...lookup,
      headers: { Basic: apiKey, 'X-Address': game.ip, 'X-Port': String(game.port) },
    }),
    200,
    { players: { online: 3 } },
  ],
  ['lookup without a key', () => lookup, 401, { error: 'invalid_api_key' }],
  ['another path', () => ({ method: 'GET', path: '/other' }), 404, { error: 'not_found' }],
]

const kinds = Object.entries({ 'a socket': overSocket, ...socketless })
/** On a response of these, Express's own methods take the place of those that keep what is written. */
const notForExpress = /light-my-request|Hapi/

describe.each(Object.entries(mounts))('%s', (name, mount) => {
  const fitting = kinds.filter(([kind]) => name !== 'Express application' || !notForExpress.test(kind))
  describe.each(fitting)('%s', (_kind, inject) => {
    let world: World
    beforeAll(async () => {
      world = await buildWorld(async (api) => {
        const listener = mount(api)
        return { send: (request) => inject(listener, request), close: async () => {} }
      })
    })
    afterAll(() => world.close())

    test.each(requests)('%s', async (_what, request, status, body) => {
      const answer = await world.send(await request(world))
      expect(answer).toMatchObject({ status, json: body })
    })

    test('long answers arrive in whole, and no longer count once they have', async () => {
      // Some 240 KiB of JSON: of six of them, a caller may have four unwritten.
      const entries = ['x'.repeat(120_000)]
      const records = [{ type: 'TXT' as const, host: 'a.example', ttl: 0, txt: entries.join(''), entries }]
      const answer = { status: 'NOERROR' as const, records, cnameChain: [], transport: 'tcp' as const }
      const storage = memoryStorage()
      const api = createUtilityApi({
        storage,
        maxAnswerBytes: 4 * 1024 * 1024,
        dns: {
          locations: [{ location: 'Here', ip: '192.0.2.53', provider: 'Us' }],
          client: { query: async () => ({ ...answer, latencyMs: 1 }), close: async () => {} },
        },
      })
      const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '' })
      const listener = mount(api)
      for (const label of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const headers = { 'X-Domain': `${label}.example`, 'X-Record-Type': 'TXT' }
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const { status, text } = await inject(listener, {
          method: 'GET',
          path: '/v3/tools/dnscheck',
          headers: { Authorization: `Bearer ${accessToken}`, ...headers },
        })
        expect([status, text.length > 240_000]).toEqual([200, true])
      }
      await api.close()
    })
  })
})
