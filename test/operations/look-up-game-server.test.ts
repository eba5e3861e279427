import {
  createAdmin,
  createUtilityApi,
  UtilityApiError,
  type BlockgameClient,
  type BlockgameTarget,
  type ServerStatus,
} from 'utility-api'
import { ServerCheckError } from 'utility-api/blockgame'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock } from 'utility-api/testing'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { callerNamed, callWith, valueOf } from './support/calls.ts'
import { harmlessLogger } from '../../src/http/log.ts'
import { createResultCache } from '../../src/bounds/result-cache.ts'
import type { OperationCall } from '../../src/operations/operation.ts'
import { lookUpGameServer, type LookUpGameServerParts } from '../../src/operations/look-up-game-server.ts'

const clock = fixedClock()
const bare: ServerStatus = {
  ip: '192.0.2.1',
  port: 25565,
  players: { online: 1, max: 2 },
  version: { name: 'x', protocol: 1 },
  latencyMs: 12.6,
  srvRecord: { host: 'a.example', port: 1234 },
  description: 'private',
}
const status: ServerStatus = {
  ...bare,
  favicon: 'data:image/png;base64,AAAA',
  sample: [{ name: 'someone', id: '1' }],
}

function lookup(
  answer: (target: BlockgameTarget) => Promise<ServerStatus>,
  parts: Partial<LookUpGameServerParts> = {},
) {
  const asked: BlockgameTarget[] = []
  const client: BlockgameClient = {
    status(target) {
      asked.push(target)
      return answer(target)
    },
    close: async () => {},
  }
  const operation = lookUpGameServer({
    client,
    logger: harmlessLogger(false),
    timeoutMs: 1000,
    cacheTtlMs: 0,
    cache: createResultCache(clock),
    maxConcurrent: 50,
    requiredPermission: 'x',
    ...parts,
  })
  const run = async (
    address = 'play.example',
    port?: string,
    caller = 'me',
    call: Partial<OperationCall> = {},
  ) =>
    valueOf(operation.run({ address, port }, callerNamed(caller), callWith({ callerKey: caller, ...call })))
  return { asked, run, operation }
}

test('the answer has the six fields of the contract and nothing else', async () => {
  expect(await lookup(async () => status).run()).toStrictEqual({
    ip: '192.0.2.1',
    port: '25565',
    players: { online: 1, max: 2 },
    version: { name: 'x', protocol: 1 },
    ping: '13ms',
    srvRecord: { host: 'a.example', port: 1234 },
  })
  const { srvRecord } = await lookup(async () => ({ ...status, srvRecord: null })).run()
  expect(srvRecord).toStrictEqual({})
})

describe('with details', () => {
  const details = { details: true }

  test('the answer also has description, icon and players', async () => {
    expect(await lookup(async () => status, details).run()).toStrictEqual({
      ...(await lookup(async () => status).run()),
      description: 'private',
      favicon: 'data:image/png;base64,AAAA',
      sample: [{ name: 'someone', id: '1' }],
    })
  })

  test('what a server does not have is not there', async () => {
    const answer = await lookup(async () => ({ ...bare, description: '' }), details).run()
    expect(Object.keys(answer).slice(-2)).toEqual(['srvRecord', 'description'])
  })

  test('an icon of more than 32 KiB is left out, and players after the twelfth', async () => {
    const ofLength = async (length: number) => {
      const sample = Array.from({ length: 20 }, (_, index) => ({ name: `p${index}`, id: '', more: 'x' }))
      return lookup(async () => ({ ...status, favicon: 'x'.repeat(length), sample }), details).run()
    }
    expect((await ofLength(32_768)).favicon).toHaveLength(32_768)
    const answer = await ofLength(32_769)
    expect(answer).not.toHaveProperty('favicon')
    expect(answer.sample).toHaveLength(12)
    expect(answer.sample?.[11]).toStrictEqual({ name: 'p11', id: '' })
  })

  test('they are in the schema and the example, and only then', () => {
    for (const on of [true, false]) {
      const { output, example } = lookup(async () => status, { details: on }).operation
      expect(output().parse(example)).toStrictEqual(example)
      expect('description' in example).toBe(on)
      expect(JSON.stringify(z.toJSONSchema(output())).includes('favicon')).toBe(on)
    }
  })
})

test('the option for details reaches the answer and the OpenAPI document', async () => {
  const storage = memoryStorage()
  const { apiKey } = await createAdmin({ storage }).createApiKey({})
  const client: BlockgameClient = { status: async () => status, close: async () => {} }
  for (const details of [true, false]) {
    const api = createUtilityApi({ storage, blockgame: { client, details } })
    const headers = { Basic: apiKey, 'X-Address': 'play.example' }
    const response = await api.fetch(new Request('http://localhost/v4/games/blockgame/lookup', { headers }))
    expect('description' in ((await response.json()) as object)).toBe(details)
    expect(JSON.stringify(api.openapi()).includes('PNG data URL')).toBe(details)
    await api.close()
  }
})

test('equal lookups in flight share one connection; another port is another lookup', async () => {
  const { asked, run } = lookup(() => new Promise((resolve) => setTimeout(resolve, 10, status)))
  await Promise.all([run(), run('PLAY.example'), run('play.example:25565'), run('play.example', '25566')])
  expect(asked.map(({ host, port }) => `${host} ${port}`)).toStrictEqual([
    'play.example 25565',
    'play.example 25566',
  ])
})

