/** What belongs to one mount alone, and what a host may do to it. */
import express5 from 'express'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect } from 'node:http2'
import { createAdmin, createUtilityApi, type RateLimiter, type RequestEndEvent } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler, type NodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expresses, listenHttp2, listenNode, type Host } from './support/hosts.ts'
import { rawClient, rawRequestText } from './support/raw.ts'
import { sendToPort } from './support/send.ts'
import { generateRequest, redirectUri } from './support/world.ts'
import { eventually } from '../support/eventually.ts'
import { grantFields } from './support/grant.ts'
import { jsonRequest, rawRequest } from './support/token-request.ts'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const api = createUtilityApi({ storage })
const { token } = await admin.createReseller()
const generate = generateRequest(token)

const hosts: Host[] = []
async function listen(listener: RequestListener): Promise<number> {
  const host = await listenNode(listener)
  hosts.push(host)
  return host.port
}
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()))
})

/** A limiter that remembers whom it was asked for. */
function recorder(): RateLimiter & { keys: string[] } {
  const keys: string[] = []
  return {
    keys,
    async consume(key) {
      keys.push(key)
      return { allowed: true }
    },
  }
}

describe.each(Object.entries(expresses))('%s', (_, express) => {
  test('fallthrough leaves other paths to others, unseen by the hooks', async () => {
    const events: RequestEndEvent[] = []
    const debug = vi.fn()
    const logger = { debug, info: debug, warn: debug, error: debug }
    const watched = createUtilityApi({ storage, logger, onRequestEnd: (event) => events.push(event) })
    const app = express().use(toExpressHandler(watched, { fallthrough: true }))
    app.use((request, response) => void response.status(418).json({ path: request.path }))
    const port = await listen(app)
    const other = await sendToPort(port, { method: 'POST', path: '/other', body: 'x'.repeat(70_000) })
    expect(other).toMatchObject({ status: 418, json: { path: '/other' } })
    expect(events).toStrictEqual([])
    expect(debug).not.toHaveBeenCalled()
    expect(await sendToPort(port, { ...generate, method: 'GET' })).toMatchObject({ status: 405 })
    expect(await sendToPort(port, generate)).toMatchObject({ status: 200 })
    const unknown = { ...generate, method: 'PUT', path: '/v2/reseller/LIC-none/update' }
    expect(await sendToPort(port, unknown)).toMatchObject({ json: { error: 'license_not_found' } })
    expect(events.map(({ status }) => status)).toStrictEqual([405, 200, 404])
  })

  test('without it, other paths are answered, and the log says that there is such an option', async () => {
    const debug = vi.fn()
    const logger = { debug, info() {}, warn() {}, error() {} }
    const watched = createUtilityApi({ storage, logger })
    const app = express().use(toExpressHandler(watched))
    const next = vi.fn()
    app.use(next)
    const port = await listen(app)
    const causeOf = async (mount: number, path: string): Promise<unknown> => {
      expect(await sendToPort(mount, { method: 'GET', path })).toMatchObject({ status: 404 })
      return debug.mock.lastCall?.[1]?.cause
    }
    expect(await causeOf(port, '/other')).toBe(
      'No operation has this path. Routes after this mount need { fallthrough: true }.',
    )
    expect(await causeOf(port, '/v3/tools/dnscheck/')).toMatch(/with a slash at its end/)
    expect(next).not.toHaveBeenCalled()
    expect(await causeOf(await listen(toNodeHandler(watched)), '/other')).toBeUndefined()
  })

  test('an error of the host reaches its own error handler', async () => {
    const app = express()
    app.use((_request, response, next) => {
      response.writeHead = () => {
        throw new Error('patched')
      }
      next()
    })
    app.use(toExpressHandler(api))
    const seen = vi.fn()
    app.use(((error, _request, response, _next) => {
      seen(error)
      response.destroy()
    }) as express5.ErrorRequestHandler)
    await expect(sendToPort(await listen(app), generate)).rejects.toThrow()
    expect(seen).toHaveBeenCalledWith(new Error('patched'))
  })

  test('headers that the host has set before survive, on refusals too', async () => {
    const app = express()
    app.use((_request, response, next) => {
      response.set({
        'Access-Control-Allow-Origin': '*',
        'Set-Cookie': ['a=1', 'b=2'],
        'Content-Type': 'text/html',
      })
      next()
    })
    app.use(toExpressHandler(api))
    const port = await listen(app)
    for (const [request, status] of [
      [generate, 200],
      [{ ...generate, headers: {} }, 401],
    ] as const) {
      const answer = await sendToPort(port, request)
      expect(answer).toMatchObject({ status })
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'set-cookie': ['a=1', 'b=2'],
        'content-type': 'application/json',
      })
    }
  })

  test('fields that a parser turned into lists and objects are as unknown as without it', async () => {
    const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    const bare = await listen(express().use(toExpressHandler(api)))
    const parsed = await listen(express().use(express.urlencoded({ extended: true }), toExpressHandler(api)))
    const fields = grantFields({ clientId, clientSecret }, code, redirectUri)
    const exchange = (port: number, pairs: [string, string][]): ReturnType<typeof sendToPort> =>
      sendToPort(
        port,
        // A media type in any case means the same (RFC 9110 section 8.3.1).
        rawRequest(new URLSearchParams(pairs).toString(), {
          'Content-Type': 'Application/X-WWW-Form-URLEncoded',
        }),
      )
    const pairs = Object.entries(fields)
    for (const name of Object.keys(fields)) {
      for (const brackets of ['[]', '[0]', '[a]', '[a][b]', '[__proto__]']) {
        const renamed = pairs.map(([each, value]): [string, string] =>
          each === name ? [`${name}${brackets}`, value] : [each, value],
        )
        const [{ status, json }, other] = [await exchange(parsed, renamed), await exchange(bare, renamed)]
        expect([status, json], `${name}${brackets}`).toEqual([other.status, other.json])
        expect(status).toBeGreaterThanOrEqual(400)
      }
      const twice = await exchange(parsed, [...pairs, [name, fields[name as keyof typeof fields]]])
      const error = { error: 'invalid_request', error_description: `${name} must be sent once.` }
      expect(twice).toMatchObject({ status: 400, json: error })
    }
    expect(await exchange(parsed, [...pairs, ['client_id[]', 'another']])).toMatchObject({ status: 400 })
    expect(await exchange(parsed, pairs)).toMatchObject({ status: 200 })
  })

  test('a request that the host has already answered is left alone', async () => {
    const app = express()
    app.use((_request, response, next) => {
      response.status(202).send('host')
      next()
    })
    app.use(toExpressHandler(api))
    expect(await sendToPort(await listen(app), generate)).toMatchObject({ status: 202, text: 'host' })
  })

  test('the bytes that a parser kept are read, not what it parsed', async () => {
    const app = express()
    const keep = (request: object, _response: object, rawBody: Buffer): void =>
      void Object.assign(request, { rawBody })
    app.use(express.json({ verify: keep }), toExpressHandler(api))
    const body = `{"grant_type":"a","grant_type":"b"}`
    const headers = { 'Content-Type': 'application/json' }
    const answer = await sendToPort(await listen(app), rawRequest(body, headers))
    expect(answer.json).toMatchObject({ error_description: 'grant_type must be sent once.' })
  })

  test('what a host keeps as rawBody is read only if it is bytes', async () => {
    const app = express()
    const keep = (request: object, _response: object, bytes: Buffer): void =>
      void Object.assign(request, { rawBody: bytes.toString() })
    app.use(express.json({ verify: keep }), toExpressHandler(api))
    const request = jsonRequest({ client_id: 'a', client_secret: 'b' })
    const answer = await sendToPort(await listen(app), request)
    expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
  })

  test('a host that has set an encoding for the body', async () => {
    const app = express()
    app.use((request, _response, next) => {
      request.setEncoding('utf8')
      next()
    })
    app.use(toExpressHandler(api))
    const request = jsonRequest({ client_id: 'a', client_secret: 'b', state: 'ä€' })
    const answer = await sendToPort(await listen(app), request)
    expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
  })

  test.each(['text', 'raw'] as const)('express.%s() before us', async (parser) => {
    const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
    const { code } = await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
    const app = express().use(express[parser]({ type: '*/*' }), toExpressHandler(api))
    const request = jsonRequest(grantFields({ clientId, clientSecret }, code, redirectUri))
    const answer = await sendToPort(await listen(app), request)
    expect(answer).toMatchObject({ status: 200 })
  })

  test('in a function of a cloud, whose adapter makes requests without a raw list of headers or a socket', async () => {
    const app = express().use(toExpressHandler(api))
    const port = await listen((request, response) => {
      // Read first: the list is what they are made of.
      expect(request.headers.authorization).toBeDefined()
      Object.defineProperty(request, 'rawHeaders', { value: [] })
      Object.defineProperty(request, 'socket', { value: { remoteAddress: '192.0.2.1' } })
      app(request, response)
    })
    expect(await sendToPort(port, generate)).toMatchObject({ status: 200 })
  })

  test('every way to write a prefix', async () => {
    const handler = toExpressHandler(createUtilityApi({ storage, basePath: '/api' }))
    const wildcard = express === express5 ? '/api/*splat' : '/api/*'
    for (const app of [
      express().use('/api', handler),
      express().use(handler),
      express().all(wildcard, handler),
      express().use('/api', express.Router().use(handler)),
    ]) {
      const port = await listen(app)
      expect(await sendToPort(port, { ...generate, path: `/api${generate.path}` })).toMatchObject({
        status: 200,
      })
    }
  })

  test.each([
    ['198.51.100.1:4711', '198.51.100.1'],
    ['[2001:db8::1]:4711', '2001:db8::/64'],
    ['unknown', '127.0.0.1'],
  ])("behind the application's own proxy, %s counts as %s", async (forwardedFor, expected) => {
    const headers = { 'X-Forwarded-For': forwardedFor, Authorization: 'Bearer wrong' }
    const rateLimiter = recorder()
    const handler = toExpressHandler(createUtilityApi({ storage, rateLimiter }))
    const app = express().set('trust proxy', 1).use(handler)
    await sendToPort(await listen(app), { ...generate, headers })
    expect(rateLimiter.keys).toStrictEqual([`address:${expected}`])
  })

  test("the application's trust proxy setting decides who is counted, unless the mount has its own", async () => {
    const forwarded = { 'X-Forwarded-For': '198.51.100.1, 198.51.100.2' }
    const wrong = { ...generate, headers: { ...forwarded, Authorization: 'Bearer wrong' } }
    const rateLimiter = recorder()
    const limited = createUtilityApi({ storage, rateLimiter })
    const plain = express().use(toExpressHandler(limited))
    const trusting = express().set('trust proxy', 1).use(toExpressHandler(limited))
    const told = express()
      .set('trust proxy', 1)
      .use(toExpressHandler(limited, { trustProxy: 2 }))
    const distrusting = express()
      .set('trust proxy', 1)
      .use(toExpressHandler(limited, { trustProxy: 0 }))
    for (const app of [plain, trusting, told, distrusting]) await sendToPort(await listen(app), wrong)
    expect(rateLimiter.keys).toStrictEqual([
      'address:127.0.0.1',
      'address:198.51.100.2',
      'address:198.51.100.1',
      'address:127.0.0.1',
    ])
  })
})

