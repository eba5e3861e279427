/** The network operations called within the program: the same work as over HTTP, without a request. */
import {
  createAdmin,
  createUtilityApi,
  type DnsAnswer,
  type DnsCheckResult,
  type DnsQuestion,
  type ServerStatus,
  type UtilityApiOptions,
} from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test, vi } from 'vitest'

const locations = [1, 2, 3].map((host) => ({ location: `L${host}`, ip: `192.0.2.${host}`, provider: 'P' }))
const found: DnsAnswer = {
  status: 'NOERROR',
  records: [{ type: 'A', host: 'example.com', ttl: 60, ip: '203.0.113.1' }],
  cnameChain: [],
  transport: 'udp',
  latencyMs: 1,
}
const status: ServerStatus = {
  ip: '203.0.113.2',
  port: 25_566,
  players: { online: 1, max: 2 },
  version: { name: 'x', protocol: 1 },
  latencyMs: 13,
  srvRecord: null,
  description: '',
}

function service(
  query: (question: DnsQuestion) => Promise<DnsAnswer> = async () => found,
  others: Partial<UtilityApiOptions> = {},
) {
  const asked: DnsQuestion[] = []
  const client = {
    query: (question: DnsQuestion) => {
      asked.push(question)
      return query(question)
    },
    close: async () => {},
  }
  const storage = memoryStorage()
  const games = { status: vi.fn(async () => status), close: async () => {} }
  const api = createUtilityApi({
    storage,
    dns: { locations, client, cacheTtlMs: 0 },
    blockgame: { client: games },
    ...others,
  })
  return { api, asked, storage, games }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a check answers what the operation answers, for a name as people write it', async () => {
  const { api, asked, storage } = service()
  const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '' })
  const results = await api.checkDns({ domain: ' 中国.cn ', recordType: 'a' })
  expect(asked.map(({ name, type }) => `${name} ${type}`)).toEqual(locations.map(() => 'xn--fiqs8s.cn A'))
  const headers = {
    Authorization: `Bearer ${accessToken}`,
    'X-Domain': 'xn--fiqs8s.cn',
    'X-Record-Type': 'A',
  }
  const response = await api.fetch(new Request('http://x/v3/tools/dnscheck', { headers }))
  expect(await response.json()).toEqual(results)
})

test.each<[string, unknown, string, string]>([
  ['no domain', { recordType: 'A' }, 'invalid_request', 'domain is missing.'],
  [
    'a type that is none',
    { domain: 'a.example', recordType: 'X' },
    'invalid_request',
    'recordType must be one of',
  ],
  [
    'a name that is none',
    { domain: 'not a name', recordType: 'A' },
    'invalid_request',
    'domain must be a domain name, or an IP address for the type PTR.',
  ],
  [
    'an address with another type',
    { domain: '192.0.2.1', recordType: 'A' },
    'invalid_request',
    'domain must be a domain name, or an IP address for the type PTR.',
  ],
  [
    'a URL',
    { domain: 'https://a.example/', recordType: 'A' },
    'invalid_request',
    'domain must be a domain name, not a URL or an e-mail address.',
  ],
  ['a number', { domain: 7, recordType: 'A' }, 'invalid_request', 'domain must be a string.'],
  [
    'a misspelled field',
    { domain: 'a.example', type: 'A' },
    'invalid_argument',
    'type is not known here, only domain, recordType.',
  ],
  ['nothing', undefined, 'invalid_argument', 'must be an object: write checkDns({ domain, recordType }).'],
])('a check refuses %s', async (_, question, code, message) => {
  const { api } = service()
  await expect(api.checkDns(question as never)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
  })
})

test.each([{ signal: {} }, { caller: 7 }, { onAnswer: 'x' }, { onanswer: () => {} }, []])(
  'options that are none are refused: %j',
  async (options) => {
    const { api } = service()
    const refusal = { code: 'invalid_argument' }
    await expect(
      api.checkDns({ domain: 'a.example', recordType: 'A' }, options as never),
    ).rejects.toMatchObject(refusal)
  },
)

test('each element is told as it comes, also to who joins later, and all before the end', async () => {
  const slow = Promise.withResolvers<DnsAnswer>()
  const { api, asked } = service(({ server }) =>
    server.ip === '192.0.2.2' ? slow.promise : Promise.resolve(found),
  )
  const told: string[] = []
  const tell = (who: string) => (result: DnsCheckResult, position: number) => {
    expect(result.location).toBe(`L${position + 1}`)
    told.push(`${who}${position}`)
  }
  const question = { domain: 'a.example', recordType: 'A' } as const
  const first = api.checkDns(question, { onAnswer: tell('a') })
  await turn()
  expect(told).toEqual(['a0', 'a2'])
  const second = api.checkDns(question, { onAnswer: tell('b'), caller: 'other' })
  await turn()
  expect(told).toEqual(['a0', 'a2', 'b0', 'b2'])
  slow.resolve(found)
  expect(await first).toEqual(await second)
  expect(told).toEqual(['a0', 'a2', 'b0', 'b2', 'a1', 'b1'])
  expect(asked).toHaveLength(3)
})

test('elements of a kept answer are told at once', async () => {
  const { api, asked } = service(undefined, {
    dns: { locations, client: { query: async () => found, close: async () => {} }, cacheTtlMs: 60_000 },
  })
  await api.checkDns({ domain: 'a.example', recordType: 'A' })
  const positions: number[] = []
  await api.checkDns(
    { domain: 'a.example', recordType: 'A' },
    { onAnswer: (_, position) => void positions.push(position) },
  )
  expect(positions).toEqual([0, 1, 2])
  expect(asked).toHaveLength(0)
})

