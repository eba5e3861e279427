import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { FrameReader, sendOverTcp } from '../../src/dns/tcp.ts'
import { oneATurn } from '../../src/bounds/one-a-turn.ts'
import { words } from '../../src/testing/dns-encoding.ts'
import type { FakeDnsQuery } from '../../src/testing/dns-server.ts'
import { listenOnBoth } from '../../src/testing/listen-on-both.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { endsBefore } from '../support/ends-before.ts'
import { patched, pointerChain, rawRecord, rawReply, rightRecord } from './support/messages.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const zone = { records: [rightRecord] }

type Behavior = (connection: Socket, query: FakeDnsQuery) => void | Promise<void>

/** A server whose UDP side says "too long" and whose TCP side does what the test wants. */
async function listen(behave: Behavior | 'no tcp', truncate: (query: FakeDnsQuery) => Buffer) {
  const connections: Socket[] = []
  const { tcp, udp, port } = await listenOnBoth('127.0.0.1')
  tcp.on('connection', (connection) => {
    connections.push(connection)
    connection.on('error', () => {})
    const frames = new FrameReader()
    connection.on('data', (chunk) => {
      for (const message of frames.add(chunk)) {
        const query = readFakeDnsQuery(message, 'tcp', connection.remotePort ?? 0, zone)
        if (query !== null && behave !== 'no tcp') void behave(connection, query)
      }
    })
  })
  if (behave === 'no tcp') tcp.close()
  udp.on('message', (message, from) => {
    const query = readFakeDnsQuery(message, 'udp', from.port, { ...zone, truncate: true })
    if (query !== null) udp.send(truncate(query), from.port, from.address)
  })
  return {
    server: { ip: '127.0.0.1', port },
    connections,
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.destroy()
      udp.close()
      if (behave !== 'no tcp') tcp.close()
    },
  }
}

function closed(connection: Socket): Promise<unknown> {
  if (connection.closed) return Promise.resolve()
  return new Promise((resolve) => connection.once('close', resolve))
}

async function ask(
  behave: Behavior | 'no tcp',
  timeoutMs: number,
  truncate = (query: FakeDnsQuery) => query.answer(),
  withinMs = timeoutMs + 2000,
) {
  await using listening = await listen(behave, truncate)
  const client = createDnsClient()
  const { server } = listening
  const query = client.query({ name: 'example.com', type: 'A', server, timeoutMs })
  const inTime = await endsBefore(withinMs, query)
  const answer = await query
  // Before anything else closes them.
  await Promise.all(listening.connections.map(closed))
  await client.close()
  expect(inTime).toBe(true)
  return { answer, connections: listening.connections }
}

const framed = (message: Uint8Array): Buffer => Buffer.concat([words(message.length), message])
const right = (query: FakeDnsQuery): Buffer => framed(query.answer())
const another = (query: FakeDnsQuery): Buffer => framed(patched(query.answer(), { 13: 0x7a }))
const badData = rawRecord({ data: Buffer.of(1, 2, 3) })
const broken = (query: FakeDnsQuery): Buffer => framed(rawReply(query, { answers: [badData] }))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function writeSlowly(connection: Socket, octets: Buffer, sizes: readonly number[]): Promise<void> {
  connection.setNoDelay(true)
  const [size, ...rest] = sizes
  connection.write(octets.subarray(0, size))
  if (size === undefined) return
  await pause(2)
  return writeSlowly(connection, octets.subarray(size), rest)
}

