import { describe, expect, test } from 'vitest'
import { encodeStatusPacket, type FakeBlockgameConnection } from '../../src/testing/blockgame-server.ts'
import { noneOpen, startClient, startServer } from './support/harness.ts'

const answer = encodeStatusPacket({ version: { name: 'a proxy', protocol: 47 }, description: 'here' })
const unanswered = (): void => {}

/** What a plugin that does not know a protocol number does with its connection. */
const behaviors: Readonly<Record<string, (socket: FakeBlockgameConnection['socket']) => void>> = {
  closes: (socket) => socket.destroy(),
  ends: (socket) => socket.end(),
  resets: (socket) => socket.resetAndDestroy(),
  'is silent': unanswered,
  'is silent, and ends after a while': (socket) => void setTimeout(() => socket.end(), 700),
}

/** A proxy with a plugin that answers those who send a number it knows. */
function startPlugin(refuse: (socket: FakeBlockgameConnection['socket']) => void, isUp = () => true) {
  return startServer({
    script(connection) {
      const { socket } = connection
      const connectedUp = isUp()
      socket.once('data', ([first = 0]) => {
        const version = connection.handshake?.protocolVersion ?? -1
        if (first === 0xfe) socket.destroy()
        else if (version < 0 || !connectedUp) refuse(socket)
        else socket.end(answer)
      })
    },
  })
}

describe('a proxy whose plugin does not know protocol -1', () => {
  test.for(Object.entries(behaviors))('and %s is asked with a number that it knows', async ([, refuse]) => {
    const server = await startPlugin(refuse)
    const status = await startClient().status({ host: server.ip, port: server.port, timeoutMs: 1500 })
    expect(status).toMatchObject({ description: 'here', version: { name: 'a proxy', protocol: 47 } })
    const sent = server.connections.flatMap(({ handshake }) => handshake?.protocolVersion ?? [])
    expect(sent).toEqual([-1, 47])
    await noneOpen(server)
  })

  test('and answers as one of 1.8 has answered', async () => {
    const server = await startServer({
      script: ({ socket }) => void socket.once('data', () => socket.end(answer)),
    })
    const status = await startClient().status({ host: server.ip, port: server.port })
    expect(status.version.protocol).toBe(47)
    expect(server.connections).toHaveLength(1)
  })
})

test('the second request has a segment of its own', async () => {
  const segments: number[][] = []
  const server = await startServer({
    script(connection) {
      const mine: number[] = []
      segments.push(mine)
      connection.socket.on('data', (chunk) => {
        mine.push(chunk.length)
        // Reads one packet of each segment, as some plugins do.
        if (mine.length === 2) connection.socket.end(answer)
      })
    },
  })
  const status = await startClient().status({ host: server.ip, port: server.port, timeoutMs: 1500 })
  expect(status.description).toBe('here')
  expect(segments.at(-1)?.[1]).toBe(2)
})

test('a server that comes up 300 ms after it hung up is met', async () => {
  let firstAt: number | undefined
  const server = await startPlugin(
    (socket) => {
      firstAt ??= performance.now()
      socket.destroy()
    },
    () => firstAt !== undefined && performance.now() - firstAt >= 300,
  )
  const status = await startClient().status({ host: server.ip, port: server.port })
  expect(status.description).toBe('here')
})

test('a status of the second request needs no pong', async () => {
  const server = await startServer({
    script(connection) {
      connection.socket.once('data', () => {
        if (connection.handshake?.protocolVersion === 47) connection.socket.write(answer)
      })
    },
  })
  const status = await startClient().status({ host: server.ip, port: server.port, timeoutMs: 1500 })
  expect(status.description).toBe('here')
  // The second is that of the legacy ping.
  expect(server.connections.map(({ handshake }) => handshake?.protocolVersion)).toEqual([-1, undefined, 47])
})
