/** Who leaves stops what only they waited for; nothing else stops it. */
import { getEventListeners } from 'node:events'
import { connect } from 'node:http2'
import { createUtilityApi, createAdmin, UtilityApiError } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, expect, test, vi } from 'vitest'
import { describeEachServer, type Server } from './support/each-server.ts'
import { listenNode, onHttp2 } from './support/hosts.ts'
import { rawClient, rawRequestText, type RawClient } from './support/raw.ts'
import { createWorld, licenseHeaders, type World } from './support/world.ts'
import { toNodeHandler } from 'utility-api/node'
import { eventually } from '../support/eventually.ts'

const patience = { timeout: 5000, interval: 10 }
const lookupPath = '/v4/games/blockgame/lookup'

function lookupHeaders({ apiKey, silentGame }: World): Record<string, string> {
  return { Basic: apiKey, 'X-Address': silentGame.ip, 'X-Port': String(silentGame.port) }
}

function expectOpenLookups(world: World, open: number): Promise<void> {
  return eventually(async () => expect(await world.silentLookups()).toMatchObject({ open }), patience)
}

describeEachServer('Leaving', {}, (server) => {
  async function lookUp({ world, prefix, connect: open }: Server): Promise<RawClient> {
    const client = await open()
    client.write(rawRequestText(`GET ${prefix}${lookupPath}`, lookupHeaders(world)))
    return client
  }

  test('ends the lookup, but only when the last caller has left', async () => {
    const { world } = server()
    const first = await lookUp(server())
    await expectOpenLookups(world, 1)
    const { seen } = await world.silentLookups()
    const second = await lookUp(server())
    await new Promise((resolve) => setTimeout(resolve, 100))
    first.close()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await world.silentLookups()).toStrictEqual({ seen, open: 1 })
    second.close()
    await expectOpenLookups(world, 0)
  })

  test('does not affect a client that stays, whatever others do', async () => {
    const { world, prefix } = server()
    const client = await lookUp(server())
    await expectOpenLookups(world, 1)
    const other = await server().connect()
    other.write(rawRequestText(`GET ${prefix}/v3/tools/dnscheck`))
    await other.answer()
    other.close()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await world.silentLookups()).toMatchObject({ open: 1 })
    client.close()
    await expectOpenLookups(world, 0)
  })
})

let world: World | undefined
afterEach(() => world?.close())

test('api.fetch listens to the signal of its request, or of its context', async () => {
  world = await createWorld('api.fetch')
  for (const give of ['request', 'context']) {
    const controller = new AbortController()
    const { signal } = controller
    const request = new Request(`http://localhost${lookupPath}`, {
      headers: lookupHeaders(world),
      ...(give === 'request' && { signal }),
    })
    const answer = world.api.fetch(request, give === 'context' ? { signal } : {})
    await expectOpenLookups(world, 1)
    controller.abort()
    expect((await answer).status).toBe(503)
    await expectOpenLookups(world, 0)
  }
})

test('a signal that outlives its requests keeps no listener of theirs', async () => {
  const storage = memoryStorage()
  const { apiKey } = await createAdmin({ storage }).createApiKey()
  const status = async ({ signal }: { signal?: AbortSignal }): Promise<never> => {
    listening.push(signal !== undefined)
    throw new UtilityApiError('unavailable', 'No server.')
  }
  const listening: boolean[] = []
  const api = createUtilityApi({ storage, blockgame: { client: { status, close: async () => {} } } })
  const { signal } = new AbortController()
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => {
      const headers = { Basic: apiKey, 'X-Address': `192.0.2.${index}` }
      return api.fetch(new Request(`http://localhost${lookupPath}`, { headers }), { signal })
    }),
  )
  expect(listening).toEqual(Array.from({ length: 100 }, () => true))
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('HTTP/2: a stream that is canceled ends its lookup', async () => {
  world = await createWorld('api.fetch')
  const { port, close } = await onHttp2(world.api)
  const session = connect(`http://127.0.0.1:${port}`)
  const stream = session.request({ ':path': lookupPath, ...lookupHeaders(world) })
  stream.on('error', () => {})
  await expectOpenLookups(world, 1)
  stream.close(8)
  await expectOpenLookups(world, 0)
  session.destroy()
  await close()
})

test('a client that left before anyone listened is noticed', async () => {
  const storage = memoryStorage()
  const { apiKey } = await createAdmin({ storage }).createApiKey()
  const seen: AbortSignal[] = []
  let identify = (): void => {}
  const slow = {
    ...storage,
    async findCredential(...args: Parameters<typeof storage.findCredential>) {
      await new Promise<void>((resolve) => (identify = resolve))
      return storage.findCredential(...args)
    },
  }
  const client = {
    status: ({ signal }: { signal?: AbortSignal }) => {
      if (signal) seen.push(signal)
      return new Promise<never>(() => {})
    },
    close: async () => {},
  }
  const ended = vi.fn()
  const api = createUtilityApi({ storage: slow, blockgame: { client }, onRequestEnd: ended })
  const handler = toNodeHandler(api)
  const left = vi.fn()
  const host = await listenNode((request, response) => {
    response.on('close', left)
    handler(request, response)
  })
  const raw = await rawClient(host.port)
  raw.write(rawRequestText(`GET ${lookupPath}`, { Basic: apiKey, 'X-Address': '192.0.2.1' }))
  await new Promise((resolve) => setTimeout(resolve, 50))
  raw.close()
  await eventually(() => expect(left).toHaveBeenCalled(), patience)
  identify()
  await eventually(() => expect(ended).toHaveBeenCalled(), patience)
  expect(ended.mock.calls[0]?.[0]).toMatchObject({ status: 503, errorCode: 'unavailable' })
  expect(seen.every(({ aborted }) => aborted)).toBe(true)
  await host.close()
})

test('a storage write goes on when its client has left', async () => {
  const storage = memoryStorage()
  const admin = createAdmin({ storage })
  const { token } = await admin.createReseller()
  let write = (): void => {}
  const slow = {
    ...storage,
    async insertLicense(...args: Parameters<typeof storage.insertLicense>) {
      await new Promise<void>((resolve) => (write = resolve))
      return storage.insertLicense(...args)
    },
  }
  const ended = vi.fn()
  const host = await listenNode(toNodeHandler(createUtilityApi({ storage: slow, onRequestEnd: ended })))
  const raw = await rawClient(host.port)
  const headers = { Authorization: `Bearer ${token}`, ...licenseHeaders }
  raw.write(rawRequestText('POST /v2/reseller/licenses/generate', headers))
  await new Promise((resolve) => setTimeout(resolve, 50))
  raw.close()
  await new Promise((resolve) => setTimeout(resolve, 50))
  write()
  await eventually(() => expect(ended).toHaveBeenCalled(), patience)
  expect((await admin.listLicenses({})).licenses).toHaveLength(1)
  await host.close()
})