test('the case of letters is kept for the handshake, and lookups that differ in it alone are shared', async () => {
  const { asked, run } = lookup(async () => status, { cacheTtlMs: 1000 })
  await Promise.all([run('Play.Example'), run('PLAY.example')])
  await run('play.EXAMPLE.:25565')
  expect(asked.map(({ host }) => host)).toStrictEqual(['Play.Example'])
})

test('an answer is kept as long as configured', async () => {
  const { asked, run } = lookup(async () => status, { cacheTtlMs: 1000 })
  await run()
  clock.advance(999)
  await run()
  expect(asked).toHaveLength(1)
  clock.advance(1)
  await run()
  expect(asked).toHaveLength(2)
})

test('what one caller has looked up is not kept for another, who would learn of it', async () => {
  const { asked, run } = lookup(async () => status, { cacheTtlMs: 60_000 })
  await run()
  await run('play.example', undefined, 'other')
  expect(asked).toHaveLength(2)
  await run('play.example', undefined, 'other')
  expect(asked).toHaveLength(2)
})

test('a lookup that never gets its turn is told that we are busy, within its deadline', async () => {
  const { run } = lookup(() => new Promise((resolve) => setTimeout(resolve, 200, status)), {
    maxConcurrent: 1,
    timeoutMs: 50,
  })
  const first = run('a.example')
  await expect(run('b.example')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  expect(await first).toMatchObject({ ip: '192.0.2.1' })
})

test('that a caller has too many lookups under way is not said of the server', async () => {
  const slow = ({ host, timeoutMs = 0 }: BlockgameTarget): Promise<ServerStatus> =>
    new Promise((resolve, reject) => {
      if (host !== 'hanging.example' && timeoutMs >= 20) resolve(status)
      else setTimeout(() => reject(new ServerCheckError('timeout')), timeoutMs)
    })
  const { asked, run } = lookup(slow, { maxConcurrent: 2, timeoutMs: 60 })
  run('hanging.example').catch(() => undefined)
  await expect(run('b.example')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  expect(asked).toHaveLength(1)
})

test('a lookup that had to wait for its turn gets what is left of its time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const first = Promise.withResolvers<ServerStatus>()
  const { asked, run } = lookup(() => first.promise, { maxConcurrent: 1, timeoutMs: 1000 })
  const answers = [run('a.example'), run('b.example')]
  vi.advanceTimersByTime(400.5)
  first.resolve(status)
  await Promise.all(answers)
  vi.useRealTimers()
  expect(asked.map(({ timeoutMs }) => timeoutMs)).toStrictEqual([1000, 599])
})

test.each([
  [new ServerCheckError('timeout'), 'server_check_failed'],
  [new UtilityApiError('address_not_allowed', 'No.'), 'address_not_allowed'],
  [new Error('a bug in the client of the host'), 'server_check_failed'],
  [null, 'server_check_failed'],
])('%s is answered as %s', async (error, code) => {
  const { run } = lookup(() => Promise.reject(error))
  await expect(run()).rejects.toMatchObject({ code })
})

test('a client that breaks is told to the log, and a server that does not answer is not', async () => {
  const warnings: object[] = []
  const logger = { ...harmlessLogger(false), warn: (_: string, fields: object = {}) => warnings.push(fields) }
  const cause = new TypeError('allowAddress must return true or false.')
  const failures = [cause, new ServerCheckError('timeout'), new UtilityApiError('address_not_allowed', 'No.')]
  for (const failure of failures)
    await expect(lookup(() => Promise.reject(failure), { logger }).run()).rejects.toThrow()
  expect(warnings).toEqual([{ cause }])
})

test('when the caller leaves, the lookup is aborted', async () => {
  const leaving = new AbortController()
  const { asked, run } = lookup(
    ({ signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  )
  const result = run('play.example', undefined, 'me', { signal: leaving.signal })
  leaving.abort(new Error('gone'))
  await expect(result).rejects.toThrow('gone')
  expect(asked[0]?.signal?.aborted).toBe(true)
})

/** Answers for most servers, and never for those of `hanging.example`. */
const answerMost = ({ host, signal }: BlockgameTarget): Promise<ServerStatus> =>
  host.endsWith('hanging.example')
    ? new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    : Promise.resolve(status)

/** A caller with as many lookups under way as they may have, until they leave. */
function holdHalf(run: ReturnType<typeof lookup>['run']): AbortController {
  const leaving = new AbortController()
  for (let count = 0; count < 6; count += 1) {
    run(`${count}.hanging.example`, undefined, 'other', { signal: leaving.signal }).catch(() => undefined)
  }
  return leaving
}

test('however many lookups of one caller hang, those of another do not wait for them', async () => {
  const { asked, run } = lookup(answerMost, { maxConcurrent: 4 })
  const leaving = holdHalf(run)
  expect(asked).toHaveLength(2)
  expect(await run()).toMatchObject({ ip: '192.0.2.1' })
  leaving.abort()
})

test('who asks for what another caller still waits for does not wait with them', async () => {
  const { asked, run } = lookup(answerMost, { maxConcurrent: 4 })
  const leaving = holdHalf(run)
  const waiting = run('play.example', undefined, 'other')
  expect(asked).toHaveLength(2)
  const [first, second] = await Promise.all([waiting, run()])
  expect(second).toEqual(first)
  expect(asked).toHaveLength(3)
  leaving.abort()
})
