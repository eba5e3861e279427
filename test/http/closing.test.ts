/** The end of a service, and the bounds of its work. */
import { spawn } from 'node:child_process'
import type { Socket } from 'node:dgram'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import {
  createAdmin,
  createUtilityApi,
  type RateLimiter,
  type RequestEndEvent,
  type UtilityApi,
} from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { describe, expect, test, vi } from 'vitest'
import { Closing } from '../../src/bounds/closing.ts'
import { sendToFetch, sendToPort, type TestRequest } from './support/send.ts'
import { createWorld, generateRequest, type WorldOptions } from './support/world.ts'
import { eventually } from '../support/eventually.ts'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { token } = await admin.createReseller()
const { apiKey } = await admin.createApiKey()
const { accessToken } = await admin.createAccessToken({ scope: '' })
const unavailable = { status: 503, headers: { 'retry-after': '1' }, json: { error: 'unavailable' } }

const generate = generateRequest(token)
const lookUp = (host: number): TestRequest => ({
  method: 'GET',
  path: '/v4/games/blockgame/lookup',
  headers: { Basic: apiKey, 'X-Address': `192.0.2.${host}` },
})
const check = (name: string): TestRequest => ({
  method: 'GET',
  path: '/v3/tools/dnscheck',
  headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': name, 'X-Record-Type': 'A' },
})

/** Network clients that never answer, and leave only when they are told to. */
function hanging() {
  const state = { waiting: 0 }
  const wait = ({ signal }: { signal?: AbortSignal }): Promise<never> =>
    new Promise((_, reject) => {
      state.waiting += 1
      signal?.addEventListener('abort', () => {
        state.waiting -= 1
        reject(signal.reason)
      })
    })
  const close = async (): Promise<void> => {}
  return { state, blockgame: { status: wait, close }, dns: { query: wait, close } }
}

function hangingApi(options: WorldOptions = {}): { api: UtilityApi; waiting: () => number } {
  const { state, blockgame, dns } = hanging()
  const api = createUtilityApi({
    storage,
    dns: {
      client: dns,
      timeoutMs: 60_000,
      maxConcurrentPerResolver: 10_000,
      locations: [{ location: 'Here', ip: '192.0.2.1', provider: 'None' }],
    },
    blockgame: { client: blockgame, timeoutMs: 60_000, maxConcurrent: 10_000 },
    ...options,
  })
  return { api, waiting: () => state.waiting }
}

