import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { createUtilityApi } from 'utility-api'
import {
  createDnsClient,
  createDohClient,
  encodeQuery,
  readAnswer,
  type DohClientOptions,
} from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeDnsServer } from 'utility-api/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { dnsStatuses, type DnsAnswer } from '../../src/domain/dns-answer.ts'
import { encodeName } from '../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery, type FakeDnsQuery } from '../../src/testing/dns-query.ts'
import { endsBefore } from '../support/ends-before.ts'
import { patched, rawRecord, rawReply, rightRecord } from './support/messages.ts'
import { eventually } from '../support/eventually.ts'

const zone = { records: [rightRecord] }
const question = { name: 'example.com', type: 'A' } as const
const headers = { 'Content-Type': 'application/dns-message' }

type Behavior = (response: ServerResponse, query: FakeDnsQuery, request: IncomingMessage) => void

/** An endpoint that does what the test wants. */
async function listen(behave: Behavior) {
  const requests: { readonly request: IncomingMessage; readonly query: FakeDnsQuery }[] = []
  const connections: Socket[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray()
    const query = readFakeDnsQuery(Buffer.concat(chunks), 'tcp', 0, zone)
    if (query === null) return void response.writeHead(400).end()
    requests.push({ request, query })
    behave(response, query, request)
  }).on('connection', (connection: Socket) => connections.push(connection))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { server: { ip: '192.0.2.53', doh: `http://127.0.0.1:${port}/dns-query` }, requests, connections }
}

async function ask(behave: Behavior, timeoutMs = 5000) {
  const { server, requests, connections } = await listen(behave)
  const client = createDohClient()
  const query = client.query({ ...question, server, timeoutMs })
  const inTime = await endsBefore(timeoutMs + 2000, query)
  await client.close()
  expect(inTime).toBe(true)
  return { answer: await query, requests, connections }
}

const send =
  (make: (query: FakeDnsQuery) => Uint8Array, status = 200, more: Record<string, string> = {}): Behavior =>
  (response, query) =>
    void response.writeHead(status, { ...headers, ...more }).end(make(query))
const right = (query: FakeDnsQuery): Buffer => query.answer()
const broken = (query: FakeDnsQuery): Buffer =>
  rawReply(query, { answers: [rawRecord({ data: Buffer.of(1, 2, 3) })] })
/** The answer, and records that nobody asked for, so many octets in all. */
function padded(query: FakeDnsQuery, length: number): Buffer {
  const data = Buffer.from(zone.records[0]?.type === 'A' ? [192, 0, 2, 1] : [])
  const answer = rawReply(query, {
    answers: [rawRecord({ data }), rawRecord({ type: 65_280, data: Buffer.alloc(0) })],
  })
  return rawReply(query, {
    answers: [rawRecord({ data }), rawRecord({ type: 65_280, data: Buffer.alloc(length - answer.length) })],
  })
}

async function octetAfterOctet(response: ServerResponse, octets: Buffer): Promise<void> {
  for (const octet of octets) {
    response.write(Buffer.of(octet))
    await new Promise((resolve) => setImmediate(resolve))
  }
  response.end()
}

test('asks by POST, with the id 0, and with nothing that says who asks', async () => {
  const { answer, requests } = await ask(send(right))
  expect(answer).toEqual({
    status: 'NOERROR',
    records: zone.records,
    cnameChain: [],
    transport: 'https',
    latencyMs: expect.any(Number),
    ttlSeconds: 60,
  })
  const [{ request, query } = { request: undefined, query: undefined }] = requests
  expect(requests).toHaveLength(1)
  expect([request?.method, request?.url]).toEqual(['POST', '/dns-query'])
  expect(request?.headers).toMatchObject({
    accept: 'application/dns-message',
    'content-type': 'application/dns-message',
  })
  expect(request?.headers).not.toHaveProperty('cookie')
  expect(request?.headers).not.toHaveProperty('authorization')
  expect(Buffer.from(query?.message ?? []).equals(encodeQuery('example.com', 'A').message)).toBe(true)
})

