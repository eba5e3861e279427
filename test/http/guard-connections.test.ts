/** What a server with guardConnections does with clients that take nothing, ask too much, or open too many connections. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2, type Http2Server } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { guardConnections } from 'utility-api/node'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { mostConnections } from '../../adapters/http/most-connections.ts'
import { anonymous, answeredBeside, kindsOf, startFull } from './support/crowd.ts'
import { rawClient, rawRequestText } from './support/raw.ts'
import { eventually } from '../support/eventually.ts'

const servers: (Server | Http2Server)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  }
})

async function listen(server: Server | Http2Server): Promise<number> {
  guardConnections(server)
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
}

/** Answers with more than the buffers on the way hold. */
const answerMuch: RequestListener = (_, response) => response.end(Buffer.alloc(64 * 1024 * 1024))

test('it ends a connection with too many requests to the routes of the host', async () => {
  let asked = 0
  let dropped = 0
  const server = createServer(() => (asked += 1)).on('drop', () => (dropped += 1))
  const client = await rawClient(await listen(server))
  client.write(rawRequestText('GET /own').repeat(1000))
  await client.ended()
  expect(asked).toBeLessThanOrEqual(17)
  expect(dropped).toBe(1)
})

describe('a connection whose client takes nothing for ten seconds', () => {
  test('is ended, and an idle one is not', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const server = createServer(answerMuch)
    const port = await listen(server)
    const [stalled, idle] = [await rawClient(port), await rawClient(port)]
    stalled.socket.pause()
    stalled.write(rawRequestText('GET /'))
    await eventually(() => expect(stalled.socket.bytesRead).toBeGreaterThan(0))
    await vi.advanceTimersByTimeAsync(9000)
    expect(await connectionsOf(server)).toBe(2)
    await vi.advanceTimersByTimeAsync(3000)
    stalled.socket.resume()
    await stalled.ended()
    expect(await connectionsOf(server)).toBe(1)
    idle.close()
  })

  test('is ended with TLS as well', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const server = createTlsServer(anonymous, answerMuch)
    const options = { ...anonymous, host: '127.0.0.1', rejectUnauthorized: false }
    const stalled = connectTls({ ...options, port: await listen(server) }).on('error', () => {})
    await once(stalled, 'secureConnect')
    stalled.pause()
    stalled.write(rawRequestText('GET /'))
    await eventually(() => expect(stalled.bytesRead).toBeGreaterThan(0))
    await vi.advanceTimersByTimeAsync(9000)
    expect(await connectionsOf(server)).toBe(1)
    await vi.advanceTimersByTimeAsync(3000)
    await eventually(async () => expect(await connectionsOf(server)).toBe(0))
    stalled.destroy()
  })
})

test.each(['Node', 'serve'])(
  'strangers with more connections than %s may open files do not keep others out',
  async (host) => {
    using server = await startFull(host, 128)
    expect(await answeredBeside(200, server.port, 'http', '')).toBe(10)
  },
)

test('a server with maxConnections keeps them, and any other gets them', async () => {
  const own = createServer()
  own.maxConnections = 30_000
  guardConnections(own)
  expect(own.maxConnections).toBe(30_000)
  const other = createServer()
  guardConnections(other)
  expect(other.maxConnections).toBeGreaterThan(0)
  expect(other.maxConnections).toBeLessThanOrEqual(10_000)
  own.emit('close')
  other.emit('close')
})

test('where the host sets no limit, an idle connection stays when another comes', () => {
  const server = Object.assign(createServer(), { maxConnections: Infinity })
  guardConnections(server)
  const sockets = [new PassThrough(), new PassThrough()]
  for (const socket of sockets) server.emit('connection', socket as never)
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false])
  server.emit('close')
})

