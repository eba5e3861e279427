/** What an owner sees: logs, events and traces; and what nobody may see in them. */
import { setTimeout as delay } from 'node:timers/promises'
import { tracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import { createAdmin, createUtilityApi, type Logger, type RequestEndEvent } from 'utility-api'
import { ServerCheckError } from 'utility-api/blockgame'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sendToFetch } from './support/send.ts'
import {
  createWorld,
  generateRequest,
  licenseHeaders,
  type World,
  type WorldOptions,
} from './support/world.ts'
import { jsonRequest, tokenFields, type TokenFields } from './support/token-request.ts'

const channelNames = ['request', 'storage', 'dns', 'blockgame'].map((name) => `utility-api.${name}`)
const stages = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

interface Seen {
  readonly channel: string
  readonly stage: string
  readonly event: object
}

/** Listens to every channel until it is told to stop. */
function listen(): { seen: Seen[]; stop: () => void } {
  const seen: Seen[] = []
  const stops = channelNames.map((channel) => {
    const subscribers = Object.fromEntries(
      stages.map((stage) => [stage, (event: object) => seen.push({ channel, stage, event: { ...event } })]),
    ) as unknown as TracingChannelSubscribers<object>
    tracingChannel(channel).subscribe(subscribers)
    return () => tracingChannel(channel).unsubscribe(subscribers)
  })
  return { seen, stop: () => stops.forEach((stop) => stop()) }
}

