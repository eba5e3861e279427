/** Requests that a client sends on one connection without waiting for answers: whose turn it is. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createAdmin, createUtilityApi, type DnsAnswer, type UtilityApi } from 'utility-api'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { admit } from '../../adapters/http/connections.ts'
import { rawClient, rawRequestText } from './support/raw.ts'
import { eventually } from '../support/eventually.ts'

const empty: DnsAnswer = { status: 'NOERROR', records: [], cnameChain: [], transport: 'udp', latencyMs: 1 }
const names = Array.from({ length: 16 }, (_, index) => `n${index}.example`)

let api: UtilityApi
let headers: Record<string, string>
/** The names that were asked for, in the order of the questions. */
let asked: string[]
let open: number
let mostOpen: number
/** Answers the questions that are open. */
let release: () => void
let released: Promise<void>
let ended: number[]
let server: Server

beforeEach(async () => {
  // Constants, since what is left of the test before would count in the variables.
  const questions: string[] = []
  const statuses: number[] = []
  asked = questions
  ended = statuses
  open = 0
  mostOpen = 0
  released = new Promise((resolve) => (release = resolve))
  const storage = memoryStorage()
  api = createUtilityApi({
    storage,
    onRequestEnd: ({ status }) => statuses.push(status),
    dns: {
      locations: [{ location: 'Here', ip: '192.0.2.53', provider: 'Us' }],
      client: {
        async query({ name }) {
          questions.push(name)
          open += 1
          mostOpen = Math.max(mostOpen, open)
          await released
          open -= 1
          return empty
        },
        close: async () => {},
      },
    },
  })
  const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '' })
  headers = { Authorization: `Bearer ${accessToken}`, 'X-Record-Type': 'TXT' }
})

afterEach(async () => {
  release()
  server.closeAllConnections()
  server.close()
  await api.close()
})

const check = (domain: string): string =>
  rawRequestText('GET /v3/tools/dnscheck', { ...headers, 'X-Domain': domain })

async function listen(listener: RequestListener): Promise<number> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe.each<[string, () => RequestListener]>([
  ['Node', () => toNodeHandler(api)],
  ['Express', () => express().use(toExpressHandler(api))],
])('on %s', (_, listener) => {
  test('one of a connection is worked on at a time, in their order', async () => {
    release()
    const client = await rawClient(await listen(listener()))
    client.write(names.map(check).join(''))
    for (let count = 0; count < names.length; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      expect((await client.answer()).status).toBe(200)
    }
    expect(asked).toEqual(names)
    expect(mostOpen).toBe(1)
    client.close()
  })

  test('the request of another connection does not wait for them', async () => {
    const port = await listen(listener())
    const [client, bystander] = [await rawClient(port), await rawClient(port)]
    client.write(names.map(check).join(''))
    bystander.write(check('bystander.example'))
    await eventually(() => expect(open).toBe(2))
    expect(asked.toSorted()).toEqual(['bystander.example', 'n0.example'])
    client.close()
    bystander.close()
  })

  test('those whose client leaves while they wait are not worked on', async () => {
    const client = await rawClient(await listen(listener()))
    client.write(names.map(check).join(''))
    await eventually(() => expect(asked).toEqual(['n0.example']))
    client.close()
    await eventually(() => expect(ended).toEqual([503]))
    release()
    await api.close()
    expect(asked).toEqual(['n0.example'])
    expect(ended).toEqual([503])
  })

  test('nor those that the host hands over after that, behind the first', async () => {
    const handler = listener()
    const arrived: Parameters<RequestListener>[] = []
    const client = await rawClient(await listen((...messages) => arrived.push(messages)))
    client.write(names.map(check).join(''))
    await eventually(() => expect(arrived).toHaveLength(names.length))
    client.close()
    await eventually(() => expect(arrived[0]?.[0].socket.closed).toBe(true))
    for (const messages of arrived) handler(...messages)
    await api.close()
    expect(asked).toEqual([])
    expect(ended).toEqual([503])
  })

  test('nor those behind an answer after which the connection closes', async () => {
    const handler = listener()
    const port = await listen((request, response) => {
      response.setHeader('Connection', 'close')
      handler(request, response)
    })
    const client = await rawClient(port)
    client.write(names.map(check).join(''))
    await eventually(() => expect(open).toBe(1))
    release()
    expect((await client.answer()).status).toBe(200)
    await client.ended()
    await api.close()
    expect(asked).toEqual(['n0.example'])
    expect(ended).toEqual([200])
  })

  test('a connection that sends too many at once gets nothing asked', async () => {
    const client = await rawClient(await listen(listener()))
    client.write(check('one-more.example').repeat(names.length + 1))
    await client.ended()
    await api.close()
    expect(asked).toEqual([])
    expect(ended).toEqual([503])
  })

  test('a GET with a body, which could not wait, ends the connection', async () => {
    const client = await rawClient(await listen(listener()))
    const withBody = { ...headers, 'X-Domain': 'n1.example', 'Content-Length': '1' }
    client.write(check('n0.example') + rawRequestText('GET /v3/tools/dnscheck', withBody, 'x'))
    await client.ended()
    await api.close()
    expect(asked).toEqual([])
  })

  test('one with a body does not wait, since its body would be kept meanwhile', async () => {
    const client = await rawClient(await listen(listener()))
    const body = JSON.stringify({ grant_type: 'authorization_code' })
    const json = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
    client.write(check('n0.example') + rawRequestText('POST /v4/oauth2/token', json, body))
    await eventually(() => expect(ended).toEqual([400]))
    expect(open).toBe(1)
    release()
    expect((await client.answer()).status).toBe(200)
    expect((await client.answer()).status).toBe(400)
    client.close()
  })
})

test('each answer that is not written hears of the end of its connection', async () => {
  const arrived: string[] = []
  const heard: string[] = []
  const port = await listen((request, response) => {
    const path = request.url ?? ''
    arrived.push(path)
    admit(request, response)?.whenWritten(() => heard.push(path))
  })
  const client = await rawClient(port)
  client.write(['/1', '/2', '/3'].map((path) => rawRequestText(`GET ${path}`)).join(''))
  await eventually(() => expect(arrived).toEqual(['/1', '/2', '/3']))
  client.close()
  await eventually(() => expect(heard.toSorted()).toEqual(['/1', '/2', '/3']))
})
