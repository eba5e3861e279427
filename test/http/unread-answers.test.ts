/** Answers that clients do not read: what they hold, and what becomes of the connection. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createAdmin,
  createUtilityApi,
  type DnsAnswer,
  type Reply,
  type RequestContext,
  type UtilityApi,
} from 'utility-api'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import express from 'express'
import { rawClient, rawRequestText } from './support/raw.ts'
import { eventually } from '../support/eventually.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const path = '/v3/tools/dnscheck'
/** Some 240 KiB of JSON. */
const entries = ['x'.repeat(120_000)]
const records = [{ type: 'TXT' as const, host: 'a.example', ttl: 0, txt: entries.join(''), entries }]
const large: DnsAnswer = { status: 'NOERROR', records, cnameChain: [], transport: 'tcp', latencyMs: 1 }

async function after<Value>(value: Value): Promise<Value> {
  await new Promise((resolve) => setImmediate(resolve))
  return value
}

let api: UtilityApi
let headers: Record<string, string>
let rendered: number[]
/** The statuses of the requests that have been answered. */
let ended: number[]
const servers: Server[] = []

/** A service with so many resolvers, whose answers a caller may have so many of at once. */
async function start(resolvers: number, answers: number): Promise<void> {
  const storage = memoryStorage()
  const location = { location: 'Here', ip: '192.0.2.53', provider: 'Us' }
  api = createUtilityApi({
    storage,
    onRequestEnd: ({ status }) => ended.push(status),
    maxAnswerBytes: 4 * answers * resolvers * 250 * 1024,
    dns: {
      locations: Array.from({ length: resolvers }, () => location),
      client: { query: () => after(large), close: async () => {} },
    },
  })
  const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '' })
  headers = { Authorization: `Bearer ${accessToken}`, 'X-Record-Type': 'TXT' }
}

beforeEach(async () => {
  ended = []
  await start(1, 5)
  rendered = []
  const stringify = JSON.stringify.bind(JSON)
  vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown) => {
    const text = stringify(value)
    if (text.length > 100_000) rendered.push(text.length)
    return text
  })
})
afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
  await api.close()
})

const ask = (domain: string, context?: RequestContext, method = 'GET'): Promise<Reply> =>
  api.dispatch(
    {
      method,
      url: path,
      header: (name) => ({ ...headers, 'X-Domain': domain })[name] ?? null,
      body: async () => new Uint8Array(),
    },
    context,
  )

/** What five different checks at once are answered with, as many as a caller may have unwritten. */
async function statusOfFive(): Promise<number[]> {
  const replies = await Promise.all([1, 2, 3, 4, 5].map((index) => ask(`o${index}.example`)))
  for (const { written } of replies) written()
  return replies.map(({ status }) => status)
}

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const checkText = (domain: string): string =>
  rawRequestText(`GET ${path}`, { ...headers, 'X-Domain': domain })

test('equal checks share one body, made once, however many ask', async () => {
  const replies = await Promise.all(Array.from({ length: 200 }, () => ask('a.example')))
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  expect(new Set(replies.map(({ body }) => body)).size).toBe(1)
  expect(rendered).toHaveLength(1)
})

test('answers to different names are refused once a caller has its share unwritten, and made again once they are written', async () => {
  const replies = await Promise.all(Array.from({ length: 7 }, (_, index) => ask(`n${index}.example`)))
  const statuses = replies.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(5)
  expect(statuses.filter((status) => status === 503)).toHaveLength(2)
  expect((await ask('late.example')).status).toBe(503)
  for (const { written } of replies) written()
  expect((await ask('later.example')).status).toBe(200)
})

test('a reply that says twice that it was written gives nothing back twice', async () => {
  const replies = await Promise.all(Array.from({ length: 5 }, (_, index) => ask(`n${index}.example`)))
  for (let count = 0; count < 3; count += 1) replies[0]?.written()
  expect((await ask('one.example')).status).toBe(200)
  expect((await ask('two.example')).status).toBe(503)
})

test('what a mount forgets to say of its answers is found when they are gone', async () => {
  const forget = async (): Promise<void> => {
    const replies = await Promise.all(Array.from({ length: 5 }, (_, index) => ask(`n${index}.example`)))
    expect(replies.map(({ status }) => status)).toEqual(Array(5).fill(200))
  }
  await forget()
  await eventually(
    async () => {
      collect()
      expect(await statusOfFive()).toEqual(Array(5).fill(200))
    },
    { timeout: 10_000, interval: 50 },
  )
})