describe('close', () => {
  test('answers requests under way, and refuses new ones', async () => {
    let finish = (): void => {}
    const slow = {
      ...storage,
      async insertLicense(...args: Parameters<typeof storage.insertLicense>) {
        await new Promise<void>((resolve) => (finish = resolve))
        return storage.insertLicense(...args)
      },
    }
    const api = createUtilityApi({ storage: slow })
    const underWay = sendToFetch(api, generate)
    await eventually(() => expect(finish).not.toBe(undefined))
    await new Promise((resolve) => setTimeout(resolve, 10))
    const closed = vi.fn()
    const closing = [api.close(), api.close(), api[Symbol.asyncDispose]()].map((each) => each.then(closed))
    expect(await sendToFetch(api, generate)).toMatchObject(unavailable)
    expect(closed).not.toHaveBeenCalled()
    finish()
    expect(await underWay).toMatchObject({ status: 200 })
    await eventually(() => expect(closed).toHaveBeenCalledTimes(closing.length), { timeout: 3000 })
    expect(await sendToFetch(api, generate)).toMatchObject(unavailable)
  })

  test.each(['authenticated', 'counted', 'read side by side'] as const)(
    'answers what is being %s',
    async (stage) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const slow = {
        ...storage,
        async findCredential(...args: Parameters<typeof storage.findCredential>) {
          if (stage === 'authenticated') await released
          return storage.findCredential(...args)
        },
      }
      const rateLimiter: RateLimiter = {
        async consume() {
          if (stage === 'counted') await released
          return { allowed: true }
        },
      }
      const api = createUtilityApi({ storage: slow, rateLimiter })
      const underWay = sendToFetch(api, generate)
      if (stage !== 'read side by side') await new Promise((resolve) => setTimeout(resolve, 10))
      const closed = vi.fn()
      const closing = api.close().then(closed)
      release()
      expect(await underWay).toMatchObject({ status: 200 })
      await closing
      expect(await sendToFetch(api, generate)).toMatchObject(unavailable)
    },
  )

  const slowLimiter: RateLimiter = {
    consume: async (key) => {
      if (key.startsWith('address:')) await new Promise((resolve) => setTimeout(resolve, 20))
      return { allowed: true }
    },
  }

  test.each<[string, TestRequest, WorldOptions]>([
    ['an answer', generate, {}],
    ['an answer that a hook is told of', generate, { onRequestEnd: () => undefined }],
    ['a refusal', generateRequest('no'), {}],
    ['a refusal that a limiter is asked about', generateRequest('no'), { rateLimiter: slowLimiter }],
  ])('has waited for %s when it resolves', async (_, request, options) => {
    const found = Promise.withResolvers<void>()
    const slow = {
      ...storage,
      findCredential: async (...args: Parameters<typeof storage.findCredential>) => {
        await found.promise
        return storage.findCredential(...args)
      },
    }
    const api = createUtilityApi({ storage: slow, dns: false, blockgame: false, ...options })
    const order: string[] = []
    const context = { ip: '192.0.2.1' }
    const url = `http://localhost${request.path}`
    const { method, headers } = request
    const answer = api.fetch(
      new Request(url, { method, headers: headers as Record<string, string> }),
      context,
    )
    void answer.then(() => order.push('answered'))
    await new Promise((resolve) => setTimeout(resolve, 5))
    const closed = api.close().then(() => order.push('closed'))
    found.resolve()
    await Promise.all([answer, closed])
    expect(order).toEqual(['answered', 'closed'])
  })

  test('does not wait for a body that is still being sent, and refuses it', async () => {
    const api = createUtilityApi({ storage })
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const url = 'http://localhost/v4/oauth2/token'
    const headers = { 'Content-Type': 'application/json' }
    const options = { method: 'POST', headers, body: readable, duplex: 'half' }
    const answer = api.fetch(new Request(url, options))
    const writer = writable.getWriter()
    await writer.write(Buffer.from('{'))
    await api.close()
    await writer.write(Buffer.from('}'))
    await writer.close()
    expect((await answer).status).toBe(503)
  })

  test('ends lookups that take longer than it waits, and answers them', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      // The lookups begin while closing waits already, and so have time left when it has waited long enough.
      const slow = {
        ...storage,
        async findCredential(...args: Parameters<typeof storage.findCredential>) {
          await new Promise((resolve) => setTimeout(resolve, 3000))
          return storage.findCredential(...args)
        },
      }
      const { api, waiting } = hangingApi({ storage: slow })
      const answers = [sendToFetch(api, lookUp(1)), sendToFetch(api, check('example.com'))]
      await new Promise((resolve) => setImmediate(resolve))
      const closing = api.close()
      await vi.advanceTimersByTimeAsync(60_999)
      expect(waiting()).toBe(2)
      await vi.advanceTimersByTimeAsync(1)
      for (const answer of answers) expect(await answer).toMatchObject(unavailable)
      await closing
      expect(waiting()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('ends work at once that asks for its signal only afterwards', () => {
    const closing = new Closing()
    closing.abort()
    expect(closing.workSignal(undefined).signal.aborted).toBe(true)
  })

  test("closes the sockets of this library's clients, which are kept between questions", async () => {
    const world = await createWorld('api.fetch')
    const open = new Set<Socket>()
    const watch = (message: unknown): void => {
      const { socket } = message as { socket: Socket }
      open.add(socket)
      socket.once('close', () => open.delete(socket))
    }
    subscribe('udp.socket', watch)
    const { headers, ...request } = check('example.com')
    await world.send({ ...request, headers: { ...headers, Authorization: `Bearer ${world.accessToken}` } })
    unsubscribe('udp.socket', watch)
    expect(open.size).toBeGreaterThan(0)
    await world.api.close()
    await eventually(() => expect(open.size).toBe(0))
    await world.close()
  })

  test("leaves the host's clients open", async () => {
    const closeClient = vi.fn(async () => {})
    const { blockgame, dns } = hanging()
    const { close } = createUtilityApi({
      storage,
      dns: { client: { ...dns, close: closeClient } },
      blockgame: { client: { ...blockgame, close: closeClient } },
    })
    await close()
    expect(closeClient).not.toHaveBeenCalled()
  })

  test('waits until the uses of credentials are recorded', async () => {
    const own = memoryStorage()
    const { apiKey: ownKey } = await createAdmin({ storage: own }).createApiKey()
    const recorded = vi.fn()
    const recordUse = (): Promise<void> => new Promise((resolve) => setImmediate(resolve)).then(recorded)
    const api = createUtilityApi({ storage: { ...own, recordUse } })
    await api.verifyApiKey(ownKey)
    await api.close()
    expect(recorded).toHaveBeenCalledOnce()
  })

  test("leaves the host's storage and server alone", async () => {
    const own = memoryStorage()
    const storageClosed = vi.spyOn(own, 'close')
    const api = createUtilityApi({ storage: own })
    const server = createServer(toNodeHandler(api))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await api.close()
    const { port } = server.address() as AddressInfo
    expect(await sendToPort(port, { method: 'GET', path: '/' })).toMatchObject({ status: 404 })
    expect(await sendToPort(port, check('example.com'))).toMatchObject({ status: 503 })
    expect(await api.health()).toStrictEqual({ storage: 'ok' })
    expect(storageClosed).not.toHaveBeenCalled()
    await new Promise((resolve) => server.close(resolve))
  })

  test('lets the process end, with every accepted request answered', async () => {
    const sources = fileURLToPath(new URL('../support/sources.ts', import.meta.url))
    const program = fileURLToPath(new URL('support/closing-process.ts', import.meta.url))
    const child = spawn('node', ['--import', sources, program])
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect({ code, output }).toMatchObject({ code: 0 })
    const { accepted, finished, answered, refused } = JSON.parse(output) as Record<string, number>
    expect(answered).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
    expect(finished).toBe(accepted)
    expect(Number(answered) + Number(refused)).toBe(accepted)
  })
})

describe('overload', () => {
  test('a thousand hanging lookups and checks turn away only the next ones', async () => {
    const { api, waiting } = hangingApi()
    const held = Array.from({ length: 1000 }, (_, index) =>
      sendToFetch(api, index % 2 === 0 ? check(`h${index}.example`) : lookUpName(`h${index}.example`)),
    )
    await eventually(() => expect(waiting()).toBe(1000), { timeout: 10_000 })
    expect(await sendToFetch(api, lookUpName('one-more.example'))).toMatchObject(unavailable)
    expect(await sendToFetch(api, check('one-more.example'))).toMatchObject(unavailable)
    for (let count = 0; count < 100; count += 1) {
      expect(await sendToFetch(api, generate)).toMatchObject({ status: 200 })
    }
    api.close().catch(() => {})
    expect(held).toHaveLength(1000)
  })

  test('maxInFlight bounds storage work by itself', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const slow = {
      ...storage,
      async findCredential(...args: Parameters<typeof storage.findCredential>) {
        await gate
        return storage.findCredential(...args)
      },
    }
    const api = createUtilityApi({ storage: slow, maxInFlight: 4 })
    const { token: otherToken } = await createAdmin({ storage }).createReseller()
    const other = generateRequest(otherToken)
    const held = [generate, generate, other, other].map((request) => sendToFetch(api, request))
    expect(await sendToFetch(api, generate)).toMatchObject(unavailable)
    release()
    for (const answer of held) expect(await answer).toMatchObject({ status: 200 })
    expect(await sendToFetch(api, generate)).toMatchObject({ status: 200 })
  })
})