const answering: Record<string, Behavior> = {
  'the answer at once': (connection, query) => void connection.write(right(query)),
  'the answer, and closes': (connection, query) => void connection.end(right(query)),
  'octet after octet': (connection, query) =>
    writeSlowly(connection, right(query), Array<number>(60).fill(1)),
  'half the length first': (connection, query) => writeSlowly(connection, right(query), [1]),
  'the length first': (connection, query) => writeSlowly(connection, right(query), [2]),
  'all but the last octet first': (connection, query) =>
    writeSlowly(connection, right(query), [right(query).length - 1]),
  'an answer with another id first': (connection, query) =>
    void connection.write(
      Buffer.concat([framed(patched(query.answer(), { 0: (query.id >> 8) ^ 1 })), right(query)]),
    ),
  'an answer to another question first': (connection, query) =>
    void connection.write(Buffer.concat([another(query), right(query)])),
  'a broken message first': (connection, query) =>
    void connection.write(Buffer.concat([broken(query), right(query)])),
  'an empty message first': (connection, query) =>
    void connection.write(Buffer.concat([words(0), right(query)])),
  'a message of one octet first': (connection, query) =>
    void connection.write(Buffer.concat([framed(Buffer.of(7)), right(query)])),
  'noise behind the answer': (connection, query) =>
    void connection.write(Buffer.concat([right(query), Buffer.alloc(70_000, 0xff)])),
  'the answer twice': (connection, query) =>
    void connection.write(Buffer.concat([right(query), right(query)])),
  'an answer of 65,535 octets': (connection, query) => {
    const filler = rawRecord({ type: 65_280, data: Buffer.alloc(65_535 - query.answer().length - 12) })
    const record = rawRecord({ data: Buffer.of(192, 0, 2, 1) })
    const opt = rawRecord({ owner: Buffer.of(0), type: 41, ttl: 0, class: 1232, data: Buffer.alloc(0) })
    const message = rawReply(query, { answers: [record, filler], additionals: [opt] })
    expect(message.length).toBe(65_535)
    connection.write(framed(message))
  },
  'an answer of 2,000 octets, and closes before it is read': (connection, query) => {
    for (let turns = 0; turns < 2000; turns += 1) oneATurn(() => {})
    const record = rawRecord({ data: Buffer.of(192, 0, 2, 1) })
    const filler = rawRecord({ type: 65_280, data: Buffer.alloc(2000) })
    connection.end(framed(rawReply(query, { answers: [record, filler] })))
  },
  'FORMERR, until EDNS is left out': (connection, query) =>
    void connection.write(
      query.udpPayloadSize === null ? right(query) : framed(words(query.id, 0x8181, 0, 0, 0, 0)),
    ),
  'FORMERR twice, until EDNS is left out': (connection, query) => {
    const error = framed(words(query.id, 0x8181, 0, 0, 0, 0))
    connection.write(query.udpPayloadSize === null ? right(query) : Buffer.concat([error, error]))
  },
}

const failing: Record<string, Behavior | 'no tcp'> = {
  'refuses the connection': 'no tcp',
  'says nothing': () => {},
  'closes without a word': (connection) => void connection.end(),
  'resets the connection': (connection) => void connection.resetAndDestroy(),
  'closes inside the length': (connection) => void connection.end(Buffer.of(0)),
  'closes inside the answer': (connection, query) => void connection.end(right(query).subarray(0, 30)),
  'announces more than it sends': (connection, query) =>
    void connection.write(Buffer.concat([words(0xffff), query.answer()])),
  'truncates again': (connection, query) =>
    void connection.write(framed(patched(query.answer(), { 2: 0x83 }))),
  'answers another question': (connection, query) => void connection.end(another(query)),
  'answers with another id': (connection, query) =>
    void connection.end(framed(patched(query.answer(), { 0: (query.id >> 8) ^ 1 }))),
}

function flood(connection: Socket, octets: Buffer): void {
  const send = (): void => {
    while (!connection.destroyed && connection.write(octets));
  }
  connection.on('drain', send)
  send()
}

const partial = (query: FakeDnsQuery): Buffer =>
  rawReply(query, { flags: 0x8380, answers: [rawRecord({ data: Buffer.of(192, 0, 2, 9) })] })
const cut = (query: FakeDnsQuery): Buffer =>
  rawReply(query, { flags: 0x8380, counts: [1, 9, 0, 0], answers: [Buffer.of(0xc0)] })

