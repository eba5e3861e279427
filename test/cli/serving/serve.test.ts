import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { createAdmin, createUtilityApi, type BlockgameLookupOptions } from 'utility-api'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { memoryStorage } from 'utility-api/storage/memory'
import { StorageError, type AdminStorage } from 'utility-api/storage'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { rawClient, rawRequestText } from '../../http/support/raw.ts'
import { requestLog, type LogFormat } from '../../../adapters/cli/serving/request-log.ts'
import { createService, type ServiceOptions } from '../../../adapters/cli/serving/http-service.ts'
import { sayConnections } from '../../../adapters/cli/serving/serve.ts'
import { eventually } from '../../support/eventually.ts'
import { grantFields } from '../../http/support/grant.ts'
import { licenseHeaders } from '../../support/license-headers.ts'

// What `serve` is made of, in this process; rolling.long.test.ts has the processes.

const logged: string[] = []
const stops: (() => Promise<void>)[] = []
beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation((line) => void logged.push(String(line)))
})
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
  vi.restoreAllMocks()
  logged.length = 0
})

interface Started extends Partial<ServiceOptions> {
  readonly log?: LogFormat
  readonly storage?: AdminStorage
  readonly blockgame?: BlockgameLookupOptions
}

async function startService({
  log = 'line',
  storage = memoryStorage(),
  blockgame,
  ...options
}: Started = {}) {
  const { prefix = '', trustProxy = 0, openapi = true } = options
  const watcher = requestLog(log)
  const api = createUtilityApi({
    storage,
    basePath: prefix,
    dns: false,
    ...(blockgame !== undefined && { blockgame }),
    ...watcher.options,
  })
  const service = createService(watcher.watch(api), { prefix, trustProxy, openapi })
  await once(service.server.listen(0, '127.0.0.1'), 'listening')
  const { port } = service.server.address() as AddressInfo
  stops.push(async () => {
    service.server.closeAllConnections()
    service.server.close()
    await api.close()
  })
  return { ...service, api, storage, port, url: `http://127.0.0.1:${port}` }
}