test('HEAD holds nothing, since it has no body', async () => {
  for (let count = 0; count < 8; count += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other, none of them written
    expect(await ask(`n${count}.example`, {}, 'HEAD')).toMatchObject({ status: 200, body: '' })
  }
})

test('of one connection 16 requests are under way at most, and others are not affected', async () => {
  const connection = {}
  const replies = await Promise.all(Array.from({ length: 17 }, () => ask('a.example', { connection })))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(16)
  const refusal = replies.find(({ status }) => status === 503)
  expect(refusal?.headers).toMatchObject({ Connection: 'close', 'Retry-After': '1' })
  expect((await ask('a.example', { connection: {} })).status).toBe(200)
  replies[0]?.written()
  refusal?.written()
  expect((await ask('a.example', { connection })).status).toBe(200)
})

describe('as a Response', () => {
  const fetched = (domain: string): Promise<Response> =>
    api.fetch(new Request(`http://x${path}`, { headers: { ...headers, 'X-Domain': domain } }))

  test('a large answer counts until the host has read it, and is whole', async () => {
    const responses = await Promise.all([1, 2, 3, 4, 5].map((index) => fetched(`n${index}.example`)))
    expect((await fetched('late.example')).status).toBe(503)
    const bodies = await Promise.all(responses.map((response) => response.text()))
    for (const [index, body] of bodies.entries())
      expect(Buffer.byteLength(body)).toBe(Number(responses[index]?.headers.get('Content-Length')))
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject([{ dns_results: records }])
    expect((await fetched('later.example')).status).toBe(200)
  })

  test('it counts no more once the host has canceled it', async () => {
    const responses = await Promise.all([1, 2, 3, 4, 5].map((index) => fetched(`n${index}.example`)))
    await responses[0]?.body?.cancel()
    expect((await fetched('later.example')).status).toBe(200)
  })

  test('what a host does with the octets that it got does not reach others', async () => {
    const [first, second] = await Promise.all([fetched('a.example'), fetched('a.example')])
    const piece = await first.body?.getReader().read()
    piece?.value?.fill(0)
    expect(JSON.parse(await second.text())).toMatchObject([{ status: 'NOERROR' }])
  })
})

describe.each<[string, () => Server]>([
  ['Node', () => createServer(toNodeHandler(api))],
  ['Express', () => createServer(express().use(toExpressHandler(api)))],
])('on %s', (_, serverOf) => {
  test('a client that sends more than 16 requests without reading is cut off, and then holds nothing', async () => {
    const port = await listen(serverOf())
    const client = await rawClient(port)
    client.socket.pause()
    client.write(Array.from({ length: 200 }, (_each, index) => checkText(`n${index}.example`)).join(''))
    client.socket.resume()
    await client.ended()
    expect(await statusOfFive()).toEqual([200, 200, 200, 200, 200])
  })

  test('16 requests sent at once are all answered, in their order', async () => {
    const port = await listen(serverOf())
    const client = await rawClient(port)
    const text = rawRequestText(`GET ${path}`, { ...headers, 'X-Domain': 'not a name' })
    client.write(text.repeat(16))
    for (let count = 0; count < 16; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      expect((await client.answer()).status).toBe(400)
    }
    client.close()
  })

  test('a client whose requests have more than 1024 headers together is cut off, and one such request is answered', async () => {
    const port = await listen(serverOf())
    const many = Object.fromEntries(Array.from({ length: 600 }, (_each, index) => [`h${index}`, 'x']))
    const alone = await rawClient(port)
    for (let count = 0; count < 3; count += 1) {
      alone.write(rawRequestText('GET /nowhere', many))
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await alone.answer()).status).toBe(404)
    }
    alone.close()
    const client = await rawClient(port)
    const check = rawRequestText(`GET ${path}`, { ...headers, 'X-Domain': 'a.example', ...many })
    client.write(check.repeat(2))
    await client.ended()
    await expect(client.answer()).rejects.toThrow(/ended/)
  })

  test('answers whose client leaves before they are written hold nothing', async () => {
    // More than the buffers between the two hold.
    await start(48, 1)
    const port = await listen(serverOf())
    const client = await rawClient(port)
    client.socket.pause()
    client.write(checkText('a.example'))
    await eventually(() => expect(ended).toEqual([200]))
    const statusOfAnother = async (): Promise<number> => {
      const { status, written } = await ask('other.example')
      written()
      return status
    }
    expect(await statusOfAnother()).toBe(503)
    client.close()
    await eventually(async () => expect(await statusOfAnother()).toBe(200))
  })
})