function lookUpName(name: string): TestRequest {
  const { headers, ...request } = lookUp(1)
  return { ...request, headers: { ...headers, 'X-Address': name } }
}

test('leaves nothing of the answers that were kept for reuse', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const answer = { status: 'NOERROR', cnameChain: [], transport: 'udp', latencyMs: 1 } as const
    const record = { type: 'A', host: 'a.example', ttl: 86_400, ip: '192.0.2.1' } as const
    const status = {
      ip: '192.0.2.1',
      port: 25_565,
      players: { online: 1, max: 2 },
      version: { name: 'x', protocol: 1 },
      description: '',
      latencyMs: 1,
      srvRecord: null,
    }
    const close = async (): Promise<void> => {}
    const { api } = hangingApi({
      dns: {
        client: { query: async () => ({ ...answer, records: [record] }), close },
        cacheTtlMs: 86_400_000,
      },
      blockgame: { client: { status: async () => status, close }, cacheTtlMs: 86_400_000 },
    })
    expect(await sendToFetch(api, check('a.example'))).toMatchObject({ status: 200 })
    expect(await sendToFetch(api, lookUp(1))).toMatchObject({ status: 200 })
    expect(vi.getTimerCount()).toBe(2)
    await api.close()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('a request that is given up is told apart from one that found no room', async () => {
  const events: (readonly [code: string | undefined, reason: string | undefined])[] = []
  const onRequestEnd = ({ errorCode, reason }: RequestEndEvent): unknown => events.push([errorCode, reason])
  const { api, waiting } = hangingApi({ onRequestEnd, maxInFlight: 1 })
  const leaving = new AbortController()
  const { method, path, headers } = check('a.example')
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: headers as Record<string, string>,
    signal: leaving.signal,
  })
  const held = api.fetch(request)
  await eventually(() => expect(waiting()).toBe(1))
  expect(await sendToFetch(api, check('b.example'))).toMatchObject(unavailable)
  leaving.abort()
  expect((await held).status).toBe(503)
  expect(events).toEqual([
    ['unavailable', undefined],
    ['unavailable', 'aborted'],
  ])
  await api.close()
})
