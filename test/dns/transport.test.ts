import crypto from 'node:crypto'
import { Socket } from 'node:dgram'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { randomId } from '../../src/dns/random-id.ts'
import { fakeDnsServer, type FakeDnsQuery } from '../../src/testing/dns-server.ts'
import { endsBefore } from '../support/ends-before.ts'
import { spyOnBuiltin } from '../support/spy-on-builtin.ts'
import { patched, rightRecord } from './support/messages.ts'
import { hasIpv6 } from '../support/loopback.ts'
import { eventually } from '../support/eventually.ts'

const question = { name: 'example.com', type: 'A' } as const
const zone = { records: [rightRecord] }
const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** A port of 127.0.0.1 where nobody listens. */
async function closedPort(): Promise<number> {
  const server = await fakeDnsServer()
  await server.close()
  return server.port
}

describe('ports and ids', () => {
  test('change, however the queries come', async () => {
    const queries: { clientPort: number; id: number }[] = []
    const reply = (query: FakeDnsQuery): undefined => void queries.push(query)
    await using server = await fakeDnsServer({ ...zone, reply })
    const client = createDnsClient()
    for (let left = 3800; left > 0; left -= 1) await client.query({ ...question, server })
    await Promise.all(times(200, () => client.query({ ...question, server })))
    await client.close()

    const uses = new Map<number, number>()
    for (const { clientPort } of queries) uses.set(clientPort, (uses.get(clientPort) ?? 0) + 1)
    expect(queries).toHaveLength(4000)
    expect(uses.size).toBeGreaterThanOrEqual(4000 / 256)
    expect(Math.max(...uses.values())).toBeLessThanOrEqual(256)
    // Neighbors are sent from different ports mostly: 4 are in service at any time.
    const same = queries.filter(({ clientPort }, at) => clientPort === queries[at - 1]?.clientPort)
    expect(same.length).toBeLessThan(1400)

    const ids = queries.map(({ id }) => id)
    // Of 4000 out of 65,536, about 120 meet another by chance.
    expect(new Set(ids).size).toBeGreaterThan(3750)
    for (const bit of [1, 2, 4, 8, 0x10, 0x100, 0x1000, 0x4000, 0x8000]) {
      const set = ids.filter((id) => (id & bit) !== 0).length
      expect(set).toBeGreaterThan(1700)
      expect(set).toBeLessThan(2300)
    }
  })

  test('never carry two queries at once', async () => {
    const waiting = new Set<string>()
    const twice: string[] = []
    await using server = await fakeDnsServer({
      ...zone,
      async reply({ clientPort, id }) {
        const key = `${clientPort} ${id}`
        if (waiting.has(key)) twice.push(key)
        waiting.add(key)
        await new Promise((resolve) => setTimeout(resolve, 50))
        waiting.delete(key)
        return undefined
      },
    })
    const client = createDnsClient()
    for (let rounds = 10; rounds > 0; rounds -= 1)
      await Promise.all(times(200, () => client.query({ ...question, server })))
    await client.close()
    expect(twice).toEqual([])
  })

  test('never come twice from one port, even if chance repeats itself', async () => {
    const reply = ({ clientPort, id }: FakeDnsQuery): undefined => void sent.push(`${clientPort} ${id}`)
    const sent: string[] = []
    await using server = await fakeDnsServer({ ...zone, reply })
    const client = createDnsClient()
    const drawAnew = (): void => void times(1024, randomId)
    onTestFinished(drawAnew)
    // As many ids as a port has queries: each is drawn many times before the last is found.
    spyOnBuiltin(crypto, 'randomFillSync').mockImplementation((numbers: Uint16Array) =>
      numbers.set(numbers.map(() => crypto.randomInt(256))),
    )
    drawAnew()
    for (let rounds = 9; rounds > 0; rounds -= 1)
      await Promise.all(times(100, () => client.query({ ...question, server })))
    await client.close()
    expect(sent.length).toBeGreaterThanOrEqual(900)
    expect(new Set(sent).size).toBe(sent.length)
  })

  test('change with every try of a query', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    await using server = await fakeDnsServer({ drop: Number.POSITIVE_INFINITY })
    const client = createDnsClient()
    const names = Array.from({ length: 10 }, (_, index) => `n${index}.test`)
    const answers = names.map((name) => client.query({ name, type: 'A', server, timeoutMs: 100_000 }))
    for (const tries of [1, 2, 3]) {
      await eventually(() => expect(server.queries).toHaveLength(10 * tries))
      vi.advanceTimersByTime(35_000)
    }
    await Promise.all(answers)
    for (const name of names) {
      const tries = server.queries.filter((query) => query.name === name)
      expect(new Set(tries.map(({ clientPort }) => clientPort)).size).toBe(3)
      expect(new Set(tries.map(({ id }) => id)).size).toBeGreaterThan(1)
    }
    await client.close()
  })

  test('change over TCP as well', async () => {
    await using server = await fakeDnsServer({ ...zone, truncate: true })
    const client = createDnsClient()
    await Promise.all(times(20, () => client.query({ ...question, server })))
    await client.close()
    expect(server.queries.filter(({ transport }) => transport === 'tcp')).toHaveLength(20)
    // Of 40 out of 65,536, two are alike once in 84 times.
    expect(new Set(server.queries.map(({ id }) => id)).size).toBeGreaterThan(35)
  })
})