describe('the log', () => {
  test('has one line for each request, with its caller and outcome', async () => {
    const { url, storage } = await startService()
    const { resellerId, token } = await createAdmin({ storage }).createReseller()
    const headers = { ...licenseHeaders(token), 'X-Request-Id': 'mine-1' }
    await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    await fetch(`${url}/v2/reseller/licenses/generate`, {
      method: 'POST',
      headers: { 'X-Request-Id': 'mine-2' },
    })
    await fetch(`${url}/elsewhere`, { headers: { 'X-Request-Id': 'mine-3' } })
    const time = String.raw`20\S+Z 127\.0\.0\.1`
    expect(logged).toEqual([
      expect.stringMatching(
        new RegExp(`^${time} POST generateLicense 200 \\d+ ms caller=${resellerId} request=mine-1$`),
      ),
      expect.stringMatching(
        new RegExp(`^${time} POST generateLicense 401 invalid_token \\d+ ms request=mine-2$`),
      ),
      expect.stringMatching(new RegExp(`^${time} GET - 404 not_found \\d+ ms request=mine-3$`)),
    ])
    expect(logged.join()).not.toMatch(/uapi_|Ada|shop\.example/)
  })

  test.for(['line', 'json'] as const)('has no license key in a %s', async (log) => {
    const { url, storage } = await startService({ log })
    const { token } = await createAdmin({ storage }).createReseller()
    const headers = licenseHeaders(token)
    const answer = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    const { data } = (await answer.json()) as { data: { license_key: string } }
    await fetch(`${url}/v2/reseller/${data.license_key}/update`, { method: 'PUT', headers })
    expect(logged).toHaveLength(2)
    expect(logged.join()).not.toContain(data.license_key)
  })

  test('says of a path that is nowhere that it has a prefix too many, and not which', async () => {
    const { url } = await startService()
    await fetch(`${url}/my-prefix/v4/games/blockgame/lookup`)
    expect(logged).toEqual([
      expect.stringMatching(
        / GET - 404 not_found .* cause="The path is that of an operation, after a prefix /,
      ),
    ])
    expect(logged.join()).not.toContain('my-prefix')
  })

  test('is JSON on request, including the causes of failures', async () => {
    const cause = new StorageError('unavailable', 'The disk is gone.')
    const storage = { ...memoryStorage(), findCredential: () => Promise.reject(cause) }
    const { url } = await startService({ log: 'json', storage })
    await fetch(`${url}/v2/reseller/licenses/generate`, {
      method: 'POST',
      headers: { Authorization: 'Bearer a' },
    })
    const entries = logged.map((line) => JSON.parse(line) as object)
    expect(entries).toEqual([
      expect.objectContaining({ level: 'error', cause: expect.objectContaining({ message: cause.message }) }),
      {
        time: expect.stringMatching(/^20\S+Z$/),
        level: 'info',
        message: 'request',
        address: '127.0.0.1',
        method: 'POST',
        operation: 'generateLicense',
        status: 500,
        errorCode: 'database_error',
        requestId: expect.any(String),
        durationMs: expect.any(Number),
      },
    ])
  })

  test('says what is wrong with a request that is refused as invalid, in none of its words', async () => {
    const { url, storage } = await startService()
    const { token } = await createAdmin({ storage }).createReseller()
    const headers = { Authorization: `Bearer ${token}`, 'X-Registered-To': 'Evil-Text' }
    const path = `${url}/v2/reseller/licenses/generate`
    await fetch(path, { method: 'POST', headers })
    const fields = { 'X-Domain-Or-IP': 'https://Evil-Text/\u009b2J', 'X-Status': 'valid' }
    await fetch(path, { method: 'POST', headers: { ...headers, ...fields } })
    await fetch(`${url}/v4/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams('Evil-Text=Evil-Text'),
    })
    expect(logged).toEqual([
      expect.stringMatching(/ 400 invalid_request .* cause="The header X-Domain-Or-IP is missing\."$/),
      expect.stringMatching(/ 400 invalid_request .* cause="X-Domain-Or-IP must not contain .*"$/),
      expect.stringMatching(/ 400 invalid_request .* cause="client_id is missing\."$/),
    ])
    expect(logged.join()).not.toMatch(/Evil-Text|\u009b/)
  })

  test.for(['line', 'json'] as const)(
    'says in a %s why a request is refused, which its caller is not told',
    async (log) => {
      const { url, storage } = await startService({ log })
      const admin = createAdmin({ storage })
      const redirectUri = 'https://shop.example/callback'
      const client = await admin.createClient({ redirectUris: [redirectUri] })
      const { code } = await admin.issueAuthorizationCode({
        clientId: client.clientId,
        redirectUri,
        scope: '',
      })
      const form = grantFields(client, code, redirectUri)
      const exchange = async (fields: Partial<typeof form>): Promise<string> => {
        const body = new URLSearchParams({ ...form, ...fields })
        return (await fetch(`${url}/v4/oauth2/token`, { method: 'POST', body })).text()
      }
      const answers = [
        await exchange({}),
        await exchange({ redirect_uri: 'https://shop.example/other' }),
        await exchange({}),
        await exchange({ code: 'never-issued' }),
        await exchange({ client_secret: 'wrong' }),
      ]
      const causes = logged
        .filter((line) => line.includes('exchangeToken'))
        .map((line) =>
          log === 'json'
            ? (JSON.parse(line) as { cause?: string }).cause
            : /^20\S+Z 127\.0\.0\.1 POST exchangeToken .* request=\S+(?: cause="(.*)")?$/.exec(line)?.[1],
        )
      expect(causes).toEqual([
        undefined,
        'The code was issued for another redirect_uri.',
        'The code is spent.',
        'There is no such code in this storage: it was cut or mistyped, revoked or purged, or never issued.',
        'The client secret is wrong.',
      ])
      for (const cause of causes) if (cause !== undefined) expect(answers.join()).not.toContain(cause)
      expect(logged.join()).not.toMatch(/uapi_|never-issued|shop\.example/)
    },
  )

  test('does not repeat the address that a caller wrote', async () => {
    const { url, storage } = await startService()
    const { apiKey } = await createAdmin({ storage }).createApiKey()
    const headers = { Basic: apiKey, 'X-Address': '127.0.0.1', 'X-Port': '25565', 'X-Request-Id': 'mine' }
    await fetch(`${url}/v4/games/blockgame/lookup`, { headers })
    expect(logged).toEqual([expect.stringMatching(/400 address_not_allowed \d+ ms caller=\S+ request=mine$/)])
  })

  test('has no requests if switched off, but still has failures', async () => {
    const storage = { ...memoryStorage(), findCredential: () => Promise.reject(new Error('down')) }
    const { url } = await startService({ log: 'none', storage })
    await fetch(`${url}/elsewhere`)
    expect(logged).toEqual([])
    await fetch(`${url}/v2/reseller/licenses/generate`, {
      method: 'POST',
      headers: { Authorization: 'Bearer a' },
    })
    expect(logged).toEqual([expect.stringContaining('down')])
  })

  test.for([
    [0, '127.0.0.1'],
    [1, '203.0.113.9'],
    [2, '198.51.100.7'],
  ] as const)('behind %i proxies names the client %s', async ([trustProxy, address]) => {
    const { url } = await startService({ trustProxy })
    await fetch(`${url}/elsewhere`, {
      headers: { 'X-Forwarded-For': '192.0.2.1, 198.51.100.7, 203.0.113.9' },
    })
    expect(logged[0]?.split(' ')[1]).toBe(address)
  })
})

describe('why a lookup failed', () => {
  const loopback = { allowAddress: ({ ip }: { ip: string }) => ip === '127.0.0.1', timeoutMs: 150 }

  async function lookUp(address: string, port: number, blockgame: BlockgameLookupOptions): Promise<void> {
    const { url, storage } = await startService({ blockgame })
    const { apiKey } = await createAdmin({ storage }).createApiKey()
    const headers = { Basic: apiKey, 'X-Address': address, 'X-Port': String(port) }
    const answer = await fetch(`${url}/v4/games/blockgame/lookup`, { headers })
    expect([answer.status, await answer.json()]).toEqual([
      500,
      { error: 'server_check_failed', message: 'The server check failed.' },
    ])
  }

  const reasonLogged = (): string | undefined =>
    /^\S+ \S+ GET lookUpGameServer 500 server_check_failed (\w+) \d+ ms caller=\S+ request=\S+$/.exec(
      logged[0] ?? '',
    )?.[1]

  test('timeout', async () => {
    const silent = await fakeBlockgameServer({ script: () => {} })
    stops.push(() => silent.close())
    await lookUp('127.0.0.1', silent.port, loopback)
    expect(reasonLogged()).toBe('timeout')
  })

  test('refused', async () => {
    const gone = await fakeBlockgameServer()
    await gone.close()
    await lookUp('127.0.0.1', gone.port, loopback)
    expect(reasonLogged()).toBe('refused')
  })

  test('protocol', async () => {
    const strange = await fakeBlockgameServer({
      script: ({ socket }) => void socket.write(Buffer.alloc(16, 0xff)),
    })
    stops.push(() => strange.close())
    await lookUp('127.0.0.1', strange.port, loopback)
    expect(reasonLogged()).toBe('protocol')
  })

  test('dns and blocked: a name that does not exist, and one that leads to an internal address', async () => {
    const dns = await fakeDnsServer({
      records: [{ type: 'A', host: 'inside.example', ttl: 60, ip: '127.0.0.1' }],
    })
    stops.push(() => dns.close())
    const resolvers = [{ ip: dns.ip, port: dns.port }]
    await lookUp('nowhere.example', 25_566, { resolvers, timeoutMs: 1000 })
    expect(reasonLogged()).toBe('dns')
    logged.length = 0
    await lookUp('inside.example', 25_566, { resolvers, timeoutMs: 1000 })
    expect(reasonLogged()).toBe('blocked')
  })
})

describe('/health and /openapi.json', () => {
  test("health is the storage's, at the root and below the prefix, and is not logged", async () => {
    let failing = false
    const storage = {
      ...memoryStorage(),
      ping: () => (failing ? Promise.reject(new Error('down')) : undefined),
    }
    const { url } = await startService({ storage, prefix: '/api' })
    for (const path of ['/health', '/api/health?from=balancer']) {
      const answer = await fetch(url + path)
      expect([answer.status, await answer.json()]).toEqual([200, { storage: 'ok' }])
    }
    const absolute = { host: '127.0.0.1', port: new URL(url).port, path: 'http://service.example/health' }
    const answered = await new Promise<IncomingMessage>((resolve) => httpRequest(absolute, resolve).end())
    expect(answered.resume().statusCode).toBe(200)
    expect(logged).toEqual([])
    failing = true
    const answer = await fetch(`${url}/health`)
    expect([answer.status, await answer.json()]).toEqual([503, { storage: 'failed' }])
  })

  test('however many ask for health at once, storage is asked once', async () => {
    let asked = 0
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const ping = (): Promise<void> => {
      asked += 1
      return released
    }
    const { url, server } = await startService({ storage: { ...memoryStorage(), ping } })
    let arrived = 0
    server.on('request', () => void (arrived += 1))
    const answers = Array.from({ length: 20 }, () => fetch(`${url}/health`))
    await eventually(() => expect(arrived).toBe(20))
    release()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(asked).toBe(1)
  })

  test('the document is served, with its prefix, unless it is switched off', async () => {
    const on = await startService({ prefix: '/api' })
    const answer = await fetch(`${on.url}/openapi.json`)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(on.api.openapi())))
    expect(await (await fetch(`${on.url}/openapi.json`, { method: 'HEAD' })).text()).toBe('')
    expect((await fetch(`${on.url}/openapi.json`, { method: 'POST' })).status).toBe(404)
    const off = await startService({ openapi: false })
    expect((await fetch(`${off.url}/openapi.json`)).status).toBe(404)
  })
})

test('a connection gets the document once, however often it asks, so that it fills no buffers with copies', async () => {
  const { port } = await startService()
  const socket = connect(port, '127.0.0.1')
  socket.write(rawRequestText('GET /openapi.json').repeat(16))
  const pieces = await socket.setEncoding('latin1').toArray()
  expect(pieces.join('').match(/^HTTP\/1\.1 200 OK\r$/gm)).toHaveLength(1)
})

test('slow connections and the number of connections are bounded', async () => {
  const { server } = await startService()
  expect(server).toMatchObject({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
  })
  expect(server.maxConnections).toBeLessThanOrEqual(10_000)
})

test('says how many connections there may be, and every ten seconds how many were not kept', async () => {
  const { server } = await startService()
  server.maxConnections = 512
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const said: string[] = []
  sayConnections(server, (message) => said.push(message))
  for (const count of [3, 2]) {
    for (let dropped = 0; dropped < count; dropped += 1) server.emit('drop')
    vi.advanceTimersByTime(9999)
    expect(said.splice(0)).toHaveLength(count === 3 ? 1 : 0)
    vi.advanceTimersByTime(1)
    expect(said.splice(0)).toEqual([`Ended or turned away in the last 10 s: ${count} connections.`])
  }
})

test('a connection with too many requests to its own pages is ended', async () => {
  const { server, port } = await startService()
  let asked = 0
  server.on('request', () => void (asked += 1))
  const client = await rawClient(port)
  const page = 'GET /openapi.json'
  client.write(rawRequestText(page).repeat(999) + rawRequestText(page, { Connection: 'close' }))
  await client.ended()
  expect(asked).toBeLessThanOrEqual(17)
})

describe('draining', () => {
  /** A service whose storage answers when it is told to. */
  async function startHeld() {
    const memory = memoryStorage()
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const storage: AdminStorage = {
      ...memory,
      async findCredential(...args) {
        await released
        return memory.findCredential(...args)
      },
    }
    const service = await startService({ storage })
    const { token } = await createAdmin({ storage: memory }).createReseller()
    return { ...service, release, token }
  }

  /** Sends a request, which stays in progress until the storage is released. */
  async function generate({ url, token, server }: Awaited<ReturnType<typeof startHeld>>) {
    const headers = licenseHeaders(token)
    const arrived = once(server, 'request')
    const answer = fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    await arrived
    return { answer }
  }

  /** Opens a connection and writes less than a request on it. */
  async function connectTo({ port, server }: Awaited<ReturnType<typeof startService>>, start: string) {
    const accepted = once(server, 'connection')
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    const [accepting] = (await accepted) as [Socket]
    if (start !== '') {
      socket.write(start)
      await eventually(() => expect(accepting.bytesRead).toBe(start.length))
    }
    return { closed: once(socket.resume(), 'close') }
  }

  const agent = new Agent({ keepAlive: true })

  function send(port: number, path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ port, path, headers, agent, host: '127.0.0.1', method: 'GET' }, resolve)
      sent.on('error', reject).end()
    })
  }

  test('first answers health with 503, keeps serving, announces that connections close, and ends when all is done', async () => {
    const service = await startHeld()
    const { port, drain, release, server, url } = service
    expect((await fetch(`${url}/health`)).status).toBe(200)
    const { answer } = await generate(service)
    const drained = drain(1000)

    const health = await send(port, '/health')
    expect([health.statusCode, health.headers.connection, await text(health)]).toEqual([
      503,
      'close',
      '{"draining":true}',
    ])
    const served = await send(port, '/elsewhere')
    expect([served.statusCode, served.headers.connection]).toEqual([404, 'close'])
    served.resume()

    await eventually(() => expect(server.listening).toBe(false))
    release()
    const done = await answer
    expect([done.status, done.headers.get('connection')]).toEqual([200, 'close'])
    await drained
  })

  test('does not wait for a balancer if nobody has asked for health', async () => {
    const { drain, server } = await startService()
    const drained = drain(600_000)
    expect(server.listening).toBe(false)
    await drained
  })

  test.each(['', 'GET / HT', 'POST /elsewhere HTTP/1.1\r\nHost: localhost\r\nX-Long: '])(
    'ends once no request is in progress, although a connection has only sent %j',
    async (start) => {
      const service = await startHeld()
      const { closed } = await connectTo(service, start)
      const { answer } = await generate(service)
      const drained = service.drain(600_000)
      service.release()
      expect((await answer).status).toBe(200)
      await drained
      await closed
    },
  )

  test('is not cut short by a clock that is set forward', async () => {
    const service = await startHeld()
    const { answer } = await generate(service)
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const drained = service.drain(600_000)
    vi.setSystemTime(Date.now() + 3_600_000)
    await eventually(() => expect(service.server.listening).toBe(false))
    // Long enough for what would cut the request off.
    await delay(50)
    service.release()
    expect((await answer).status).toBe(200)
    await drained
  })

  test('cuts off what is left when its time is over', async () => {
    const service = await startHeld()
    const { answer } = await generate(service)
    const cut = expect(answer).rejects.toThrow()
    await service.drain(200)
    await cut
    service.release()
  })
})
