import { describe, expect, test } from 'vitest'
import type { BlockgameTarget } from '../../src/ports/blockgame-client.ts'
import type { FakeBlockgameServer } from '../../src/testing/blockgame-server.ts'
import { startClient, startServer } from './support/harness.ts'
import { hasIpv6 } from '../support/loopback.ts'

function lookUp(server: FakeBlockgameServer, options: Partial<BlockgameTarget>) {
  return startClient().status({ host: server.ip, port: server.port, ...options })
}

describe('handshake', () => {
  test('says another host and port, and changes nothing else', async () => {
    const server = await startServer()
    const { ip, port } = await lookUp(server, { handshake: { host: 'Lobby.Example.com', port: 25565 } })
    expect({ ip, port }).toEqual({ ip: server.ip, port: server.port })
    expect(server.connections[0]?.handshake).toMatchObject({ host: 'Lobby.Example.com', port: 25565 })
  })

  test('has the port of the target by default', async () => {
    const server = await startServer()
    await lookUp(server, { handshake: { host: 'lobby.example.com' } })
    expect(server.connections[0]?.handshake).toMatchObject({ port: server.port })
  })

  test('reaches old servers, too', async () => {
    const server = await startServer({ era: '1.6' })
    await lookUp(server, { handshake: { host: 'old.example.com', port: 25565 } })
    const ping = server.connections.at(-1)?.received ?? Buffer.alloc(0)
    expect(Buffer.from(ping).subarray(-4).readInt32BE()).toBe(25565)
    expect(Buffer.from(ping).toString('latin1').replaceAll('\0', '')).toContain('old.example.com')
  })
})

describe('raw', () => {
  test('is the status as the server sent it', async () => {
    const status = { players: { online: '3', max: 20 }, anything: [{ deep: '\u202e' }] }
    const server = await startServer({ status })
    expect((await lookUp(server, { raw: true })).raw).toEqual(status)
    expect(await lookUp(server, {})).not.toHaveProperty('raw')
    expect(await lookUp(server, { raw: false })).not.toHaveProperty('raw')
  })

  test('is the text of an old server’s kick', async () => {
    const server = await startServer({ era: 'beta' })
    expect((await lookUp(server, { raw: true })).raw).toBe('A fake server§3§20')
  })
})

describe('proxyProtocol', () => {
  const signature = '0d0a0d0a000d0a515549540a'

  test('1 begins every connection with a line that tells its ends', async () => {
    const server = await startServer({ era: '1.4', unknownPacket: 'close' })
    await lookUp(server, { proxyProtocol: 1 }).catch(() => {})
    expect(server.connections.length).toBeGreaterThanOrEqual(3)
    for (const { received } of server.connections) {
      const [line, rest = ''] = Buffer.from(received).toString('latin1').split('\r\n')
      expect(line).toMatch(new RegExp(`^PROXY TCP4 127\\.0\\.0\\.1 127\\.0\\.0\\.1 \\d+ ${server.port}$`))
      // The second modern try sends its request after its handshake, to which this server hangs up.
      expect([0xfe, rest.length - 3, rest.length - 1]).toContain(rest.charCodeAt(0))
    }
  })

  test.for([
    ['127.0.0.1', '2111000c', 4],
    ['::1', '21210024', 16],
  ] as const)('2 begins it with the same in binary, from %s', async ([ip, head, size], { skip }) => {
    skip(ip === '::1' && !hasIpv6, 'there is no IPv6 here')
    const ports: (number | undefined)[] = []
    const server = await startServer({ ip, script: ({ socket }) => ports.push(socket.remotePort) })
    await lookUp(server, { proxyProtocol: 2, timeoutMs: 300 }).catch(() => {})
    const received = Buffer.from(server.connections[0]?.received ?? [])
    expect(received.subarray(0, 16).toString('hex')).toBe(signature + head)
    const end = 16 + 2 * size
    expect(received.subarray(16, 16 + size)).toEqual(received.subarray(16 + size, end))
    expect([received.readUInt16BE(end), received.readUInt16BE(end + 2)]).toEqual([ports[0], server.port])
    expect(received[end + 5]).toBe(0)
  })
})

test.for([
  [{ raw: 'yes' }, /raw/],
  [{ raw: 1 }, /raw/],
  [{ raw: null }, /raw/],
  [{ handshake: 'lobby.example.com' }, /handshake\.host/],
  [{ handshake: null }, /handshake\.host/],
  [{ handshake: {} }, /handshake\.host/],
  [{ handshake: { host: 'a b' } }, /handshake\.host/],
  [{ handshake: { host: 'a\0FML\0' } }, /handshake\.host/],
  [{ handshake: { host: 'a', port: 0 } }, /handshake\.port/],
  [{ handshake: { host: 'a', prot: 5 } }, /prot is not known/],
  [{ proxyProtocol: 3 }, /proxyProtocol/],
  [{ proxyProtocol: '1' }, /proxyProtocol/],
  [{ proxyProtocol: true }, /proxyProtocol/],
] as const)('%j is refused', async ([options, message]) => {
  const check = startClient().status({ host: 'mc.example.com', ...(options as object) })
  await expect(check).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringMatching(message),
  })
})