test.each<[string, Behavior]>([
  [
    'octet after octet',
    (response, query) => void octetAfterOctet(response.writeHead(200, headers), right(query)),
  ],
  ['with another status of success', send(right, 203)],
  ['with a parameter of the type', send(right, 200, { 'Content-Type': 'Application/DNS-Message ; x=1' })],
  ['compressed', send((query) => gzipSync(right(query)), 200, { 'Content-Encoding': 'gzip' })],
  ['in 65,535 octets', send((query) => padded(query, 65_535))],
  ['with another id', send((query) => patched(right(query), { 0: 1 }))],
])('an answer counts that comes %s', async (_, behave) => {
  const { answer } = await ask(behave)
  expect(answer).toMatchObject({ status: 'NOERROR', records: zone.records, transport: 'https' })
})

test.each<[string, Behavior]>([
  [
    'refuses it',
    (response, query) =>
      send(() => query.answer({ rcode: query.udpPayloadSize === null ? 'NOERROR' : 'FORMERR' }))(
        response,
        query,
        response.req,
      ),
  ],
  [
    'sends what cannot be read',
    (response, query) => send(query.udpPayloadSize === null ? right : broken)(response, query, response.req),
  ],
])('a server that %s is asked again without EDNS', async (_, behave) => {
  const { answer, requests } = await ask(behave)
  expect(answer).toMatchObject({ status: 'NOERROR', records: zone.records })
  expect(requests.map(({ query }) => query.udpPayloadSize)).toEqual([1232, null])
})

const notMessage = 'not a DNS message'
const noAnswer = 'no answer to the question'
/** What endpoints do, how that ends, and what the cause says. */
const failing: Record<string, [Behavior, DnsAnswer['status'], cause?: string]> = {
  redirects: [
    (response) => void response.writeHead(307, { Location: '/other' }).end(),
    'UNREACHABLE',
    'redirect',
  ],
  'redirects elsewhere': [
    (response) => void response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
    'UNREACHABLE',
    'redirect',
  ],
  'needs HTTP/2': [
    send(right, 400),
    'UNREACHABLE',
    `answered 400 with application/dns-message, ${notMessage}`,
  ],
  'does not know the path': [send(right, 404), 'UNREACHABLE', 'answered 404'],
  'is asked too often': [send(right, 429), 'UNREACHABLE', 'answered 429'],
  fails: [send(right, 500), 'UNREACHABLE', 'answered 500'],
  'shows a page to sign in': [
    send(() => Buffer.from('<html>'), 200, { 'Content-Type': 'text/html' }),
    'UNREACHABLE',
    `answered 200 with text/html, ${notMessage}`,
  ],
  'writes to a terminal': [
    send(() => Buffer.alloc(0), 200, { 'Content-Type': `text/html;\x9b31m${'x'.repeat(5000)}` }),
    'UNREACHABLE',
    `answered 200 with text/html, ${notMessage}`,
  ],
  'names no type': [
    (response, query) => void response.end(right(query)),
    'UNREACHABLE',
    'answered 200 with nothing',
  ],
  'has no content': [(response) => void response.writeHead(204, headers).end(), 'UNREACHABLE', noAnswer],
  'sends nothing': [send(() => Buffer.alloc(0)), 'UNREACHABLE', noAnswer],
  'sends eleven octets': [send((query) => right(query).subarray(0, 11)), 'UNREACHABLE', noAnswer],
  'sends noise': [send(() => Buffer.alloc(500, 0xff)), 'UNREACHABLE', noAnswer],
  'answers another question': [send((query) => patched(right(query), { 13: 0x7a })), 'UNREACHABLE', noAnswer],
  'sends the query back': [send(({ message }) => message), 'UNREACHABLE', noAnswer],
  'sends 65,536 octets': [
    send((query) => Buffer.concat([padded(query, 65_535), Buffer.of(0)])),
    'UNREACHABLE',
    'more than a DNS message can hold',
  ],
  'sends a megabyte in a kilobyte': [
    send(() => gzipSync(Buffer.alloc(1_000_000)), 200, { 'Content-Encoding': 'gzip' }),
    'UNREACHABLE',
    'more than a DNS message can hold',
  ],
  'is cut': [
    (response, query) => {
      response.writeHead(200, { ...headers, 'Content-Length': 500 }).write(right(query))
      setTimeout(() => response.destroy(), 20)
    },
    'UNREACHABLE',
    'other side closed',
  ],
  'speaks no HTTP': [
    (response) => void response.socket?.end('what a stranger wrote\r\n\r\n'),
    'UNREACHABLE',
    'HTTP',
  ],
  closes: [(response) => void response.destroy(), 'UNREACHABLE', 'other side closed'],
  'sends what cannot be read': [send(broken), 'MALFORMED'],
  'sends the first half': [send((query) => right(query).subarray(0, -20)), 'MALFORMED'],
  'says that more is to come': [send((query) => patched(right(query), { 2: 0x83 })), 'TRUNCATED'],
  'says that there is none': [send((query) => query.answer({ rcode: 'NXDOMAIN', records: [] })), 'NXDOMAIN'],
  refuses: [send((query) => query.answer({ rcode: 'REFUSED' })), 'REFUSED'],
  'sends a header alone': [send(() => Buffer.from('000081820000000000000000', 'hex')), 'SERVFAIL'],
}

