/** Twenty ways to misuse a connection: nothing crashes, nothing stays behind, and others are served meanwhile. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { toNodeHandler } from 'utility-api/node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { rawClient, rawRequestText, type RawClient } from './support/raw.ts'
import { sendToPort } from './support/send.ts'
import { createWorld, generateRequest, type World } from './support/world.ts'
import { eventually } from '../support/eventually.ts'

const rounds = Number(process.env['ABUSE_ROUNDS'] ?? 1)
const idleConnections = Number(process.env['IDLE_CONNECTIONS'] ?? 500)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

let world: World
let server: Server
let port = 0
const broken = vi.fn()

beforeAll(async () => {
  world = await createWorld('api.fetch')
  // An owner's server, with shorter patience than Node's minutes.
  const timeouts = {
    headersTimeout: 400,
    requestTimeout: 800,
    connectionsCheckingInterval: 100,
    keepAliveTimeout: 500,
  }
  server = createServer(timeouts, toNodeHandler(world.api))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  process.on('uncaughtException', broken).on('unhandledRejection', broken)
})
afterAll(async () => {
  process.off('uncaughtException', broken).off('unhandledRejection', broken)
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
  await world.close()
})

const token = 'POST /v4/oauth2/token'
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const json = { 'Content-Type': 'application/json' }
const open = (count: number): Promise<RawClient[]> =>
  Promise.all(Array.from({ length: count }, () => rawClient(port)))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What each abuser does; it ends when the server has had enough, or by leaving. */
const abuses: Record<string, () => Promise<void>> = {
  'headers, one octet at a time': () => drip('GET / HTTP/1.1\r\nHost: x\r\nX: '),
  'a request line that never ends': () => drip('GET /'),
  'half a header, then silence': () => silence('GET / HTTP/1.1\r\nHost'),
  'nothing at all': () => silence(''),
  'half a body, then silence': () =>
    silence(rawRequestText(token, { ...json, 'Content-Length': '1000' }, '{"code":')),
  'a body, one octet at a time': () => drip(rawRequestText(token, { ...json, 'Content-Length': '1000' })),
  'a chunk that never ends': () =>
    silence(rawRequestText(token, { ...json, 'Transfer-Encoding': 'chunked' }, '400\r\n{"')),
  'half a body, then gone': () =>
    leave(rawRequestText(token, { ...json, 'Content-Length': '1000' }, '{"code":')),
  'gone before the answer': () => leave(rawRequestText(lookUp(), lookUpHeaders())),
  'gone with a reset': async () => {
    for (const client of await open(50)) {
      client.write(rawRequestText(lookUp(), lookUpHeaders()))
      client.socket.resetAndDestroy()
    }
  },
  junk: () => finish('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.repeat(100)),
  'a good request with junk behind it': () => finish(`${rawRequestText('GET /')}\0\0junk\r\n\r\n`),
  'a thousand requests at once, nobody reading': async () => {
    const client = await rawClient(port)
    client.socket.pause()
    client.write(rawRequestText('GET /nowhere').repeat(1000))
    await pause(200)
    client.close()
  },
  'ten thousand headers': () =>
    finish(
      `GET / HTTP/1.1\r\n${Array.from({ length: 10_000 }, (_, index) => `X-${index}: x\r\n`).join('')}\r\n`,
    ),
  'one header of a megabyte': () => finish(rawRequestText('GET /', { 'X-Status': 'x'.repeat(1_000_000) })),
  'a path of a megabyte': () => finish(rawRequestText(`GET /${'x'.repeat(1_000_000)}`)),
  'two lengths, and chunks besides': () =>
    finish(
      'POST /v4/oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ),
  'a negative length, and one beyond all numbers': async () => {
    await finish(rawRequestText(token, { ...form, 'Content-Length': '-1' }))
    await finish(rawRequestText(token, { ...form, 'Content-Length': '9'.repeat(40) }))
  },
  'an upgrade, a tunnel and a method of its own': async () => {
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'x' }
    const client = await rawClient(port)
    client.write(rawRequestText('GET /v3/tools/dnscheck', upgrade))
    await pause(50)
    client.close()
    await finish(rawRequestText('CONNECT x:1'))
    await finish(rawRequestText('BREW /v3/tools/dnscheck'))
  },
  '32 MB where 64 KB are allowed': async () => {
    const client = await rawClient(port)
    client.write(rawRequestText(token, { ...form, 'Content-Length': '33554432' }, 'x'.repeat(70_000)))
    expect((await client.answer()).status).toBe(413)
    for (let count = 0; count < 32; count += 1) client.write(Buffer.alloc(1_000_000, 'x'))
    await pause(100)
    client.close()
  },
}

const lookUp = (): string => 'GET /v4/games/blockgame/lookup'
const lookUpHeaders = (): Record<string, string> => ({
  Basic: world.apiKey,
  'X-Address': world.silentGame.ip,
  'X-Port': String(world.silentGame.port),
})

/** Twenty clients that send an octet every 10 ms until the server hangs up. */
async function drip(start: string): Promise<void> {
  const clients = await open(20)
  for (const client of clients) client.write(start)
  const timer = setInterval(
    () => clients.forEach((client) => client.socket.writable && client.write('x')),
    10,
  )
  await Promise.all(clients.map((client) => client.ended()))
  clearInterval(timer)
  for (const client of clients) client.close()
}

/** Fifty clients that wait until the server hangs up. */
async function silence(text: string): Promise<void> {
  const clients = await open(50)
  for (const client of clients) client.write(text)
  await Promise.all(clients.map((client) => client.ended()))
  for (const client of clients) client.close()
}

async function leave(text: string): Promise<void> {
  for (const client of await open(50)) {
    client.write(text)
    await pause(1)
    client.close()
  }
}

/** A client that sends and looks at whatever comes until it is hung up on. */
async function finish(text: string): Promise<void> {
  const client = await rawClient(port)
  client.write(text)
  await client.ended()
  client.close()
}

async function expectService(): Promise<void> {
  const answer = await sendToPort(port, generateRequest(world.resellerToken))
  expect(answer).toMatchObject({ status: 200 })
}

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })

test('there are twenty', () => expect(Object.keys(abuses)).toHaveLength(20))

test.each(Object.keys(abuses))('%s', async (name) => {
  const abuse = abuses[name]?.()
  await expectService()
  await abuse
  await expectService()
  await eventually(async () => expect(await connections()).toBe(0))
  await eventually(async () => expect(await world.silentLookups()).toMatchObject({ open: 0 }), {
    timeout: 5000,
  })
  expect(broken).not.toHaveBeenCalled()
})

test('all of them together, again and again, leave nothing in the heap', async () => {
  const round = async (): Promise<number> => {
    await Promise.all(Object.values(abuses).map((abuse) => abuse()))
    await eventually(async () => expect(await connections()).toBe(0), { timeout: 5000 })
    await pause(50)
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  await round()
  const before = await round()
  for (let count = 0; count < rounds; count += 1) await round()
  const after = await round()
  // Over 1,000 requests in a round: a kilobyte forgotten for each would be a megabyte.
  expect(after - before).toBeLessThan(1_000_000)
  await expectService()
}, 60_000)

test(`${idleConnections} connections kept alive and idle: others are served, and they end`, async () => {
  const { headersTimeout, requestTimeout } = server
  Object.assign(server, { headersTimeout: 60_000, requestTimeout: 60_000 })
  const clients: RawClient[] = []
  while (clients.length < idleConnections) clients.push(...(await open(250)))
  for (const client of clients.slice(0, idleConnections / 10)) client.write(rawRequestText('GET /nowhere'))
  await expectService()
  expect(await connections()).toBeGreaterThanOrEqual(idleConnections * 0.9)
  Object.assign(server, { headersTimeout, requestTimeout })
  await Promise.all(clients.map((client) => client.ended()))
  for (const client of clients) client.close()
  await expectService()
  await eventually(async () => expect(await connections()).toBe(0))
  expect(broken).not.toHaveBeenCalled()
}, 60_000)