test('queries of one turn go out together, in their order', async () => {
  await using server = await fakeDnsServer(zone)
  const client = createDnsClient()
  const sent = vi.spyOn(Socket.prototype, 'send')
  const names = Array.from({ length: 20 }, (_, index) => `n${index}.test`)
  const answers = names.map(async (name) => {
    await client.query({ name, type: 'A', server })
    const before = sent.mock.calls.length
    const answer = client.query({ ...question, server })
    expect(sent.mock.calls.length).toBe(before)
    return answer
  })
  expect(sent).not.toHaveBeenCalled()
  await new Promise((resolve) => process.nextTick(() => setImmediate(resolve)))
  expect(sent).toHaveBeenCalledTimes(20)
  for (const { status } of await Promise.all(answers)) expect(status).toBe('NOERROR')
  expect(server.queries.slice(0, 20).map(({ name }) => name)).toEqual(names)
  sent.mockRestore()
  await client.close()
})

test('a query goes out at once while no reply is awaited, and otherwise at the end of the turn', async () => {
  await using server = await fakeDnsServer({
    ...zone,
    reply: ({ name }) => (name === 'silent.test' ? null : undefined),
  })
  const client = createDnsClient()
  // So that all sockets are connected.
  await Promise.all(times(100, () => client.query({ ...question, server })))
  // What failed is awaited no longer.
  const closed = { ip: '127.0.0.1', port: await closedPort() }
  expect(await client.query({ ...question, server: closed })).toMatchObject({ status: 'UNREACHABLE' })
  const sent = vi.spyOn(Socket.prototype, 'send')
  const sentBeforeTurn = async (name: string): Promise<{ sends: number; answer: Promise<unknown> }> => {
    sent.mockClear()
    // Before the query's own, so that it sees what was sent without waiting for it.
    const turn = new Promise<number>((resolve) => setImmediate(() => resolve(sent.mock.calls.length)))
    const answer = client.query({ ...question, name, server, timeoutMs: 60_000 })
    return { sends: await turn, answer }
  }
  for (let left = 3; left > 0; left -= 1) {
    const alone = await sentBeforeTurn('example.com')
    expect(alone.sends).toBe(1)
    await alone.answer
  }
  const silent = await sentBeforeTurn('silent.test')
  expect(silent.sends).toBe(1)
  const beside = await sentBeforeTurn('example.com')
  expect(beside.sends).toBe(0)
  expect(await beside.answer).toMatchObject({ status: 'NOERROR' })
  sent.mockRestore()
  await client.close()
  expect(await silent.answer).toMatchObject({ status: 'UNREACHABLE' })
})

test('a query waits for its socket if connecting takes time', async () => {
  await using server = await fakeDnsServer(zone)
  const client = createDnsClient()
  const connect = Socket.prototype.connect
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function late(this: Socket, ...args) {
    setTimeout(() => Reflect.apply(connect, this, args), 20)
  })
  const answers = times(100, () => client.query({ ...question, server }))
  for (const { status } of await Promise.all(answers)) expect(status).toBe('NOERROR')
  expect(server.queries).toHaveLength(100)
  vi.restoreAllMocks()
  await client.close()
})