test.each(Object.entries(failing))('an endpoint that %s is named', async (_, [behave, status, cause]) => {
  const { answer, requests, connections } = await ask(behave)
  expect(answer).toMatchObject({ status, records: [], transport: 'https' })
  if (cause === undefined) expect(answer).not.toHaveProperty('cause')
  else expect(String(answer.cause)).toContain(cause)
  expect(inspect(answer.cause)).not.toContain('stranger')
  // The question goes nowhere else, and at most once more.
  expect(requests.every(({ request }) => request.url === '/dns-query')).toBe(true)
  expect(requests.length).toBeLessThanOrEqual(status === 'MALFORMED' ? 2 : 1)
  expect(connections.length).toBeLessThanOrEqual(2)
})

test.each<[string, Behavior]>([
  ['says nothing', () => {}],
  ['sends a head and no more', (response) => response.writeHead(200, headers).flushHeaders()],
  ['goes on for longer', (response, query) => void response.writeHead(200, headers).write(right(query))],
])('an endpoint that %s has until the deadline, and no connection after it', async (_, behave) => {
  const { answer, connections } = await ask(behave, 300)
  expect(answer).toMatchObject({ status: 'TIMEOUT', records: [], transport: 'https' })
  await eventually(() => expect(connections.every(({ closed }) => closed)).toBe(true))
})

test('what is endless is read for one message, and then left', async () => {
  let sent = 0
  const { answer, connections } = await ask((response) => {
    response.writeHead(200, headers)
    const pour = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384))) sent += 16_384
    }
    response.on('drain', pour)
    pour()
  })
  expect(answer).toMatchObject({ status: 'UNREACHABLE' })
  await eventually(() => expect(connections.every(({ closed }) => closed)).toBe(true))
  // No more than the buffers of both sides hold.
  expect(sent).toBeLessThan(16 * 2 ** 20)
})

/** Asks through a `fetch` of the test. */
function askBy(fetch: NonNullable<DohClientOptions['fetch']>, more: object = {}): Promise<DnsAnswer> {
  const server = { ip: '192.0.2.53', doh: 'https://dns.example/dns-query' }
  return createDohClient({ fetch }).query({ ...question, server, ...more })
}

test.each<[string, DohClientOptions['fetch'], unknown]>([
  [
    'throws',
    () => {
      throw new Error('no proxy')
    },
    'Error: no proxy',
  ],
  ['rejects with a word', () => Promise.reject('offline'), 'offline'],
  ['rejects with nothing', () => Promise.reject(), 'undefined'],
  [
    'has a cause',
    () => Promise.reject(new TypeError('fetch failed', { cause: new Error('no route') })),
    'Error: no route',
  ],
])('a fetch that %s is named', async (_, fetch, cause) => {
  const { cause: named, ...answer } = await askBy(fetch ?? globalThis.fetch)
  expect(answer).toMatchObject({ status: 'UNREACHABLE', transport: 'https' })
  expect(String(named)).toBe(cause)
})

test('a fetch that takes no notice of the deadline holds up nothing, and its response is canceled', async () => {
  const cancel = vi.fn()
  const { promise, resolve } = Promise.withResolvers<Response>()
  expect(await askBy(() => promise, { timeoutMs: 50 })).toMatchObject({ status: 'TIMEOUT' })
  resolve(new Response(new ReadableStream({ cancel }), { headers }))
  await eventually(() => expect(cancel).toHaveBeenCalledOnce())
})