describe('the address of the client', () => {
  const cases: [number | undefined, string | null, string][] = [
    [undefined, '198.51.100.1', '127.0.0.1'],
    [0, '198.51.100.1', '127.0.0.1'],
    [1, null, '127.0.0.1'],
    [1, '203.0.113.9, 198.51.100.1', '198.51.100.1'],
    [2, '203.0.113.9, 198.51.100.1', '203.0.113.9'],
    [3, '203.0.113.9, 198.51.100.1', '203.0.113.9'],
    [1, '198.51.100.1:4711', '198.51.100.1'],
    [1, '[2001:db8::1]:4711', '2001:db8::/64'],
    [1, '2001:db8:0:0:ffff::1', '2001:db8::/64'],
    [1, '2001:db8:0:1::1', '2001:db8:0:1::/64'],
    [1, '::ffff:198.51.100.1', '198.51.100.1'],
    [1, 'unknown', '127.0.0.1'],
    [1, '', '127.0.0.1'],
    [1, '198.51.100.1, ', '127.0.0.1'],
    [1, 'x'.repeat(5000), '127.0.0.1'],
  ]

  test.each(cases)('trustProxy %s, X-Forwarded-For %j: %s', async (trustProxy, forwardedFor, expected) => {
    const rateLimiter = recorder()
    const limited = createUtilityApi({ storage, rateLimiter })
    const options = trustProxy === undefined ? {} : { trustProxy }
    const headers = {
      Authorization: 'Bearer wrong',
      ...(forwardedFor !== null && { 'X-Forwarded-For': forwardedFor }),
    }
    await sendToPort(await listen(toNodeHandler(limited, options)), { ...generate, headers })
    const request = new Request(`http://localhost${generate.path}`, { method: 'POST', headers })
    await toBunHandler(limited, options)(request, { requestIP: () => ({ address: '127.0.0.1' }) })
    expect(rateLimiter.keys).toStrictEqual([`address:${expected}`, `address:${expected}`])
  })

  test.each([null, undefined, 5, []])('%j instead of an address is no address', async (ip) => {
    const rateLimiter = recorder()
    const request = new Request(`http://localhost${generate.path}`, { method: 'POST' })
    const context = { ip } as unknown as { ip: string }
    const { status } = await createUtilityApi({ storage, rateLimiter }).fetch(request, context)
    expect([status, rateLimiter.keys]).toEqual([401, []])
  })

  test('a zone does not make a link-local address another network', async () => {
    const rateLimiter = recorder()
    const request = new Request(`http://localhost${generate.path}`, { method: 'POST' })
    await createUtilityApi({ storage, rateLimiter }).fetch(request, { ip: 'fe80::1:2%eth0' })
    expect(rateLimiter.keys).toStrictEqual(['address:fe80::/64'])
  })

  test('two headers count as one list', async () => {
    const rateLimiter = recorder()
    const port = await listen(toNodeHandler(createUtilityApi({ storage, rateLimiter }), { trustProxy: 1 }))
    const headers = { Authorization: 'Bearer wrong', 'X-Forwarded-For': ['203.0.113.9', '198.51.100.1'] }
    await sendToPort(port, { ...generate, headers })
    expect(rateLimiter.keys).toStrictEqual(['address:198.51.100.1'])
  })
})

