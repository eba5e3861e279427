/** What a host does to the headers of a request before it passes it on counts, as for its own routes. */
import express from 'express'
import type { IncomingMessage } from 'node:http'
import { createAdmin, createUtilityApi, type UtilityApi } from 'utility-api'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { listenNode, type Host } from './support/hosts.ts'
import { sendToPort, type TestAnswer, type TestRequest } from './support/send.ts'
import { eventually } from '../support/eventually.ts'

const storage = memoryStorage()
const { token } = await createAdmin({ storage }).createReseller()
const right = `Bearer ${token}`
const license = { 'X-Registered-To': 'Ada', 'X-Domain-Or-IP': 'shop.example', 'X-Status': 'valid' }

type Headers = Record<string, unknown>
type Change = (headers: Headers, request: IncomingMessage) => void

type Start = (api: UtilityApi, trustProxy: number, change: Change) => Promise<Host>

const mounts: Readonly<Record<string, Start>> = {
  Node(api, trustProxy, change) {
    const handler = toNodeHandler(api, { trustProxy })
    return listenNode((request, response) => {
      change(request.headers, request)
      void handler(request, response)
    })
  },
  Express(api, trustProxy, change) {
    const app = express().use((request: IncomingMessage, _response, next) => {
      change(request.headers, request)
      next()
    })
    return listenNode(app.use(toExpressHandler(api, { trustProxy })))
  },
}

const ok = (registeredTo = 'Ada') => ({ status: 200, json: { data: { registered_to: registeredTo } } })
const invalidToken = { status: 401, json: { error: 'invalid_token' } }
const twice = (name: string) => ({ status: 400, json: { message: `${name} must be sent once.` } })
const missing = { status: 400, json: { error: 'invalid_request' } }

type Sent = Record<string, string | string[]>
type Row = [kind: string, what: string, sent: Sent, change: Change, answer: object]

const set =
  (name: string, value: unknown): Change =>
  (headers) => {
    headers[name] = value
  }
const remove =
  (name: string): Change =>
  (headers) => {
    delete headers[name]
  }
const nothing = (): void => {}

const rows: Row[] = [
  ['set', 'a credential from a session', {}, set('authorization', right), ok()],
  ['overwrite', 'a credential', { Authorization: 'Bearer wrong' }, set('authorization', right), ok()],
  [
    'overwrite',
    'a credential that was right',
    { Authorization: right },
    set('authorization', 'Bearer wrong'),
    invalidToken,
  ],
  [
    'overwrite',
    'a credential that was sent twice',
    { Authorization: ['Bearer a', 'Bearer b'] },
    set('authorization', right),
    ok(),
  ],
  [
    'overwrite',
    'text',
    { Authorization: right, 'X-Registered-To': 'Bob' },
    set('x-registered-to', 'Ada'),
    ok(),
  ],
  [
    'overwrite',
    'text that was sent twice, by the first of both',
    { Authorization: right, 'X-Registered-To': ['Ada, of London', 'Bob'] },
    set('x-registered-to', 'Ada, of London'),
    ok('Ada, of London'),
  ],
  [
    'overwrite',
    'text that is no octets',
    { Authorization: right },
    set('x-registered-to', '\u00c3\u01a9'),
    ok('\u00c3\u01a9'),
  ],
  ['delete', 'a credential', { Authorization: right }, remove('authorization'), { status: 401 }],
  [
    'delete',
    'a credential that was sent twice',
    { Authorization: [right, right] },
    remove('authorization'),
    { status: 401, headers: { 'www-authenticate': expect.not.stringContaining('error') } },
  ],
  ['delete', 'by undefined', { Authorization: right }, set('authorization', undefined), { status: 401 }],
  ['delete', 'text', { Authorization: right }, remove('x-status'), missing],
  ['list', 'of one', { Authorization: right }, set('x-registered-to', ['Grace']), ok('Grace')],
  [
    'list',
    'of two',
    { Authorization: right },
    set('x-registered-to', ['Ada', 'Bob']),
    twice('X-Registered-To'),
  ],
  ['list', 'of credentials', { Authorization: right }, set('authorization', [right, right]), invalidToken],
  ['number', 'a name', { Authorization: right }, set('x-registered-to', 1815), ok('1815')],
  ['nothing', 'a credential that was sent once', { Authorization: right }, nothing, ok()],
  [
    'nothing',
    'a credential that was sent twice is refused',
    { Authorization: [right, right] },
    nothing,
    invalidToken,
  ],
  [
    'nothing',
    'text that was sent twice is refused',
    { Authorization: right, 'X-Registered-To': ['Ada', 'Bob'] },
    nothing,
    twice('X-Registered-To'),
  ],
  [
    'another header',
    'a credential that was sent twice is refused',
    { Authorization: [right, 'Bearer wrong'] },
    set('x-status', 'valid'),
    invalidToken,
  ],
]

describe.each(Object.entries(mounts))('%s', (_, start) => {
  const rateLimiter = { consume: vi.fn(async (_key: string) => ({ allowed: true }) as const) }
  const api = createUtilityApi({ storage, rateLimiter })
  let host: Host
  let change: Change
  beforeEach(async () => {
    host = await start(api, 1, (headers, request) => change(headers, request))
  })
  afterEach(() => host.close())

  const send = (headers: Sent, more: Partial<TestRequest> = {}): Promise<TestAnswer> =>
    sendToPort(host.port, {
      method: 'POST',
      path: '/v2/reseller/licenses/generate',
      headers: { ...license, ...headers },
      ...more,
    })

  test.each(rows)('%s: %s', async (_kind, _what, sent, made, answer) => {
    change = made
    expect(await send(sent)).toMatchObject(answer)
  })

  test.each<[string, Change, string]>([
    ['kept', nothing, '198.51.100.1'],
    ['stripped', remove('x-forwarded-for'), '127.0.0.1'],
    ['replaced', set('x-forwarded-for', '203.0.113.7'), '203.0.113.7'],
  ])('the address of a client whose X-Forwarded-For is %s', async (_what, made, address) => {
    change = made
    rateLimiter.consume.mockClear()
    await send({ Authorization: 'Bearer wrong', 'X-Forwarded-For': '198.51.100.1' })
    expect(rateLimiter.consume.mock.lastCall?.[0]).toBe(`address:${address}`)
  })

  test.each<[string, Change]>([
    ['deleted', remove('content-length')],
    ['another', set('content-length', '0')],
  ])('a body is dropped before storage answers, although its length is %s', async (_what, made) => {
    let request: IncomingMessage
    const slow = {
      ...storage,
      async findCredential(...args: Parameters<typeof storage.findCredential>) {
        await eventually(() => expect(request.readableEnded).toBe(true))
        return storage.findCredential(...args)
      },
    }
    const slowHost = await start(createUtilityApi({ storage: slow }), 0, (headers, incoming) => {
      request = incoming
      made(headers, incoming)
    })
    const sentHeaders = { Authorization: right, ...license }
    const path = '/v2/reseller/licenses/generate'
    const sent = { method: 'POST', path, headers: sentHeaders, body: 'x'.repeat(70_000) }
    expect(await sendToPort(slowHost.port, sent)).toMatchObject(ok())
    await slowHost.close()
  })
})
