import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { FrameReader } from '../../src/dns/tcp.ts'
import type { FakeBlockgameConnection } from '../../src/testing/blockgame-behavior.ts'
import { encodePacket, fakeBlockgameServer } from '../../src/testing/blockgame-server.ts'
import { encodeName, words } from '../../src/testing/dns-encoding.ts'
import { fakeDnsServer } from '../../src/testing/dns-server.ts'
import { eventually } from '../support/eventually.ts'

// What the fake servers remember is bounded: a demonstration may run for weeks.

function queryOf(id: number): Buffer {
  const message = Buffer.concat([words(id, 0x0100, 1, 0, 0, 0), encodeName('a.test'), words(16, 1)])
  return Buffer.concat([words(message.length), message])
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  return socket
}

test('a DNS server remembers the last thousand queries, and counts all of them for drops', async () => {
  await using server = await fakeDnsServer({ drop: 1050 })
  const socket = await open(server.port)
  const frames = new FrameReader()
  const answered: number[] = []
  const allAnswered = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      for (const message of frames.add(chunk)) answered.push(message.readUInt16BE(0))
      if (answered.includes(1099)) resolve()
    })
  })
  socket.write(Buffer.concat(Array.from({ length: 1100 }, (_, id) => queryOf(id))))
  await allAnswered
  expect([server.queries.length, server.queries[0]?.id, server.queries.at(-1)?.id]).toEqual([1000, 100, 1099])
  expect([answered.length, answered[0]]).toEqual([50, 1050])
  socket.destroy()
})

test('an answer of the greatest length over TCP is complete; one octet more is marked as truncated', async () => {
  await using server = await fakeDnsServer()
  const socket = await open(server.port)
  socket.write(queryOf(7))
  while (server.queries.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const [query] = server.queries
  const answerOf = (length: number): Buffer | undefined => {
    const text = (size: number) =>
      ({ host: 'a.test', ttl: 1, type: 'TXT', txt: '', entries: ['x'.repeat(size)] }) as const
    const head = query?.answer({ records: [] }).length ?? 0
    // Each record has 13 octets besides its text.
    const whole = Math.floor((length - head) / 213) - 1
    const rest = length - head - whole * 213 - 13
    const [one, other] = rest > 255 ? [200, rest - 213] : [rest, null]
    const records = [
      ...Array.from({ length: whole }, () => text(200)),
      text(one),
      ...(other === null ? [] : [text(other)]),
    ]
    return query?.answer({ records })
  }
  expect(answerOf(65_535)?.length).toBe(65_535)
  expect(answerOf(65_536)?.length).toBeLessThan(100)
  socket.destroy()
})

test('a game server remembers the last thousand connections, but closes all of them', async () => {
  const server = await fakeBlockgameServer()
  const first = await open(server.port)
  const closed = once(first, 'close')
  for (let count = 0; count < 1000; count += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: few are open at a time
    const socket = await open(server.port)
    socket.destroy()
  }
  const last = await open(server.port)
  while (server.connections.at(-1)?.socket.remotePort !== last.localPort)
    await new Promise((resolve) => setTimeout(resolve, 1))
  expect(server.connections.length).toBe(1000)
  expect(server.connections.some(({ socket }) => socket.remotePort === first.localPort)).toBe(false)
  await server[Symbol.asyncDispose]()
  await closed
})

test('a game server lets go of a connection that is closed', async () => {
  const server = await fakeBlockgameServer()
  const client = await open(server.port)
  await eventually(() => expect(server.connections).toHaveLength(1))
  const { socket } = server.connections[0] as FakeBlockgameConnection
  const closed = once(socket, 'close')
  client.destroy()
  await closed
  const destroy = vi.spyOn(socket, 'destroy')
  await server.close()
  expect(destroy).not.toHaveBeenCalled()
})

test('a game server remembers the first bytes that a connection sends', async () => {
  const all = Promise.withResolvers<void>()
  const server = await fakeBlockgameServer({
    script: ({ socket }) => socket.on('data', () => socket.bytesRead > 200_000 && all.resolve()),
  })
  const socket = await open(server.port)
  const handshake = encodePacket(0, Buffer.of(4, 1, 0x61, 0x63, 0xdd, 1))
  socket.write(Buffer.concat([handshake, Buffer.alloc(200_000, 7)]))
  await all.promise
  const [connection] = server.connections
  expect(connection?.received.length).toBe(65_536)
  expect(connection?.handshake).toEqual({ protocolVersion: 4, host: 'a', port: 0x63dd })
  await server.close()
})