describe('a signal', () => {
  test('that is aborted already sends nothing', async () => {
    await using server = await fakeDnsServer(zone)
    const client = createDnsClient()
    const signal = AbortSignal.abort('no need')
    await expect(client.query({ ...question, server, signal })).rejects.toBe('no need')
    await client.close()
    expect(server.queries).toEqual([])
  })

  test('that aborts in the turn of the question keeps it from being sent', async () => {
    await using server = await fakeDnsServer(zone)
    const client = createDnsClient()
    const controller = new AbortController()
    const answer = client.query({ ...question, server, signal: controller.signal })
    controller.abort('no more')
    await expect(answer).rejects.toBe('no more')
    await client.query({ ...question, server })
    await client.close()
    expect(server.queries).toHaveLength(1)
  })

  test.each(['udp', 'tcp'] as const)('ends a query under way over %s', async (transport) => {
    await using server = await fakeDnsServer({
      ...zone,
      truncate: true,
      reply: (query) => (query.transport === transport ? null : undefined),
    })
    const client = createDnsClient()
    const controller = new AbortController()
    const answer = client.query({ ...question, server, signal: controller.signal, timeoutMs: 60_000 })
    await eventually(() => expect(server.queries.at(-1)?.transport).toBe(transport))
    controller.abort(new Error('gone'))
    await expect(answer).rejects.toThrow('gone')
    await client.close()
  })

  test('shared by many queries keeps no listener of any', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    await using server = await fakeDnsServer(zone)
    const client = createDnsClient()
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    await Promise.all(times(100, () => client.query({ ...question, server, signal })))
    expect(removed).toHaveBeenCalledTimes(100)
    await client.close()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })
})

describe('closing', () => {
  test('ends queries under way, and all later ones', async () => {
    await using server = await fakeDnsServer({ drop: Number.POSITIVE_INFINITY })
    const client = createDnsClient()
    const answers = times(10, () => client.query({ ...question, server, timeoutMs: 60_000 }))
    await eventually(() => expect(server.queries.length).toBe(10))
    await client.close()
    await client.close()
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe('UNREACHABLE')
    expect(await client.query({ ...question, server })).toMatchObject({ status: 'UNREACHABLE', records: [] })
  })

  test('ends queries under way when others have ended', async () => {
    const names = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test', 'f.test']
    const answered = new Set(['a.test', 'c.test', 'f.test'])
    await using server = await fakeDnsServer({
      reply: ({ name }) => (answered.has(name) ? undefined : null),
    })
    const client = createDnsClient()
    const answers = names.map((name) => client.query({ name, type: 'A', server, timeoutMs: 60_000 }))
    await Promise.all(answers.filter((_, index) => answered.has(names[index] ?? '')))
    await client.close()
    const statuses = (await Promise.all(answers)).map((answer) => answer.status)
    expect(statuses).toEqual([
      'NXDOMAIN',
      'UNREACHABLE',
      'NXDOMAIN',
      'UNREACHABLE',
      'UNREACHABLE',
      'NXDOMAIN',
    ])
  })

  test('right after a query leaves nothing behind', async () => {
    await using server = await fakeDnsServer(zone)
    const client = createDnsClient()
    const answer = client.query({ ...question, server })
    await client.close()
    expect(await answer).toMatchObject({ status: 'UNREACHABLE' })
  })
})