test.each([
  ['another status', 500, 'application/dns-message'],
  ['another type', 200, 'text/html'],
])('a response with %s is canceled', async (_, status, type) => {
  const cancel = vi.fn()
  const body = new ReadableStream({ cancel })
  await askBy(async () => new Response(body, { status, headers: { 'Content-Type': type } }))
  expect(cancel).toHaveBeenCalledOnce()
})

test('without file descriptors, nobody else is to blame', async () => {
  const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' })
  const asked = askBy(() => Promise.reject(new TypeError('fetch failed', { cause })))
  await expect(asked).rejects.toMatchObject({ code: 'unavailable', cause })
})

test('a signal and the end of the client end what is under way', async () => {
  const signals: (AbortSignal | null | undefined)[] = []
  const client = createDohClient({
    fetch: (_, { signal, redirect, credentials }) => {
      expect([redirect, credentials]).toEqual(['error', 'omit'])
      signals.push(signal)
      return new Promise(() => {})
    },
  })
  const server = { ip: '192.0.2.53', doh: 'https://dns.example/' }
  const controller = new AbortController()
  const aborted = client.query({ ...question, server, signal: controller.signal })
  const closed = client.query({ ...question, server })
  controller.abort(new Error('gone'))
  await expect(aborted).rejects.toThrow('gone')
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false])
  await client.close()
  expect(await closed).toMatchObject({ status: 'UNREACHABLE', transport: 'https' })
  expect(signals[1]?.aborted).toBe(true)
  expect(await client.query({ ...question, server })).toMatchObject({
    status: 'UNREACHABLE',
    transport: 'https',
  })
  expect(signals).toHaveLength(2)
})

describe('the endpoint', () => {
  test('that is not known is UNREACHABLE, and nothing is sent', async () => {
    const fetch = vi.fn<typeof globalThis.fetch>()
    const answer = await createDohClient({ fetch }).query({ ...question, server: { ip: '192.0.2.53' } })
    expect(answer).toMatchObject({ status: 'UNREACHABLE', transport: 'https' })
    expect(String(answer.cause)).toContain('No endpoint')
    expect(fetch).not.toHaveBeenCalled()
  })

  test('can be chosen for each server', async () => {
    const { server, requests } = await listen(send(right))
    const endpoint = vi.fn(() => server.doh)
    const asked = { ip: '2001:db8::53', port: 5353, doh: 'https://not.example/' }
    const answer = await createDohClient({ endpoint }).query({ ...question, server: asked })
    expect(answer).toMatchObject({ status: 'NOERROR' })
    expect(endpoint.mock.calls).toEqual([[asked]])
    expect(requests).toHaveLength(1)
  })

  test('that is no URL is UNREACHABLE', async () => {
    const answer = await createDohClient({ endpoint: () => 'dns.example' }).query({
      ...question,
      server: { ip: '::1' },
    })
    expect(answer).toMatchObject({ status: 'UNREACHABLE' })
    expect(String(answer.cause)).toContain('Invalid URL')
  })
})

test.each<[string, object]>([
  ['a name that is none', { name: 'a..b' }],
  ['a server without an address', { server: { ip: 'dns.example', doh: 'https://dns.example/' } }],
  ['a deadline of no time', { timeoutMs: 0 }],
])('%s is refused as by the other client', async (_, wrong) => {
  const asked = { ...question, server: { ip: '192.0.2.53' }, ...wrong }
  const errors = await Promise.all(
    [createDohClient(), createDnsClient()].map((client) =>
      client.query(asked).catch((error: Error) => error),
    ),
  )
  expect(errors[0]).toMatchObject({ code: 'invalid_argument' })
  expect(errors[0]).toEqual(errors[1])
})

test.each([{ fetch: null }, { endpoint: 'https://dns.example/' }, { timeoutMs: 1000 }])(
  'the options %o are refused',
  (options) => {
    expect(() => createDohClient(options as object)).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
  },
)