describe('the Node mount', () => {
  test('headers that the host has set before survive', async () => {
    const handler = toNodeHandler(api)
    const port = await listen((request, response) => {
      response.setHeader('X-Host', 'here')
      handler(request, response)
    })
    expect((await sendToPort(port, generate)).headers).toMatchObject({ 'x-host': 'here' })
  })

  test('a host that breaks its response loses one connection, not the process', async () => {
    const handler = toNodeHandler(api)
    const port = await listen((request, response) => {
      if (request.headers['x-break'] !== undefined) {
        response.writeHead = () => {
          throw new Error('patched')
        }
      }
      handler(request, response)
    })
    const broken = { ...generate, headers: { ...generate.headers, 'X-Break': '1' } }
    await expect(sendToPort(port, broken)).rejects.toThrow(/hang up/)
    expect(await sendToPort(port, generate)).toMatchObject({ status: 200 })
  })

  test('a body that the host has read is the mistake of the host, and no wait', async () => {
    const error = vi.fn()
    const logger = { debug() {}, info() {}, warn() {}, error }
    const watched = createUtilityApi({ storage, logger })
    const handlers = [toNodeHandler(watched), toExpressHandler(watched)] as const
    const request = { method: 'POST', path: '/v4/oauth2/token', body: '{}' }
    const headers = { 'Content-Type': 'application/json' }
    for (const handler of handlers) {
      const port = await listen((incoming, response) => {
        incoming.resume().on('end', () => void handler(incoming, response, () => {}))
      })
      expect(await sendToPort(port, { ...request, headers })).toMatchObject({ status: 500 })
      const message =
        'The body was read before the request was passed on. Mount the operations before whatever reads bodies.'
      const cause = { name: 'HostFault', message }
      expect(error.mock.lastCall?.[1]).toMatchObject({ cause })
      // Without a body, there was nothing to read.
      const empty = await sendToPort(port, {
        ...request,
        headers: { ...headers, 'Content-Length': '0' },
        body: '',
      })
      expect(empty.json).toMatchObject({ error_description: 'The body is not valid JSON.' })
    }
    expect(error).toHaveBeenCalledTimes(2)
  })

  test('a body that breaks off is reported, and its place is free again', async () => {
    const events: RequestEndEvent[] = []
    const watched = createUtilityApi({ storage, maxInFlight: 1, onRequestEnd: (event) => events.push(event) })
    const port = await listen(toNodeHandler(watched))
    const client = await rawClient(port)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': '100' }
    client.write(rawRequestText('POST /v4/oauth2/token', headers, '{'))
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(await sendToPort(port, generate)).toMatchObject({ status: 200 })
    client.close()
    await eventually(() => expect(events).toHaveLength(2))
    expect(events[1]).toMatchObject({ operation: 'exchangeToken', status: 400, errorCode: 'invalid_request' })
  })

  test('an answer that the host has begun is left to it', async () => {
    const handler = toNodeHandler(api)
    const port = await listen((request, response) => {
      response.write('the ')
      handler(request, response)
      setTimeout(() => response.end('host'), 50)
    })
    expect(await sendToPort(port, generate)).toMatchObject({ status: 200, text: 'the host' })
  })

  test('a client that has gone is not waited for, and nothing is written to it', async () => {
    const events: RequestEndEvent[] = []
    const written = vi.fn()
    const handler = toNodeHandler(createUtilityApi({ storage, onRequestEnd: (event) => events.push(event) }))
    const begun = Promise.withResolvers<void>()
    const port = await listen((request, response) => {
      response.writeHead = written
      request.on('close', () => handler(request, response))
      begun.resolve()
    })
    const client = await rawClient(port)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': '100' }
    client.write(rawRequestText('POST /v4/oauth2/token', headers, '{'))
    await begun.promise
    client.close()
    await eventually(() => expect(events).toMatchObject([{ status: 400, errorCode: 'invalid_request' }]))
    await new Promise((resolve) => setImmediate(resolve))
    expect(written).not.toHaveBeenCalled()
  })

  test.each([
    [1000, 'keep-alive'],
    [1001, 'close'],
  ])('of a body in %d pieces the connection says %s', async (pieces, connection) => {
    const client = await rawClient(await listen(toNodeHandler(api)))
    const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
    const body = '{}'.padEnd(pieces)
    const chunks = [...body].map((octet) => `1\r\n${octet}\r\n`).join('')
    client.write(rawRequestText('POST /v4/oauth2/token', headers, `${chunks}0\r\n\r\n`))
    expect(await client.answer()).toMatchObject({ status: 400, headers: { connection } })
    client.close()
  })

  test('HTTP/2: a body in too many pieces is answered, and its stream closed before the rest is sent', async () => {
    const { port, close } = await listenHttp2(toNodeHandler(api))
    const session = connect(`http://127.0.0.1:${port}`)
    const headers = { ':method': 'POST', ':path': '/v4/oauth2/token', 'Content-Type': 'application/json' }
    const stream = session.request(headers)
    const closed = once(stream, 'close')
    const [[response]] = await Promise.all([
      once(stream, 'response'),
      (async () => {
        // Each is sent before the next, and so is a piece of its own.
        // oxlint-disable-next-line no-await-in-loop
        for (let sent = 0; sent < 1001; sent += 1) await new Promise((resolve) => stream.write(' ', resolve))
      })(),
    ])
    expect(response).toMatchObject({ ':status': 400 })
    // The client has not ended its body: only the server can have closed the stream.
    stream.resume()
    await closed
    session.destroy()
    await close()
  })

  describe('drops a body that no operation reads before storage has answered', () => {
    let read: PromiseWithResolvers<void>
    const slow = {
      ...storage,
      async findCredential(...args: Parameters<typeof storage.findCredential>) {
        await read.promise
        return storage.findCredential(...args)
      },
    }
    const handler = toNodeHandler(createUtilityApi({ storage: slow }))
    const listener: NodeHandler = (request, response) => {
      read = Promise.withResolvers()
      request.on('end', read.resolve)
      return handler(request, response)
    }

    test.each([{ 'Content-Length': '1' }, { 'Transfer-Encoding': 'chunked' }])('%j', async (announced) => {
      const headers = { ...generate.headers, ...announced }
      const answer = await sendToPort(await listen(listener), { ...generate, headers, body: 'x' })
      expect(answer.status).toBe(200)
    })

    test('HTTP/2', async () => {
      const { port, close } = await listenHttp2(listener)
      const session = connect(`http://127.0.0.1:${port}`)
      const stream = session.request({ ':method': 'POST', ':path': generate.path, ...generate.headers })
      stream.end('x')
      const [headers] = await once(stream, 'response')
      expect(headers).toMatchObject({ ':status': 200 })
      session.destroy()
      await close()
    })
  })
})

test('on Bun, a flood in one turn of the event loop is answered after it, so that Bun sees pipelining', async () => {
  const answered: number[] = []
  const handler = toBunHandler(api)
  const all = Array.from({ length: 66 }, async (_, index) => {
    const { status } = await handler(new Request('http://localhost/nowhere'))
    answered.push(index)
    expect(status).toBe(404)
  })
  // oxlint-disable-next-line no-await-in-loop -- whatever waits for promises only
  for (let step = 0; step < 100; step += 1) await Promise.resolve()
  expect(answered).toHaveLength(64)
  await Promise.all(all)
  expect(answered).toHaveLength(66)
  // The next turn begins anew.
  const next = handler(new Request('http://localhost/nowhere')).then(() => answered.push(66))
  for (let step = 0; step < 100; step += 1) await Promise.resolve() // oxlint-disable-line no-await-in-loop
  expect(answered).toHaveLength(67)
  await next
})