describe('a server that cannot be reached', () => {
  test('is tried twice, as a message that says so can be forged', async () => {
    const server = { ip: '127.0.0.1', port: await closedPort() }
    const client = createDnsClient()
    const sent = vi.spyOn(Socket.prototype, 'send')
    const answer = await client.query({ ...question, server, timeoutMs: 10_000 })
    const ids = sent.mock.calls.map(([message]) => (message as Buffer).readUInt16BE(0))
    expect(answer).toMatchObject({ status: 'UNREACHABLE' })
    expect(ids).toHaveLength(2)
    // From sockets of their own.
    expect(new Set(sent.mock.contexts).size).toBe(2)
    sent.mockRestore()
    await client.close()
  })

  test('is given up after a second try, long before the deadline', async () => {
    const port = await closedPort()
    const client = createDnsClient()
    const query = client.query({ ...question, server: { ip: '127.0.0.1', port }, timeoutMs: 10_000 })
    expect(await endsBefore(2000, query)).toBe(true)
    expect(await query).toMatchObject({ status: 'UNREACHABLE', records: [] })
    await client.close()
  })

  test('is given up by all concurrent queries', async () => {
    const server = { ip: '127.0.0.1', port: await closedPort() }
    const client = createDnsClient()
    // The next try would start after 30 s: a refusal that a later send swallows must not be lost.
    const ask = () => client.query({ ...question, server, timeoutMs: 100_000 })
    const asked = Promise.all(times(200, ask))
    expect(await endsBefore(5000, asked)).toBe(true)
    const answers = await asked
    await client.close()
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set(['UNREACHABLE']))
  })

  test('is seen even if the first and the last query of a turn were given up before they were sent', async () => {
    const reply = ({ name }: FakeDnsQuery): null | undefined => (name.endsWith('.silent') ? null : undefined)
    await using server = await fakeDnsServer({ ...zone, reply })
    const client = createDnsClient()
    // So that all sockets are connected, and sending waits for nothing but the end of the turn.
    await Promise.all(times(40, () => client.query({ ...question, server })))
    const sent = vi.spyOn(Socket.prototype, 'send')
    onTestFinished(() => sent.mockRestore())
    const silent = (name: string) => ({ ...question, name: `${name}.silent`, server })
    const givenUp = new AbortController()
    const giveUp = (name: string): void => {
      for (let left = 40; left > 0; left -= 1)
        client.query({ ...silent(`${name}${left}`), signal: givenUp.signal }).catch(() => {})
    }
    giveUp('first')
    const answers = times(40, (index) => client.query(silent(`n${index}`)))
    giveUp('last')
    givenUp.abort()
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    // A refusal is reported to a send that has a callback, and lost with one that has none.
    expect(sent).toHaveBeenCalledTimes(40)
    const lastOf = new Map(sent.mock.contexts.map((socket, call) => [socket, sent.mock.calls[call]]))
    expect([...lastOf.values()].every((call) => typeof call?.[1] === 'function')).toBe(true)
    expect(sent.mock.calls.filter((call) => call[1] !== undefined)).toHaveLength(lastOf.size)
    await client.close()
    await Promise.all(answers)
  })

  test('does not spoil the next query when it comes back', async () => {
    const port = await closedPort()
    const client = createDnsClient()
    const server = { ip: '127.0.0.1', port }
    expect(await client.query({ ...question, server })).toMatchObject({ status: 'UNREACHABLE' })
    const back = await fakeDnsServer({ ...zone, port })
    expect(await client.query({ ...question, server })).toMatchObject({ status: 'NOERROR' })
    await client.close()
    await back.close()
  })

  test('does not hold up the others', async () => {
    const dead = await fakeDnsServer({ drop: Number.POSITIVE_INFINITY })
    const hostile = await fakeDnsServer({ reply: (query) => patched(query.answer(), { 2: 0 }) })
    const good = await fakeDnsServer(zone)
    const client = createDnsClient()
    const order: number[] = []
    const servers = [dead, hostile, { ip: '127.0.0.1', port: await closedPort() }, good, good]
    const answers = await Promise.all(
      servers.map(async (server, index) => {
        const answer = await client.query({ ...question, server, timeoutMs: 600 })
        order.push(index)
        return answer.status
      }),
    )
    await Promise.all([client.close(), dead.close(), hostile.close(), good.close()])
    expect(answers).toEqual(['TIMEOUT', 'TIMEOUT', 'UNREACHABLE', 'NOERROR', 'NOERROR'])
    expect(order.slice(0, 3).toSorted()).toEqual([2, 3, 4])
  })
})

