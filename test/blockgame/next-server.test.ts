import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Connection, Listener } from '../../src/blockgame/connection.ts'
import { DeadlineScope } from '../../src/blockgame/deadline-scope.ts'
import type { DnsClient } from '../../src/ports/dns-client.ts'
import {
  encodeKick,
  encodeStatusPacket,
  type FakeBlockgameConnection,
  type FakeBlockgameServer,
  type FakeBlockgameServerOptions,
} from '../../src/testing/blockgame-server.ts'
import { eventually } from '../support/eventually.ts'
import { noneOpen, startClient, startServer, zoneDns } from './support/harness.ts'

const name = 'mc.example.com'

/** Waits until something holds, while fake timers stand still. */
async function until(holds: () => boolean, turnsLeft = 100_000): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  if (turnsLeft === 0) throw new Error('It never holds.')
  if (!holds()) await until(holds, turnsLeft - 1)
}

/** What a connection began with: a modern request or a legacy ping. */
const kinds = ({ connections }: FakeBlockgameServer): string[] =>
  connections.map(({ received }) => (received[0] === 0xfe ? 'legacy' : 'modern'))

const hangUps: readonly (readonly [string, FakeBlockgameServerOptions])[] = [
  ['closes at once', { script: ({ socket }) => void socket.destroy() }],
  ['closes at the request', { script: ({ socket }) => void socket.once('data', () => socket.destroy()) }],
  ['ends at the request', { script: ({ socket }) => void socket.once('data', () => socket.end()) }],
  ['resets', { script: ({ socket }) => void socket.once('data', () => socket.resetAndDestroy()) }],
]

/** Starts two servers on one port. The second one is a good one. */
async function startTwo(
  first: FakeBlockgameServerOptions,
): Promise<[FakeBlockgameServer, FakeBlockgameServer]> {
  const good = await startServer({ ip: '127.0.0.22' })
  return [await startServer({ ip: '127.0.0.21', port: good.port, ...first }), good]
}

describe.each(hangUps)('where the first server %s', (_, first) => {
  test('the next address is asked', async () => {
    const [bad, good] = await startTwo(first)
    const dns = zoneDns({ [`A ${name}`]: [bad.ip, good.ip] })
    const { ip } = await startClient({ dns }).status({ host: name, port: good.port })
    expect(ip).toBe(good.ip)
    expect([bad.connections.length, good.connections.length]).toEqual([1, 1])
    await noneOpen(bad)
  })

  test('the next SRV target is asked', async () => {
    const [bad, good] = await startTwo(first)
    const dns = zoneDns({
      [`SRV _minecraft._tcp.${name}`]: [
        `1 0 ${bad.port} first.example.net`,
        `2 0 ${good.port} second.example.net`,
      ],
      'A first.example.net': [bad.ip],
      'A second.example.net': [good.ip],
    })
    const { srvRecord } = await startClient({ dns }).status({ host: name })
    expect(srvRecord).toEqual({ host: 'second.example.net', port: good.port })
    expect(bad.connections).toHaveLength(1)
  })

  test('an address that comes later is waited for', async () => {
    const [bad, good] = await startTwo(first)
    const zone = zoneDns({ [`AAAA ${name}`]: ['::ffff:127.0.0.22'], [`A ${name}`]: [bad.ip] })
    const dns: DnsClient = {
      ...zone,
      async query(question) {
        if (question.type === 'AAAA') await delay(200)
        return zone.query(question)
      },
    }
    const { port } = await startClient({ dns }).status({ host: name, port: good.port })
    expect(port).toBe(good.port)
    expect([bad.connections.length, good.connections.length]).toEqual([1, 1])
  })
})