test('an onAnswer that throws is logged, and fails no check', async () => {
  const error = vi.fn()
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error }
  const { api } = service(undefined, { logger })
  const onAnswer = (): never => {
    throw new Error('mine')
  }
  expect(await api.checkDns({ domain: 'a.example', recordType: 'A' }, { onAnswer })).toHaveLength(3)
  expect(error).toHaveBeenCalledTimes(3)
})

test('results are the caller’s own', async () => {
  const { api } = service()
  const [first, second] = await Promise.all(
    [1, 2].map(() => api.checkDns({ domain: 'a.example', recordType: 'A' })),
  )
  first?.pop()
  expect(second).toHaveLength(3)
})

test('a lookup answers what the operation answers', async () => {
  const { api, games } = service()
  const { accessToken: _, ...expected } = {
    accessToken: '',
    ip: '203.0.113.2',
    port: '25566',
    players: { online: 1, max: 2 },
    version: { name: 'x', protocol: 1 },
    ping: '13ms',
    srvRecord: {},
  }
  expect(await api.lookUpGameServer({ address: 'play.example', port: 25_566 })).toEqual(expected)
  expect(games.status).toHaveBeenCalledWith(expect.objectContaining({ host: 'play.example', port: 25_566 }))
})

test('a lookup refuses a port that is none, and a private address', async () => {
  const api = createUtilityApi({ storage: memoryStorage() })
  await expect(api.lookUpGameServer({ address: 'play.example', port: 0 })).rejects.toMatchObject({
    code: 'invalid_request',
  })
  await expect(api.lookUpGameServer({ address: '10.0.0.1' })).rejects.toMatchObject({
    code: 'address_not_allowed',
    message: 'Lookups of this address are not allowed.',
    cause: 'Not a public address: 10.0.0.1. The option allowAddress can permit it.',
  })
  await api.close()
})

test('an operation that is switched off is not found', async () => {
  const api = createUtilityApi({ storage: memoryStorage(), dns: false, blockgame: false })
  const refusal = { code: 'not_found' }
  await expect(api.checkDns({ domain: 'a.example', recordType: 'A' })).rejects.toMatchObject(refusal)
  await expect(api.lookUpGameServer({ address: 'a.example' })).rejects.toMatchObject(refusal)
})

test('one caller has half of the places, and neither another nor a token of its name is affected', async () => {
  const held = Promise.withResolvers<DnsAnswer>()
  const { api, storage } = service(() => held.promise, { maxInFlight: 4 })
  const { accessToken } = await createAdmin({ storage }).createAccessToken({ scope: '' })
  const check = (index: number, caller: string): Promise<unknown> =>
    api.checkDns({ domain: `n${index}.example`, recordType: 'A' }, { caller })
  const waiting = [check(1, 'busy'), check(2, 'busy')]
  await expect(check(3, 'busy')).rejects.toMatchObject({ code: 'unavailable' })
  waiting.push(check(4, 'other'))
  const headers = { Authorization: `Bearer ${accessToken}`, 'X-Domain': 'n5.example', 'X-Record-Type': 'A' }
  const overHttp = api.fetch(new Request('http://x/v3/tools/dnscheck', { headers }))
  await turn()
  held.resolve(found)
  await Promise.all(waiting)
  expect((await overHttp).status).toBe(200)
})

test('who gives up gets the reason of the signal, and the questions are aborted', async () => {
  const { api, asked } = service(() => new Promise(() => {}))
  const controller = new AbortController()
  const check = api.checkDns({ domain: 'a.example', recordType: 'A' }, { signal: controller.signal })
  await turn()
  controller.abort(new Error('enough'))
  await expect(check).rejects.toThrow('enough')
  expect(asked.every(({ signal }) => signal?.aborted)).toBe(true)
})

test('who gives up when told of an element is told of no other, and others are', async () => {
  const slow = Promise.withResolvers<DnsAnswer>()
  const { api } = service(({ server }) => (server.ip === '192.0.2.3' ? slow.promise : Promise.resolve(found)))
  const question = { domain: 'a.example', recordType: 'A' } as const
  const positions: number[] = []
  const first = api.checkDns(question, { onAnswer: (_, position) => void positions.push(position) })
  await turn()
  const controller = new AbortController()
  const onAnswer = vi.fn(() => controller.abort(new Error('enough')))
  const second = api.checkDns(question, { signal: controller.signal, onAnswer })
  const refusal = expect(second).rejects.toThrow('enough')
  await turn()
  slow.resolve(found)
  await refusal
  expect(await first).toHaveLength(3)
  expect(positions).toEqual([0, 1, 2])
  expect(onAnswer).toHaveBeenCalledTimes(1)
})

test('who has given up gets no kept answer', async () => {
  const { api } = service(undefined, {
    dns: { locations, client: { query: async () => found, close: async () => {} }, cacheTtlMs: 60_000 },
    blockgame: { client: { status: async () => status, close: async () => {} }, cacheTtlMs: 60_000 },
  })
  const question = { domain: 'a.example', recordType: 'A' } as const
  const server = { address: 'play.example' }
  await Promise.all([api.checkDns(question), api.lookUpGameServer(server)])
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(api.checkDns(question, { signal })).rejects.toThrow('enough')
  await expect(api.lookUpGameServer(server, { signal })).rejects.toThrow('enough')
})

test('closing waits for calls within the program, and refuses new ones', async () => {
  const held = Promise.withResolvers<DnsAnswer>()
  const { api } = service(() => held.promise)
  const check = api.checkDns({ domain: 'a.example', recordType: 'A' })
  await turn()
  const closed = vi.fn()
  const closing = api.close().then(closed)
  await expect(api.checkDns({ domain: 'b.example', recordType: 'A' })).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect(closed).not.toHaveBeenCalled()
  held.resolve(found)
  expect(await check).toHaveLength(3)
  await closing
})