describe('the address of a server', () => {
  test.skipIf(!hasIpv6)('may be IPv6, by UDP and TCP', async () => {
    await using server = await fakeDnsServer({ ...zone, ip: '::1' })
    await using truncating = await fakeDnsServer({ ...zone, ip: '::1', truncate: true })
    const client = createDnsClient()
    expect(await client.query({ ...question, server })).toMatchObject({ status: 'NOERROR', transport: 'udp' })
    expect(await client.query({ ...question, server: truncating })).toMatchObject({
      status: 'NOERROR',
      transport: 'tcp',
    })
    await client.close()
  })

  test.each([
    ['2001:db8::1%eth0', 53],
    ['localhost', 53],
    ['[::1]', 53],
    ['127.0.0.1:53', 53],
    ['127.1', 53],
    ['', 53],
    ['127.0.0.1', 0],
    ['127.0.0.1', 65_536],
    ['127.0.0.1', 53.5],
    ['127.0.0.1', Number.NaN],
  ])('is refused when it is "%s" and %s', async (ip, port) => {
    const client = createDnsClient()
    await expect(client.query({ ...question, server: { ip, port } })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await client.close()
  })
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '300' as never])(
  'a deadline of %j ms is refused',
  async (timeoutMs) => {
    expect(() => createDnsClient({ timeoutMs })).toThrow('timeoutMs: must be a positive number')
    const client = createDnsClient()
    const server = { ip: '127.0.0.1' }
    await expect(client.query({ ...question, server, timeoutMs })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await client.close()
  },
)

test.each([
  [undefined, 'question must be an object: write query({ name, type, server: { ip } }).'],
  [null, 'question must be an object: write query({ name, type, server: { ip } }).'],
  [{ ...question, name: 7 }, 'name must be a string.'],
  [question, 'server must be an object: write { server: { ip } }.'],
  [{ ...question, server: '127.0.0.1' }, 'server must be an object: write { server: { ip } }.'],
  [{ ...question, server: null }, 'server.ip must be an IPv4 or IPv6 address.'],
  [{ ...question, server: { ip: '127.0.0.1' }, signal: 'x' }, 'signal must be an AbortSignal.'],
  [{ ...question, server: { ip: '127.0.0.1' }, signal: null }, 'signal must be an AbortSignal.'],
  [{ ...question, server: { ip: '127.0.0.1' }, clientSubnet: null }, 'clientSubnet must be a string.'],
  [{ ...question, server: { ip: '127.0.0.1' }, clientSubnet: 5 }, 'clientSubnet must be a string.'],
  [{ ...question, server: { ip: '127.0.0.1' }, timeout: 200 }, 'timeout is not known here; timeoutMs is.'],
])('the question %j is refused: %s', async (wrong, message) => {
  const client = createDnsClient()
  await expect(client.query(wrong as never)).rejects.toMatchObject({ code: 'invalid_argument', message })
  await client.close()
})

test('a misspelled option is refused, not ignored', () => {
  const says = { code: 'invalid_options', message: 'timeout: is not an option; timeoutMs is.' }
  expect(() => createDnsClient({ timeout: 100 } as object)).toThrow(expect.objectContaining(says))
  expect(() => createDnsClient(null as never)).toThrow('options: must be an object, as in { timeoutMs }.')
})

test.each([0.1, 2 ** 31 - 1])('a deadline of %s ms is accepted', async (timeoutMs) => {
  await using server = await fakeDnsServer(zone)
  const clients = [createDnsClient({ timeoutMs }), createDnsClient()]
  const answers = clients.map((client) => client.query({ ...question, server, timeoutMs }))
  for (const { status } of await Promise.all(answers)) expect(status).toBeOneOf(['NOERROR', 'TIMEOUT'])
  await Promise.all(clients.map((client) => client.close()))
})

test('over TCP, a query has the time that is left to it, and no more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const overTcp = Promise.withResolvers<void>()
  await using server = await fakeDnsServer({
    ...zone,
    truncate: true,
    reply({ transport }) {
      if (transport === 'udp') return void vi.advanceTimersByTime(200)
      overTcp.resolve()
      return null
    },
  })
  const client = createDnsClient()
  const answer = client.query({ ...question, server, timeoutMs: 1000 })
  await overTcp.promise
  vi.advanceTimersByTime(5000)
  expect(await answer).toMatchObject({ status: 'TRUNCATED', transport: 'tcp', latencyMs: 1000 })
  await client.close()
})

describe('a socket that cannot be opened', () => {
  /** Lets the n-th of the following sockets fail as one does without free file descriptors, before `connect` returns. */
  function failOpening(fails: (opened: number) => boolean): void {
    let opened = 0
    const bind = vi.spyOn(Socket.prototype, 'bind').mockImplementation(function (this: Socket, ...args) {
      opened += 1
      if (!fails(opened)) return original.apply(this, args as never)
      this.emit('error', Object.assign(new Error('bind EMFILE'), { code: 'EMFILE' }))
      return this
    })
    onTestFinished(() => bind.mockRestore())
  }
  const original = Socket.prototype.bind

  test('is tried once more', async () => {
    await using server = await fakeDnsServer(zone)
    const client = createDnsClient()
    failOpening((opened) => opened === 1)
    const answer = await client.query({ ...question, server, timeoutMs: 2000 })
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
    await client.close()
  })

  test('fails the query if it fails again, which says nothing about the resolver', async () => {
    await using server = await fakeDnsServer(zone)
    const client = createDnsClient()
    failOpening(() => true)
    const answer = client.query({ ...question, server, timeoutMs: 2000 })
    await expect(answer).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'EMFILE' } })
    await client.close()
  })

  test('at a later try leaves the first one waiting, and others alone', async () => {
    await using server = await fakeDnsServer({ records: [rightRecord], delayMs: 200 })
    const client = createDnsClient()
    failOpening((opened) => opened > 1)
    const answer = await client.query({ ...question, server, timeoutMs: 500 })
    expect(answer).toMatchObject({ status: 'NOERROR' })
    await client.close()
  })
})