describe('a server that hangs up', () => {
  /** Hangs up on the first connections, and behaves as a good server on the others. */
  function startHangingUp(count: number, era: 'modern' | '1.4'): Promise<FakeBlockgameServer> {
    let connections = 0
    const answer = (socket: FakeBlockgameConnection['socket'], first: number): void => {
      if (first === 0xfe) socket.end(encodeKick('§1\u000061\u00001.5.2\u0000old\u00001\u00002'))
      else if (era === 'modern') socket.end(encodeStatusPacket({ description: 'modern' }))
      else socket.destroy()
    }
    return startServer({
      script({ socket }) {
        connections += 1
        const hangsUp = connections <= count
        socket.once('data', ([first = 0]) => (hangsUp ? socket.destroy() : answer(socket, first)))
      },
    })
  }

  test('while it starts is asked once more', async () => {
    const server = await startHangingUp(1, 'modern')
    const status = await startClient().status({ host: server.ip, port: server.port })
    expect(status.description).toBe('modern')
    expect(kinds(server)).toEqual(['modern', 'modern'])
  })

  test('twice is asked with a legacy ping', async () => {
    const server = await startHangingUp(0, '1.4')
    const status = await startClient().status({ host: server.ip, port: server.port })
    expect(status).toMatchObject({ description: 'old', version: { protocol: 61 } })
    expect(kinds(server)).toEqual(['modern', 'modern', 'legacy'])
  })

  test('on everything is asked three times, and said to have closed', async () => {
    const server = await startHangingUp(9, 'modern')
    const check = startClient().status({ host: server.ip, port: server.port })
    await expect(check).rejects.toMatchObject({ reason: 'closed' })
    expect(kinds(server)).toEqual(['modern', 'modern', 'legacy'])
  })

  test('is asked again only when no other address is left', async () => {
    const old = await startServer({ ip: '127.0.0.31', era: '1.4' })
    const other = await startServer({
      ip: '127.0.0.32',
      port: old.port,
      script: ({ socket }) => socket.destroy(),
    })
    const dns = zoneDns({ [`A ${name}`]: [old.ip, other.ip] })
    const status = await startClient({ dns }).status({ host: name, port: old.port })
    expect(status).toMatchObject({ ip: old.ip, version: { name: '1.21.4' } })
    expect([kinds(old), other.connections.length]).toEqual([['modern', 'modern', 'legacy'], 1])
  })
})

describe('at most eight connections are made', () => {
  const eight = Array.from({ length: 8 }, (_, index) => `127.0.0.${41 + index}`)
  const spread = {
    [`SRV _minecraft._tcp.${name}`]: [1, 2].map((rank) => `${rank} 0 PORT node${rank}.example.net`),
  }
  function zoneOf(port: number, ips: readonly string[]) {
    const mapped = (ip: string): string => `::ffff:${ip}`
    return zoneDns({
      ...Object.fromEntries(
        Object.entries(spread).map(([key, texts]) => [
          key,
          texts.map((text) => text.replace('PORT', String(port))),
        ]),
      ),
      'A node1.example.net': ips.slice(0, 2),
      'AAAA node1.example.net': ips.slice(2, 4).map(mapped),
      'A node2.example.net': ips.slice(4, 6),
      'AAAA node2.example.net': ips.slice(6, 8).map(mapped),
    })
  }

  test('however many servers hang up: two are kept for the first of them', () =>
    // On a busy machine, the next address is tried before the one before has answered.
    eventually(async () => {
      const asked: string[] = []
      const note = ({ socket }: FakeBlockgameConnection): void => {
        asked.push(socket.localAddress ?? '')
        socket.once('data', () => socket.destroy())
      }
      const first = await startServer({ ip: eight[0]!, script: note })
      for (const ip of eight.slice(1)) await startServer({ ip, port: first.port, script: note })
      const check = startClient({ dns: zoneOf(first.port, eight) }).status({ host: name })
      await expect(check).rejects.toMatchObject({ reason: 'closed' })
      expect(asked).toEqual([0, 2, 1, 3, 4, 6, 0, 0].map((index) => eight[index]))
    }))

  test('and the eighth is tried where seven refuse', async () => {
    const last = await startServer({ ip: eight[7]! })
    const status = await startClient({ dns: zoneOf(last.port, eight) }).status({ host: name })
    expect(status.srvRecord?.host).toBe('node2.example.net')
    expect(last.connections).toHaveLength(1)
  })
})