function recordingLogger(): { entries: unknown[][]; logger: Logger } {
  const entries: unknown[][] = []
  const at =
    (level: string) =>
    (...entry: unknown[]): void =>
      void entries.push([level, ...entry])
  return { entries, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

let world: World | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

async function exchange(target: World, changes: TokenFields = {}): Promise<string> {
  const { json } = await target.send(jsonRequest(await tokenFields(target, changes)))
  return (json as { access_token?: string }).access_token ?? ''
}

describe('tracing channels', () => {
  test('report a request, and the storage calls inside it', async () => {
    world = await createWorld('Node http')
    const { seen, stop } = listen()
    await world.send(generateRequest(world.resellerToken, { 'X-Request-Id': 'the-id' }))
    stop()
    const names = seen.map(({ channel, stage, event }) => [
      channel.slice(12),
      stage,
      'method' in event && event.method,
    ])
    expect(names).toStrictEqual([
      ['request', 'start', 'POST'],
      ['request', 'end', 'POST'],
      ['storage', 'start', 'findCredential'],
      ['storage', 'end', 'findCredential'],
      ['storage', 'asyncStart', 'findCredential'],
      ['storage', 'asyncEnd', 'findCredential'],
      ['storage', 'start', 'insertLicense'],
      ['storage', 'end', 'insertLicense'],
      ['storage', 'asyncStart', 'insertLicense'],
      ['storage', 'asyncEnd', 'insertLicense'],
      ['request', 'asyncStart', 'POST'],
      ['request', 'asyncEnd', 'POST'],
    ])
    const start = { operation: 'generateLicense', method: 'POST', requestId: 'the-id' }
    expect(seen[0]?.event).toStrictEqual(start)
    expect(seen.at(-1)?.event).toStrictEqual({
      ...start,
      status: 200,
      callerId: world.resellerId,
      durationMs: expect.any(Number),
      result: undefined,
    })
  })

  test('keep what their subscribers add from onRequestEnd', async () => {
    const addSpan = (event: unknown): object => Object.assign(event as object, { span: 'theirs' })
    const subscribers = { start: addSpan } as Partial<TracingChannelSubscribers<object>>
    const ends: object[] = []
    world = await createWorld('Node http', { onRequestEnd: (event) => ends.push(event) })
    tracingChannel('utility-api.request').subscribe(subscribers as TracingChannelSubscribers<object>)
    await world.send({ method: 'GET', path: '/nowhere', headers: { 'X-Request-Id': 'the-id' } })
    tracingChannel('utility-api.request').unsubscribe(subscribers as TracingChannelSubscribers<object>)
    expect(ends).toStrictEqual([
      {
        method: 'GET',
        requestId: 'the-id',
        status: 404,
        errorCode: 'not_found',
        durationMs: expect.any(Number),
      },
    ])
  })

  test('report every query to a resolver and every connection to a game server', async () => {
    world = await createWorld('Node http')
    const { seen, stop } = listen()
    const { accessToken, apiKey, game } = world
    await world.send({
      method: 'GET',
      path: '/v3/tools/dnscheck',
      headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
    })
    await world.send({
      method: 'GET',
      path: '/v4/games/blockgame/lookup',
      headers: { Basic: apiKey, 'X-Address': game.ip, 'X-Port': String(game.port) },
    })
    stop()
    const starts = seen
      .filter(({ stage }) => stage === 'start')
      .map(({ channel, event }) => ({ channel, event }))
    const question = { channel: 'utility-api.dns', event: { type: 'A', server: '127.0.0.1' } }
    expect(starts.filter(({ channel }) => channel === 'utility-api.dns')).toStrictEqual([question, question])
    expect(starts.at(-1)).toStrictEqual({ channel: 'utility-api.blockgame', event: {} })
  })

  test('report both queries to a resolver that is asked again without its validation', async () => {
    const answer = {
      status: 'SERVFAIL',
      records: [],
      cnameChain: [],
      transport: 'udp',
      latencyMs: 1,
    } as const
    const query = vi.fn(async () => answer)
    const dns = { locations: [{ location: 'Here', ip: '127.0.0.1', provider: 'Nobody' }] }
    const client = { query, close: async () => {} }
    await using api = createUtilityApi({ storage: memoryStorage(), dns: { ...dns, client } })
    const { seen, stop } = listen()
    await api.checkDns({ domain: 'shop.example', recordType: 'A' })
    stop()
    const started = seen.filter(({ stage }) => stage === 'start')
    expect([query.mock.calls.length, started.length]).toEqual([2, 2])
  })

  test('report a failing storage, with its cause', async () => {
    const cause = new Error('down')
    const storage = { ...memoryStorage(), findCredential: () => Promise.reject(cause) }
    const { seen, stop } = listen()
    const api = createUtilityApi({ storage })
    await sendToFetch(api, generateRequest('x'))
    stop()
    const error = seen.find(({ stage }) => stage === 'error')
    expect(error).toMatchObject({ channel: 'utility-api.storage', event: { error: { cause } } })
    expect(seen.at(-1)?.event).toMatchObject({ status: 500, errorCode: 'database_error' })
  })
})

describe('hooks', () => {
  test('durationMs covers the work, and no more than the whole', async () => {
    const waitMs = 30
    const storage = memoryStorage()
    const slow = { ...storage, findCredential: () => delay(waitMs, null) }
    const durations: number[] = []
    const api = createUtilityApi({
      storage: slow,
      onRequestEnd: ({ durationMs }) => durations.push(durationMs),
    })
    const started = performance.now()
    await sendToFetch(api, generateRequest('x'))
    const wholeMs = performance.now() - started
    expect(durations).toStrictEqual([expect.any(Number)])
    // Timers may be a millisecond early.
    expect(durations[0]).toBeGreaterThanOrEqual(waitMs - 1)
    expect(durations[0]).toBeLessThanOrEqual(wholeMs)
  })

  async function statusWith(options: WorldOptions): Promise<number> {
    world = await createWorld('Node http', options)
    const answer = await world.send(generateRequest(world.resellerToken))
    const refusal = await world.send({ method: 'GET', path: '/nowhere' })
    expect(refusal).toMatchObject({ status: 404, json: { error: 'not_found' } })
    return answer.status
  }
  const fail = (): never => {
    throw new Error('hook')
  }
  const failLater = async (): Promise<never> => fail()
  const failing = (hook: () => never | Promise<never>): Logger => ({
    debug: hook,
    info: hook,
    warn: hook,
    error: hook,
  })
  const unhandled = vi.fn()

  test.each<[string, WorldOptions]>([
    ['onRequestEnd throws', { onRequestEnd: fail }],
    ['onRequestEnd rejects', { onRequestEnd: failLater as () => void }],
    ['the logger throws', { logger: failing(fail), onRequestEnd: fail }],
    ['the logger rejects', { logger: failing(failLater), onRequestEnd: fail }],
    ['errorBody throws', { errorBody: fail }],
    ['errorBody makes nothing', { errorBody: () => undefined }],
    ['errorBody makes what is no JSON', { errorBody: () => 1n }],
    ['errorBody is asynchronous', { errorBody: async () => ({}) }],
    ['errorBody rejects', { errorBody: failLater }],
  ])('%s: the request does not notice', async (_, options) => {
    process.on('unhandledRejection', unhandled)
    expect(await statusWith(options)).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 5))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('a request id of the host is used, unless it cannot be sent', async () => {
    world = await createWorld('api.fetch')
    const { api } = world
    const headers = { 'X-Request-Id': 'of-the-client' }
    const ask = async (requestId: string): Promise<string | null> =>
      (await api.fetch(new Request('http://localhost/', { headers }), { requestId })).headers.get(
        'X-Request-Id',
      )
    expect(await ask('host-1')).toBe('host-1')
    expect(await ask('a\r\nSet-Cookie: b')).toMatch(/^[\w-]{36}$/)
  })

  test('the log says why a credential is refused, the answer does not', async () => {
    const { entries, logger } = recordingLogger()
    const storage = memoryStorage()
    const clock = fixedClock()
    const api = createUtilityApi({ storage, clock, logger })
    const admin = createAdmin({ storage, clock })
    const { accessToken } = await admin.createAccessToken({ scope: '', lifetimeSeconds: 1 })
    const { token } = await admin.createReseller()
    const { apiKey } = await admin.createApiKey()
    const revoked = await admin.createAccessToken({ scope: '', lifetimeSeconds: 1 })
    await admin.revoke({ id: revoked.accessTokenId })
    const revokedKey = await admin.createApiKey()
    await admin.revoke({ id: revokedKey.apiKeyId })
    const expiredKey = await admin.createApiKey({ lifetimeSeconds: 1 })
    const altered = (secret: string): string => secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
    const sent = [token, accessToken, revoked.accessToken, altered(accessToken), accessToken.slice(0, -1)]
    const tokens = [token, ...sent.map((each) => `Bearer ${each}`)]
    clock.advance(1000)
    const dns = tokens.map((Authorization) => ['v3/tools/dnscheck', { Authorization }] as const)
    const dead = [revokedKey.apiKey, expiredKey.apiKey]
    const basics = [token, ...dead, `${apiKey}a`, altered(apiKey), `${apiKey} x`]
    const keys = [{ Authorization: `Basic ${apiKey}` }, ...basics.map((Basic) => ({ Basic }))]
    const lookups = keys.map((headers) => ['v4/games/blockgame/lookup', headers] as const)
    const bodies = await Promise.all(
      [...dns, ...lookups].map(async ([path, headers]) =>
        (await api.fetch(new Request(`http://localhost/${path}`, { headers: { ...headers } }))).text(),
      ),
    )
    expect(new Set(bodies.slice(0, 6)).size).toBe(1)
    expect(new Set(bodies.slice(7)).size).toBe(1)
    expect(new Set(entries.map(([, , fields]) => (fields as { cause?: unknown }).cause))).toEqual(
      new Set([
        'The header does not consist of Bearer, a space and a token.',
        'The checksum of the token is wrong: it was changed or mistyped.',
        'There is no such token in this storage.',
        'The key belongs in a header called Basic, not into Authorization.',
        'The credential is of the kind reseller_token; access_token is needed.',
        'The token has expired.',
        'The token was revoked.',
        'The key has expired.',
        'The key was revoked.',
        'The credential is of the kind reseller_token; api_key is needed.',
        'The checksum of the key is wrong: it was changed or mistyped.',
        'There is no such key in this storage.',
        'The header has a space, a comma or another character that no key has.',
      ]),
    )
    expect(inspect(entries, { depth: Infinity })).not.toContain('uapi_')
    await api.close()
  })

  test('the log tells a license key that was mistyped from one that is not there', async () => {
    const { entries, logger } = recordingLogger()
    const storage = memoryStorage()
    const api = createUtilityApi({ storage, logger })
    const admin = createAdmin({ storage })
    const { resellerId, token } = await admin.createReseller()
    const license = { resellerId, registeredTo: 'Ada', domainOrIp: 'shop.example' }
    const { licenseKey } = await admin.createLicense(license)
    await admin.deleteLicense(licenseKey)
    const headers = { Authorization: `Bearer ${token}`, 'X-Status': 'valid' }
    const bodies: string[] = []
    for (const key of [licenseKey, licenseKey.slice(0, -1) + (licenseKey.endsWith('A') ? 'B' : 'A')]) {
      const url = `http://localhost/v2/reseller/${key}/update`
      bodies.push(await (await api.fetch(new Request(url, { method: 'PUT', headers }))).text())
    }
    expect(new Set(bodies).size).toBe(1)
    expect(entries.map(([, , fields]) => (fields as { cause?: unknown }).cause)).toEqual([
      undefined,
      'The key was changed or mistyped.',
    ])
    await api.close()
  })

  test('levels: refusals are debug, a server that does not answer is info, our own faults are error', async () => {
    const { entries, logger } = recordingLogger()
    world = await createWorld('Node http', { logger, lookupTimeoutMs: 300 })
    vi.spyOn(world.storage, 'updateLicense').mockRejectedValue(new Error('down'))
    const { apiKey, silentGame, resellerToken } = world
    await world.send({ method: 'GET', path: '/nowhere' })
    const address = { 'X-Address': silentGame.ip, 'X-Port': String(silentGame.port) }
    await world.send({
      method: 'GET',
      path: '/v4/games/blockgame/lookup',
      headers: { Basic: apiKey, ...address },
    })
    const headers = { Authorization: `Bearer ${resellerToken}`, 'X-Status': 'valid' }
    await world.send({ method: 'PUT', path: '/v2/reseller/OLD-1/update', headers })
    const codes = entries.map(([level, , fields]) => [level, (fields as { code: string }).code])
    expect(codes.slice(1)).toStrictEqual([
      ['info', 'server_check_failed'],
      ['error', 'database_error'],
    ])
    expect(codes[0]).toStrictEqual(['debug', 'not_found'])
  })

  test('an entry has no field that is undefined, which a console would show', async () => {
    const { entries, logger } = recordingLogger()
    const storage = memoryStorage()
    const client = { status: () => Promise.reject(new ServerCheckError('dns')), close: async () => {} }
    const api = createUtilityApi({ storage, logger, blockgame: { client } })
    const { apiKey } = await createAdmin({ storage }).createApiKey()
    const headers = { Basic: apiKey, 'X-Address': 'missing.example' }
    for (const path of ['nowhere', 'v4/games/blockgame/lookup'])
      await api.fetch(new Request(`http://localhost/${path}`, { headers }), { requestId: 'a' })
    const code = 'server_check_failed'
    const checked = { requestId: 'a', operation: 'lookUpGameServer', code, reason: 'dns' }
    expect(entries).toStrictEqual([
      ['debug', 'There is nothing at this path.', { requestId: 'a', code: 'not_found' }],
      ['info', 'The server check failed.', checked],
    ])
    await api.close()
  })
})

test('onRequestEnd is told which license was generated or changed, and the channel is not', async () => {
  const { seen, stop } = listen()
  const events: RequestEndEvent[] = []
  const storage = memoryStorage()
  await using api = createUtilityApi({ storage, onRequestEnd: (event) => events.push(event) })
  const admin = createAdmin({ storage })
  const [{ token }, other] = [await admin.createReseller(), await admin.createReseller()]
  const send = (method: string, path: string, headers: Record<string, string>): Promise<Response> =>
    api.fetch(new Request(`http://localhost/v2/reseller/${path}`, { method, headers }))
  const generate = { Authorization: `Bearer ${token}`, ...licenseHeaders, 'Idempotency-Key': 'order-1' }
  const made = await send('POST', 'licenses/generate', generate)
  const { license_key: key } = ((await made.json()) as { data: { license_key: string } }).data
  await send('POST', 'licenses/generate', generate)
  const typed = encodeURIComponent(` ${key.toLowerCase().replaceAll('-', ' ')}`)
  const update = { Authorization: `Bearer ${token}`, 'X-Status': 'valid' }
  await send('PUT', `${typed}/update`, update)
  await send('PUT', `${typed}/update`, { ...update, Authorization: `Bearer ${other.token}` })
  await send('PUT', 'LIC-none/update', update)
  await send('PUT', `${typed}/update`, { ...update, 'X-Status': 'none' })
  await send('POST', 'licenses/generate', { ...generate, 'X-Status': 'none' })
  stop()
  expect(events.map(({ status, licenseKey }) => [status, licenseKey])).toEqual([
    [200, key],
    [200, key],
    [200, key],
    [401, key],
    [404, undefined],
    [400, undefined],
    [400, undefined],
  ])
  expect(events.map((event) => 'licenseKey' in event)).toEqual([true, true, true, true, false, false, false])
  expect(inspect(seen, { depth: Infinity, maxArrayLength: null })).not.toContain(key)
  expect(seen[0]?.event, 'what an admin asks').toEqual({ method: 'insertReseller' })
})

test('health logs that the storage failed, and why', async () => {
  const { entries, logger } = recordingLogger()
  const cause = new Error('run migrate() first')
  const storage = { ...memoryStorage(), ping: () => Promise.reject(cause) }
  const api = createUtilityApi({ storage, logger })
  expect(await api.health()).toEqual({ storage: 'failed' })
  expect(entries).toEqual([['error', 'The storage failed its health check.', { cause }]])
  await api.close()
})

test('no secret, key or personal text in logs, events or traces', async () => {
  const { entries, logger } = recordingLogger()
  const events: RequestEndEvent[] = []
  const { seen, stop } = listen()
  const personal = { name: 'Personal Name', domain: 'personal-domain.example', wrong: 'wrong-secret-text' }
  const onRequestEnd = (event: RequestEndEvent) => events.push(event)
  world = await createWorld('Node http', { logger, lookupTimeoutMs: 300, onRequestEnd })
  const { accessToken, apiKey, clientSecret, resellerToken, otherResellerToken, silentGame } = world
  const secrets = [
    accessToken,
    apiKey,
    clientSecret,
    resellerToken,
    otherResellerToken,
    ...Object.values(personal),
  ]

  secrets.push(await exchange(world))
  const code = await world.issueCode()
  for (const _ of [1, 2]) secrets.push(code, await exchange(world, { code }))
  await exchange(world, { client_secret: personal.wrong })
  await exchange(world, { code: personal.wrong, redirect_uri: `https://${personal.domain}/` })
  const fields = { 'X-Registered-To': personal.name, 'X-Domain-Or-IP': personal.domain, 'X-Status': 'valid' }
  for (const token of [resellerToken, otherResellerToken, personal.wrong]) {
    const Authorization = `Bearer ${token}`
    const made = await world.send({
      method: 'POST',
      path: '/v2/reseller/licenses/generate',
      headers: { ...fields, Authorization, 'Idempotency-Key': `${personal.wrong}-${token.slice(-4)}` },
    })
    const key = (made.json as { data?: { license_key: string } }).data?.license_key ?? 'LIC-PERSONAL'
    secrets.push(key)
    for (const change of [fields, { ...fields, 'X-Status': personal.wrong }, {}]) {
      await world.send({
        method: 'PUT',
        path: `/v2/reseller/${key}/update?token=${token}`,
        headers: { Authorization: `Bearer ${resellerToken}`, ...change },
      })
    }
  }
  for (const domain of [personal.domain, 'example.com', `${personal.wrong} `]) {
    const headers = { Authorization: `Bearer ${accessToken}`, 'X-Domain': domain, 'X-Record-Type': 'A' }
    await world.send({ method: 'GET', path: '/v3/tools/dnscheck', headers })
  }
  for (const address of [
    personal.domain,
    `${silentGame.ip}:${silentGame.port}`,
    '10.0.0.1',
    personal.wrong,
  ]) {
    for (const key of [apiKey, personal.wrong]) {
      const headers = { Basic: key, 'X-Address': address }
      await world.send({ method: 'GET', path: '/v4/games/blockgame/lookup', headers })
    }
  }
  stop()

  // The owner's own function is told which license; where logs and traces go, others read them.
  const others = events.map(({ licenseKey: _, ...event }) => event)
  const text = inspect(
    { entries, others, seen },
    { depth: Infinity, maxArrayLength: null, maxStringLength: null, showHidden: true },
  )
  expect(entries.length).toBeGreaterThan(10)
  expect(events.length).toBeGreaterThan(20)
  expect(seen.length).toBeGreaterThan(50)
  const found = secrets.filter((secret) => secret !== '' && text.includes(secret))
  expect(found).toStrictEqual([])
})
