import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { Socket, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { UtilityApiError } from '../../src/domain/errors.ts'
import { ServerCheckError } from '../../src/domain/server-status.ts'
import { encodeKick, encodeStatusPacket } from '../../src/testing/blockgame-server.ts'
import { endsBefore } from '../support/ends-before.ts'
import { noneOpen, startClient, startServer, zoneDns } from './support/harness.ts'
import { eventually } from '../support/eventually.ts'
import { mostFiles } from '../support/most-files.ts'

const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

// What these wait for, they wait for side by side.
describe.concurrent('the one deadline', () => {
  test.for([
    ['DNS', { dns: zoneDns({ 'A slow.example': 'silent', 'AAAA slow.example': 'silent' }) }],
    [
      'a DNS client that breaks its promise',
      { dns: { ...zoneDns({}), query: () => new Promise<never>(() => {}) } },
    ],
  ] as const)('holds over %s', async ([, setup], { onTestFinished: after }) => {
    const check = startClient(setup, after).status({ host: 'slow.example', port: 25566, timeoutMs: 200 })
    expect(await endsBefore(800, check)).toBe(true)
    await expect(check).rejects.toBeInstanceOf(ServerCheckError)
  })

  test('covers status and pong together, and a status in time is an answer', async ({
    onTestFinished: after,
  }) => {
    const server = await startServer({ delayMs: 1500, pongDelayMs: 20_000 }, after)
    const check = startClient({}, after).status({ host: server.ip, port: server.port, timeoutMs: 2400 })
    expect(await endsBefore(4000, check)).toBe(true)
    const status = await check
    expect(status.players.online).toBe(3)
    expect(status.latencyMs).toBeGreaterThanOrEqual(1495)
  })

  test('allows at most a second for the pong', async ({ onTestFinished: after }) => {
    const server = await startServer({ pong: false }, after)
    const check = startClient({}, after).status({ host: server.ip, port: server.port, timeoutMs: 20_000 })
    expect(await endsBefore(10_000, check)).toBe(true)
    await check
  })

  test('ends all connections to a server that answers neither protocol', async ({
    onTestFinished: after,
  }) => {
    const server = await startServer({ script() {} }, after)
    const check = startClient({}, after).status({ host: server.ip, port: server.port, timeoutMs: 2000 })
    await expect(check).rejects.toMatchObject({ reason: 'timeout' })
    expect(server.connections).toHaveLength(3)
    expect(server.connections[1]?.received[0]).toBe(0xfe)
    await noneOpen(server)
  })
})

describe.concurrent('the latency', () => {
  test('is the pong’s round trip, whatever the status took', async ({ onTestFinished: after }) => {
    const server = await startServer({ delayMs: 300, pongDelayMs: 100 }, after)
    const startedAt = performance.now()
    const { latencyMs } = await startClient({}, after).status({ host: server.ip, port: server.port })
    expect(latencyMs).toBeGreaterThanOrEqual(95)
    expect(latencyMs).toBeLessThan(performance.now() - startedAt - 295)
  })

  test('is the round trip of the status if no pong comes', async ({ onTestFinished: after }) => {
    const server = await startServer({ delayMs: 150, pong: 'close' }, after)
    const { latencyMs } = await startClient({}, after).status({ host: server.ip, port: server.port })
    expect(latencyMs).toBeGreaterThanOrEqual(145)
  })

  test.for(['1.6', '1.4', 'beta'] as const)(
    'of a server of the era %s is that of its only reply',
    async (era, { onTestFinished: after }) => {
      const server = await startServer({ era, delayMs: 150 }, after)
      const { latencyMs } = await startClient({}, after).status({ host: server.ip, port: server.port })
      expect(latencyMs).toBeGreaterThanOrEqual(145)
    },
  )

  test('is not measured by a pong that comes before the ping', async ({ onTestFinished: after }) => {
    const early = Buffer.concat([
      encodeStatusPacket({ players: {} }),
      Uint8Array.of(9, 1, 0, 0, 0, 0, 0, 0, 0, 0),
    ])
    const server = await startServer(
      {
        script: ({ socket }) => socket.once('data', () => setTimeout(() => socket.write(early), 100)),
      },
      after,
    )
    const { latencyMs } = await startClient({}, after).status({
      host: server.ip,
      port: server.port,
    })
    expect(latencyMs).toBeGreaterThanOrEqual(95)
  })

  test('of a server before 1.7 counts from the request that it answers', async ({
    onTestFinished: after,
  }) => {
    const server = await startServer({ era: '1.6' }, after)
    // Where connecting took longer than the answer, the answer is taken for one to the first two bytes: so on a busy machine.
    await eventually(async () => {
      const startedAt = performance.now()
      const { latencyMs } = await startClient({}, after).status({ host: server.ip, port: server.port })
      expect(latencyMs).toBeLessThan(performance.now() - startedAt - 245)
    })
  })
})

describe('giving up', () => {
  test('ends a lookup at once, with the signal’s reason', async () => {
    const server = await startServer({ script() {} })
    const controller = new AbortController()
    const check = startClient().status({ host: server.ip, port: server.port, signal: controller.signal })
    await eventually(() => expect(server.connections[0]?.handshake).toBeTruthy())
    const reason = new Error('changed my mind')
    controller.abort(reason)
    await expect(check).rejects.toBe(reason)
    await noneOpen(server)
  })

  test('before the start opens nothing', async () => {
    const server = await startServer()
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(startClient().status({ host: server.ip, port: server.port, signal })).rejects.toThrow(
      'too late',
    )
    expect(server.connections).toHaveLength(0)
  })

  test('ends DNS questions too', async () => {
    const asked: AbortSignal[] = []
    const dns = zoneDns({ 'A mc.example.com': 'silent', 'AAAA mc.example.com': 'silent' })
    const query: typeof dns.query = (question) => {
      asked.push(question.signal!)
      return dns.query(question)
    }
    const controller = new AbortController()
    const check = startClient({ dns: { ...dns, query } }).status({
      host: 'mc.example.com',
      port: 25566,
      signal: controller.signal,
    })
    controller.abort(new Error('stop'))
    await expect(check).rejects.toThrow('stop')
    expect(asked.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  test('leaves no timer behind', async () => {
    const server = await startServer({ script() {} })
    await delay(300)
    const before = timers()
    const controller = new AbortController()
    const check = startClient().status({ host: server.ip, port: server.port, signal: controller.signal })
    await delay(30)
    controller.abort(new Error('stop'))
    await expect(check).rejects.toThrow('stop')
    await noneOpen(server)
    expect(timers()).toBeLessThanOrEqual(before)
  })

  test('leaves no listener on a signal that outlives the lookup', async () => {
    const server = await startServer()
    const controller = new AbortController()
    let listening = 0
    const { signal } = controller
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => ((listening += 1), add(...args)),
      removeEventListener: (...args: Parameters<typeof remove>) => ((listening -= 1), remove(...args)),
    })
    const client = startClient()
    await Promise.all(
      Array.from({ length: 5 }, () => client.status({ host: server.ip, port: server.port, signal })),
    )
    expect(listening).toBe(0)
  })
})

describe('close', () => {
  test('ends lookups under way, refuses new ones, and may be called again', async () => {
    const server = await startServer({ script() {} })
    const client = startClient()
    const checks = [1, 2, 3].map(() => client.status({ host: server.ip, port: server.port }))
    await delay(20)
    const ended = Promise.allSettled(checks)
    await client.close()
    for (const outcome of await ended) expect(outcome).toMatchObject({ reason: { code: 'unavailable' } })
    await client.close()
    await expect(client.status({ host: server.ip, port: server.port })).rejects.toMatchObject({
      code: 'unavailable',
    })
    await noneOpen(server)
  })

  test('ends lookups under way when later ones have ended', async () => {
    const silent = await startServer({ script() {} })
    const answering = await startServer()
    const client = startClient()
    const check = client.status({ host: silent.ip, port: silent.port, timeoutMs: 60_000 })
    await client.status({ host: answering.ip, port: answering.port })
    const ended = expect(check).rejects.toMatchObject({ code: 'unavailable' })
    await client.close()
    await ended
  })

  test('ends no lookup that has ended already, because none is kept', async () => {
    const server = await startServer()
    const client = startClient()
    const lookUp = () => client.status({ host: server.ip, port: server.port })
    await Promise.all(Array.from({ length: 10 }, lookUp))
    // Each lookup that ends stops its timer.
    const stop = vi.spyOn(globalThis, 'clearTimeout')
    onTestFinished(() => stop.mockRestore())
    const closing = client.close()
    expect(stop).not.toHaveBeenCalled()
    await closing
  })

  test('closes the DNS client', async () => {
    const close = vi.fn(async () => {})
    await startClient({ dns: { ...zoneDns({}), close } }).close()
    expect(close).toHaveBeenCalledOnce()
  })
})

describe('invalid targets', () => {
  test.for([
    [undefined],
    [null],
    [{ host: 7 }],
    [{ host: '' }],
    [{ host: 'a b' }],
    [{ host: '[::1]' }],
    [{ host: 'mc.example.com:25565' }],
    [{ host: '127.1' }],
    [{ host: 'mc.example.com', port: 0 }],
    [{ host: 'mc.example.com', port: 65_536 }],
    [{ host: 'mc.example.com', port: 1.5 }],
    [{ host: 'mc.example.com', port: Number.NaN }],
    [{ host: 'mc.example.com', timeoutMs: 0 }],
    [{ host: 'mc.example.com', timeoutMs: -1 }],
    [{ host: 'mc.example.com', timeoutMs: Number.POSITIVE_INFINITY }],
    [{ host: 'mc.example.com', timeoutMs: Number.NaN }],
    [{ host: 'mc.example.com', timeoutMs: 2 ** 31 }],
    [{ host: 'mc.example.com', timeoutMs: '2000' }],
    [{ host: 'mc.example.com', timeout: 2000 }],
    [{ host: 'mc.example.com', signal: 'x' }],
  ])('%j', async ([target]) => {
    const check = startClient().status(target as never)
    await expect(check).rejects.toBeInstanceOf(UtilityApiError)
    await expect(check).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})

test('a refused connection is no reason for a legacy ping', async () => {
  const server = await startServer()
  await server.close()
  const check = startClient().status({ host: server.ip, port: server.port })
  expect(await endsBefore(1000, check)).toBe(true)
  await expect(check).rejects.toMatchObject({ reason: 'refused', cause: { code: 'ECONNREFUSED' } })
})

test('a bad frame is no reason for a legacy ping', async () => {
  const server = await startServer({
    script: ({ socket }) => socket.once('data', () => socket.write(Uint8Array.of(0))),
  })
  await expect(startClient().status({ host: server.ip, port: server.port })).rejects.toMatchObject({
    reason: 'protocol',
  })
  expect(server.connections).toHaveLength(1)
})

test('a close within a reply is no reason for a legacy ping', async () => {
  const server = await startServer({
    script: ({ socket }) => socket.once('data', () => socket.end(Uint8Array.of(5))),
  })
  await expect(startClient().status({ host: server.ip, port: server.port })).rejects.toMatchObject({
    reason: 'closed',
  })
  expect(server.connections).toHaveLength(1)
})

test('an open connection that times out is no reason for a legacy ping', async () => {
  const server = await startServer({ script() {} })
  const connect = vi.spyOn(Socket.prototype, 'connect')
  onTestFinished(() => connect.mockRestore())
  const check = startClient().status({ host: server.ip, port: server.port })
  await eventually(() => expect(server.connections[0]?.handshake).toBeTruthy())
  const [socket] = connect.mock.contexts as Socket[]
  socket?.destroy(Object.assign(new Error('gone'), { code: 'ETIMEDOUT' }))
  await expect(check).rejects.toMatchObject({ reason: 'timeout' })
  expect(server.connections).toHaveLength(1)
})

test('if the modern reply breaks off during the legacy ping, that one decides', async () => {
  const opened: Socket[] = []
  const server = await startServer({
    script({ socket }) {
      opened.push(socket)
      socket.once('data', (chunk) => {
        if (chunk[0] !== 0xfe) return
        opened[0]?.end(Uint8Array.of(0))
        opened[0]?.once('close', () => socket.end(encodeKick('old§1§2')))
      })
    },
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const check = startClient().status({ host: server.ip, port: server.port, timeoutMs: 5000 })
  await eventually(() => expect(server.connections[0]?.handshake).toBeTruthy())
  vi.advanceTimersByTime(2000)
  await expect(check).resolves.toMatchObject({ description: 'old', players: { online: 1, max: 2 } })
  expect(server.connections).toHaveLength(3)
})

test('1,000 lookups of silent servers end by the deadline while the process answers others', async ({
  skip,
}) => {
  skip(mostFiles < 5000, 'needs ulimit -n 5000')
  const modern = Promise.withResolvers<void>()
  const legacy = Promise.withResolvers<void>()
  const asked = { modern: 0, legacy: 0 }
  const server = await startServer({
    script: ({ socket }) =>
      socket.once('data', ([first]) => {
        if (first !== 0xfe && (asked.modern += 1) === 1000) modern.resolve()
        if (first === 0xfe && (asked.legacy += 1) === 1000) legacy.resolve()
      }),
  })
  const http = createHttpServer((_, response) => response.end('ok')).listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => void http.close())
  const { port } = http.address() as AddressInfo
  const client = startClient()
  const before = sockets()
  const heapBefore = process.memoryUsage().heapUsed
  // The deadline comes only when all else has been seen.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const checks = Promise.allSettled(
    Array.from({ length: 1000 }, () =>
      client.status({ host: server.ip, port: server.port, timeoutMs: 2000 }),
    ),
  )
  await modern.promise
  vi.advanceTimersByTime(800)
  await legacy.promise
  const others = Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${port}/`)).text())
  expect(await Promise.all(others)).toEqual(others.map(() => 'ok'))
  expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(100 * 2 ** 20)
  vi.advanceTimersByTime(1199)
  expect(await Promise.race([checks, Promise.resolve('under way')])).toBe('under way')
  vi.advanceTimersByTime(1)
  for (const outcome of await checks)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'timeout' } })
  vi.useRealTimers()
  await noneOpen(server)
  await server.close()
  http.closeAllConnections()
  await eventually(() => expect(sockets()).toBeLessThanOrEqual(before))
})