test('whatever is sent, the answer is what TCP would bring, or says that none came', async () => {
  const octets = fc.oneof(fc.uint8Array({ maxLength: 600 }), fc.constant('right'))
  const flips = fc.dictionary(fc.nat(60).map(String), fc.nat(255), { maxKeys: 4 })
  const { message } = encodeQuery('example.com', 'A')
  const query = readFakeDnsQuery(message, 'tcp', 0, zone)
  if (query === null) throw new Error('no query')
  const property = fc.asyncProperty(octets, flips, async (sent, changes) => {
    const body = patched(sent === 'right' ? query.answer() : (sent as Uint8Array), {})
    for (const [at, octet] of Object.entries(changes)) if (Number(at) < body.length) body[Number(at)] = octet
    const answer = await askBy(async () => new Response(new Uint8Array(body), { headers }))
    const read = readAnswer(body, encodeQuery('example.com', 'A'), 'https', answer.latencyMs)
    expect(dnsStatuses).toContain(answer.status)
    if (read === null) expect(answer.status).toBe('UNREACHABLE')
    else expect(answer).toEqual(read)
  })
  await fc.assert(property, { numRuns: 500 })
})

test('the check hands over where to ask, and says how it was answered', async () => {
  const { server } = await listen(send(right))
  await using dns = await fakeDnsServer(zone)
  const label = { location: 'Here', provider: 'Us' }
  const locations = [
    { ...label, ...server },
    { ...label, ip: dns.ip, port: dns.port },
  ]
  const client = createDohClient()
  const api = createUtilityApi({ storage: memoryStorage(), dns: { client, locations } })
  const results = await api.checkDns({ domain: 'example.com', recordType: 'A' })
  expect(results).toMatchObject([
    { ip: '192.0.2.53', status: 'NOERROR', transport: 'https', dns_results: zone.records },
    { ip: dns.ip, status: 'UNREACHABLE', transport: 'https', dns_results: [] },
  ])
  expect(dns.queries).toEqual([])
  await Promise.all([api.close(), client.close()])
})

test('a URL of a location must be safe on the way', () => {
  const at = (doh: string) => () =>
    createUtilityApi({
      storage: memoryStorage(),
      dns: { locations: [{ location: 'Here', provider: 'Us', ip: '192.0.2.53', doh }] },
    })
  for (const doh of [
    'http://dns.example/',
    'dns.example',
    'ftp://dns.example/',
    '',
    'https://me:secret@dns.example/',
  ])
    expect(at(doh)).toThrow(/locations.*doh.*must be an https: URL/)
  expect(at('https://dns.example/dns-query')).not.toThrow()
})

describe('the codec', () => {
  const query = encodeQuery('example.com', 'A', { recursionDesired: false })
  const header = (flags: string): Buffer => Buffer.from(`0000${flags}0001000000000000`, 'hex')
  const asked = Buffer.concat([encodeName('example.com'), Buffer.of(0, 1, 0, 1)])

  test.each([
    ['another question', [header('8180'), encodeName('example.net'), Buffer.of(0, 1, 0, 1)], null],
    ['a truncated reply', [header('8380'), asked], 'TRUNCATED'],
    ['a reply that ends early', [Buffer.from('000081800001000100000000', 'hex'), asked], 'MALFORMED'],
    ['a server failure', [header('8182'), asked], 'SERVFAIL'],
    ['an empty answer', [header('8180'), asked], 'NODATA'],
  ])('reads %s', (_, parts, status) => {
    const answer = readAnswer(new Uint8Array(Buffer.concat(parts)), query, 'tcp', 1.5)
    expect(answer === null ? null : [answer.status, answer.transport, answer.latencyMs]).toEqual(
      status === null ? null : [status, 'tcp', 1.5],
    )
  })

  test('is enough for a client of one’s own', async () => {
    await using server = await fakeDnsServer(zone)
    const { createSocket } = await import('node:dgram')
    const socket = createSocket('udp4')
    onTestFinished(() => void socket.close())
    const reply = new Promise<Buffer>((resolve) => socket.once('message', resolve))
    socket.send(query.message, server.port, server.ip)
    expect(readAnswer(await reply, query, 'tcp', 1.5)).toMatchObject({
      status: 'NOERROR',
      records: zone.records,
    })
  })
})