test.each([
  [20_000, 4e9, 10_000],
  [1024, 4e9, 512],
  ['unlimited', 4e9, 10_000],
  [20_000, 3e8, 1000],
  // As Bun says.
  [20_000, 0, 10_000],
] as const)('of %s files and a heap of %i octets, it gets %i connections', (soft, memoryLimit, most) => {
  const report = { userLimits: { open_files: { soft } }, javascriptHeap: { memoryLimit } }
  vi.spyOn(process.report, 'getReport').mockReturnValueOnce(report)
  expect(mostConnections()).toBe(most)
})

describe('connections to a server with maxConnections', () => {
  const most = 20

  async function startBounded(answer: RequestListener): Promise<{ server: Server; port: number }> {
    const server = createServer(answer)
    server.maxConnections = most
    return { server, port: await listen(server) }
  }

  test.each([
    ['192.0.2.1', '192.0.2.2'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['2001:db8:0:1:a:b:c:*', '2001:db8:0:2:a:b:c:1'],
  ])('are ended before another that idles longer, if most are those of %s', async (crowd, other) => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const { server } = await startBounded(() => {})
    const open = (remoteAddress: string): PassThrough => {
      vi.advanceTimersByTime(1)
      const socket = Object.assign(new PassThrough(), { remoteAddress })
      server.emit('connection', socket)
      return socket
    }
    const single = open(other)
    const first = open(crowd)
    for (let count = 0; count < 2 * most; count += 1) open(crowd.replace('*', String(count)))
    expect([single.destroyed, first.destroyed]).toEqual([false, true])
  })

  test('stay if they have asked later than others, though they were opened earlier', async () => {
    const { port } = await startBounded((_, response) => response.end('ok'))
    const first = await rawClient(port)
    const second = await rawClient(port)
    first.write(rawRequestText('GET /'))
    expect((await first.answer()).status).toBe(200)
    for (let count = 2; count < most; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rawClient(port)
    }
    await second.ended()
    first.write(rawRequestText('GET /'))
    expect((await first.answer()).status).toBe(200)
  })

  test('are ended if their request does not end, and the server says so', async () => {
    const { server, port } = await startBounded(() => {})
    const dropped: unknown[] = []
    server.on('drop', (socket) => dropped.push(socket?.remotePort))
    const half = await rawClient(port)
    half.write(rawRequestText('POST /', { 'Content-Length': '10' }, 'half'))
    await once(server, 'request')
    const { localPort } = half.socket
    for (let count = 1; count < most; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rawClient(port)
    }
    await half.ended()
    expect(dropped).toEqual([localPort])
  })

  const refuse: RequestListener = (_, response) => response.writeHead(401).end()

  test.each(kindsOf('https'))('with TLS, kind of others: %s', async (_kind, sent) => {
    const server = createTlsServer(anonymous, refuse)
    server.maxConnections = most
    expect(await answeredBeside(100, await listen(server), 'https', sent)).toBe(10)
  })

  test.each(kindsOf('http2'))('of HTTP/2, kind of others: %s', async (_kind, sent) => {
    const server = createHttp2(refuse as never)
    server.maxConnections = most
    expect(await answeredBeside(100, await listen(server), 'http2', sent)).toBe(10)
  })

  test('stay if a request is under way, or if they have been upgraded', async () => {
    const held: ServerResponse[] = []
    const { server, port } = await startBounded((_, response) => void held.push(response))
    server.on('upgrade', (_, socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
    const [waiting, upgraded] = [await rawClient(port), await rawClient(port)]
    waiting.write(rawRequestText('GET /'))
    upgraded.write(rawRequestText('GET /', { Connection: 'Upgrade', Upgrade: 'echo' }))
    await eventually(() => expect(held).toHaveLength(1))
    expect((await upgraded.answer()).status).toBe(101)
    for (let count = 0; count < 3 * most; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rawClient(port)
    }
    held[0]?.end('late')
    expect((await waiting.answer()).status).toBe(200)
    expect(upgraded.socket.readableEnded).toBe(false)
    upgraded.close()
  })
})