test('an address that was slower than one that hangs up is tried again', async () => {
  const good = await startServer({ ip: '127.0.0.51' })
  const bad = await startServer({
    ip: '127.0.0.52',
    port: good.port,
    script: ({ socket }) => socket.destroy(),
  })
  const open = DeadlineScope.prototype.open
  let attempts = 0
  const spy = vi.spyOn(DeadlineScope.prototype, 'open').mockImplementation(function (
    this: DeadlineScope,
    destination,
  ) {
    if (destination.ip !== good.ip || (attempts += 1) > 1) return open.call(this, destination)
    const stuck = { tell(_: Listener) {}, cut() {}, close() {} }
    return stuck as unknown as Connection
  })
  onTestFinished(() => spy.mockRestore())
  const dns = zoneDns({ [`A ${name}`]: [good.ip, bad.ip] })
  const { ip } = await startClient({ dns }).status({ host: name, port: good.port })
  expect(ip).toBe(good.ip)
  expect([attempts, bad.connections.length]).toEqual([2, 1])
})

test.for([
  ['something else than a status', Uint8Array.of(0), 'protocol'],
  ['half a status', encodeStatusPacket({ players: {} }).subarray(0, 9), 'closed'],
] as const)('a server that says %s is an answer: no other is asked', async ([, bytes, reason]) => {
  const [bad, good] = await startTwo({
    script: ({ socket }) => void socket.once('data', () => socket.end(bytes)),
  })
  const dns = zoneDns({ [`A ${name}`]: [bad.ip, good.ip] })
  const check = startClient({ dns }).status({ host: name, port: good.port })
  await expect(check).rejects.toMatchObject({ reason })
  expect([bad.connections.length, good.connections.length]).toEqual([1, 0])
})

describe('modern first', () => {
  const kick = encodeKick('§1\u0000127\u0000old\u0000d\u00001\u00002')
  const modern = encodeStatusPacket({ version: { name: 'modern', protocol: 769 } })

  /** Answers legacy pings at once, and modern requests when told to. */
  async function startBoth() {
    const sockets: FakeBlockgameConnection['socket'][] = []
    const server = await startServer({
      script({ socket }) {
        socket.once('data', (chunk) => (chunk[0] === 0xfe ? socket.end(kick) : sockets.push(socket)))
      },
    })
    return { server, sockets }
  }

  /** Starts a lookup with a fake clock, and lets the legacy ping be answered. */
  async function startSlow() {
    const { server, sockets } = await startBoth()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const check = startClient().status({ host: server.ip, port: server.port, timeoutMs: 2500 })
    let settled = false
    check.then(
      () => (settled = true),
      () => (settled = true),
    )
    await until(() => sockets.length === 1)
    vi.advanceTimersByTime(1000)
    await until(() => server.connections[1]?.open === false)
    return { check, socket: sockets[0]!, isSettled: () => settled }
  }

  test('a modern status that takes its time wins over a legacy answer', async () => {
    const { check, socket, isSettled } = await startSlow()
    vi.advanceTimersByTime(1200)
    expect(isSettled()).toBe(false)
    socket.end(modern)
    expect((await check).version).toEqual({ name: 'modern', protocol: 769 })
  })

  test('near the deadline any answer is better than none', async () => {
    const { check, isSettled } = await startSlow()
    await vi.advanceTimersByTimeAsync(1249)
    expect(isSettled()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect((await check).version).toEqual({ name: 'old', protocol: 127 })
  })

  test('a status whose pong is still missing near the deadline wins', async () => {
    const { check, socket } = await startSlow()
    vi.advanceTimersByTime(1200)
    socket.write(modern)
    await until(() => socket.bytesRead > 30)
    await vi.advanceTimersByTimeAsync(290)
    expect((await check).version.protocol).toBe(769)
  })

  test('when the modern connection has ended, the legacy answer counts', async () => {
    const { check, socket } = await startSlow()
    socket.destroy()
    expect((await check).version.protocol).toBe(127)
  })
})