describe.concurrent('a server asked over TCP', () => {
  test.each(Object.entries(answering))('sends %s', async (_kind, behave) => {
    const { answer } = await ask(behave, 5000)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord], transport: 'tcp' })
  })

  test.each(Object.entries(failing))('%s', async (_kind, behave) => {
    const { answer } = await ask(behave, 300)
    expect(answer).toMatchObject({ status: 'TRUNCATED', records: [], transport: 'tcp' })
  })

  test.each([
    ['empty messages', () => Buffer.alloc(8192)],
    ['other answers', another],
  ] as const)('sends %s without end, and is not listened to that long', async (_kind, make) => {
    const answerAtLength: Behavior = (connection, query) => flood(connection, make(query))
    const { answer } = await ask(answerAtLength, 15_000, undefined, 10_000)
    expect(answer).toMatchObject({ status: 'TRUNCATED', records: [] })
  })

  test('sends a broken message and closes', async () => {
    const answerBroken: Behavior = (connection, query) => void connection.end(broken(query))
    const { answer } = await ask(answerBroken, 5000, undefined, 4000)
    expect(answer).toMatchObject({ status: 'MALFORMED', records: [] })
  })

  test('sends 64 KB of pointers to pointers', async () => {
    const { answer } = await ask(
      (connection, query) => void connection.end(framed(pointerChain(query, 8000, 3000))),
      5000,
    )
    expect(answer).toMatchObject({ status: 'MALFORMED', records: [] })
  })

  test('has a whole record in its truncated datagram, which is not used', async () => {
    const { answer } = await ask((connection, query) => void connection.write(right(query)), 5000, partial)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
    expect(await ask('no tcp', 300, partial)).toMatchObject({ answer: { status: 'TRUNCATED', records: [] } })
  })

  test('has a cut record in its truncated datagram', async () => {
    const { answer } = await ask((connection, query) => void connection.write(right(query)), 5000, cut)
    expect(answer).toMatchObject({ status: 'NOERROR', records: [rightRecord] })
  })
})

test.each([
  ['empty messages', () => Buffer.alloc(2)],
  ['broken messages', broken],
] as const)('of a server that sends many %s, a hundred are read', async (_kind, make) => {
  const read = vi.spyOn(Buffer.prototype, 'subarray')
  onTestFinished(() => void read.mockRestore())
  const { answer } = await ask((connection, query) => {
    const message = make(query)
    connection.write(Buffer.concat(Array.from({ length: 5000 }, () => message)))
    read.mockClear()
  }, 5000)
  expect(answer.records).toEqual([])
  expect(read.mock.calls.length).toBeLessThan(2000)
})

test('a connection that breaks as it is ended ends nothing else', async () => {
  await using server = await listen(() => {}, partial)
  const connected = new Promise<Socket>((resolve) => {
    const onSocket = (message: unknown): void => {
      unsubscribe('net.client.socket', onSocket)
      resolve((message as { socket: Socket }).socket)
    }
    subscribe('net.client.socket', onSocket)
  })
  const uncaught = vi.fn()
  process.on('uncaughtExceptionMonitor', uncaught)
  onTestFinished(() => void process.off('uncaughtExceptionMonitor', uncaught))
  const fail = vi.fn()
  const end = sendOverTcp(server.server, Buffer.alloc(12), { receive: () => false, fail })
  const socket = await connected
  socket.destroy(new Error('reset'))
  end()
  await closed(socket)
  await new Promise((resolve) => setImmediate(resolve))
  expect(uncaught).not.toHaveBeenCalled()
  expect(fail).not.toHaveBeenCalled()
})

test('a message of no octets is there with its length', () => {
  const frames = new FrameReader()
  expect([0, 0, 0, 1, 7].map((octet) => frames.add(Buffer.from([octet])).length)).toEqual([0, 1, 0, 0, 1])
})

test('an answer that comes octet after octet keeps no segment, and is not copied for each', async () => {
  const frames = new FrameReader()
  const segments = Array.from({ length: 1000 }, (_, at) => Buffer.from([[0xff], [0xff]][at] ?? [at & 0xff]))
  const kept = segments.map((segment) => new WeakRef(segment))
  const buffers = vi.spyOn(Buffer, 'allocUnsafe')
  onTestFinished(() => void buffers.mockRestore())
  for (const segment of segments.splice(0)) expect(frames.add(segment)).toEqual([])
  expect(buffers.mock.calls.length).toBeGreaterThan(0)
  expect(buffers.mock.calls.length).toBeLessThan(10)
  // Until the end of a turn, a weak reference is a strong one.
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  // The last one may still be in a register.
  expect(kept.filter((segment) => segment.deref() !== undefined).length).toBeLessThan(10)
  const [message] = frames.add(Buffer.alloc(65_535 - 998))
  expect(message?.subarray(0, 998)).toEqual(
    Buffer.from(Array.from({ length: 998 }, (_, at) => (at + 2) & 0xff)),
  )
})
