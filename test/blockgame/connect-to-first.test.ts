import { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Candidates, type Destination } from '../../src/blockgame/candidates.ts'
import { connectToFirst } from '../../src/blockgame/connect-to-first.ts'
import type { Connection, Listener } from '../../src/blockgame/connection.ts'
import { DeadlineScope } from '../../src/blockgame/deadline-scope.ts'
import { noneOpen, startClient, startServer } from './support/harness.ts'

const blackHole = { ip: '127.0.0.3', port: 25565, srvRecord: null }

const candidates = (destinations: readonly Destination[]): Candidates => Candidates.of(destinations)

/** A scope in which connections to the black hole never come about, as where a firewall drops packets. */
function scopeWithBlackHole() {
  const scope = new DeadlineScope(5000)
  const stuck: { close(): void; listener?: Listener }[] = []
  const open = scope.open.bind(scope)
  scope.open = (destination) => {
    if (destination.ip !== blackHole.ip) return open(destination)
    const connection = {
      tell: (listener: Listener) => Object.assign(connection, { listener }),
      cut() {},
      close: vi.fn(),
    }
    stuck.push(connection)
    return connection as unknown as Connection
  }
  return { scope, stuck }
}

describe('of addresses that are tried side by side', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test.each([
    [1, 1],
    [2, 2],
  ])('%i of them set %i timers, the deadline included', (count, timers) => {
    const { scope } = scopeWithBlackHole()
    void connectToFirst(scope, candidates(Array.from({ length: count }, () => blackHole)))
    expect(vi.getTimerCount()).toBe(timers)
    scope.abort(new Error('over'))
  })

  test('the next is tried when one has dropped packets for 250 ms, and all are given up when one answers', async () => {
    const server = await startServer()
    const { scope, stuck } = scopeWithBlackHole()
    const there = { ip: server.ip, port: server.port, srvRecord: null }
    const work = scope.run(() => connectToFirst(scope, candidates([blackHole, blackHole, there])))
    vi.advanceTimersByTime(249)
    expect(stuck).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(stuck).toHaveLength(2)
    vi.advanceTimersByTime(250)
    const { destination } = await work
    expect(destination).toBe(there)
    for (const { close } of stuck) expect(close).toHaveBeenCalled()
    vi.useRealTimers()
    await noneOpen(server)
  })

  test('an earlier one may still answer when the last one has failed', async () => {
    const { scope, stuck } = scopeWithBlackHole()
    const first = { ...blackHole }
    const work = scope.run(() => connectToFirst(scope, candidates([first, blackHole])))
    vi.advanceTimersByTime(250)
    stuck[1]?.listener?.closed()
    stuck[0]?.listener?.opened?.()
    expect((await work).destination).toBe(first)
  })

  test('the failure of the first is reported when all have failed', async () => {
    const { scope, stuck } = scopeWithBlackHole()
    const work = scope.run(() => connectToFirst(scope, candidates([blackHole, blackHole])))
    vi.advanceTimersByTime(250)
    stuck[0]?.listener?.closed(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    stuck[1]?.listener?.closed()
    await expect(work).rejects.toMatchObject({ reason: 'closed' })
  })

  test('no more are tried once one has answered', async () => {
    const { scope, stuck } = scopeWithBlackHole()
    const work = connectToFirst(scope, candidates([blackHole, blackHole, blackHole]))
    vi.advanceTimersByTime(250)
    stuck[0]?.listener?.opened?.()
    await work
    vi.advanceTimersByTime(1000)
    expect(stuck).toHaveLength(2)
  })
})

test('once the lookup has ended, no further address is tried', async () => {
  const server = await startServer()
  const { scope } = scopeWithBlackHole()
  const there = { ip: server.ip, port: server.port, srvRecord: null }
  const work = scope.run(() => connectToFirst(scope, candidates([blackHole, there])))
  scope.abort(new Error('over'))
  await expect(work).rejects.toThrow('over')
  await new Promise((resolve) => setTimeout(resolve, 350))
  expect(server.connections).toHaveLength(0)
})

/** Lets every socket get its octets from another one, pushed in: as msw and nock do, which know nothing of `onread`. */
function passThrough(): void {
  const connect = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args) {
    connect.mockRestore()
    const inner = new Socket().on('data', (bytes) => this.push(bytes))
    inner.on('close', () => this.destroy()).connect(...(args as Parameters<Socket['connect']>))
    passThrough()
    inner.once('connect', () => this.emit('connect'))
    this.write = ((bytes: Uint8Array) => inner.write(bytes)) as never
    this.once('close', () => inner.destroy())
    return this
  })
}

test.each(['in one buffer', 'each in its own, as Deno does', 'through the sockets of a test tool'])(
  'what several servers send in pieces is read %s, and not mixed up',
  async (way) => {
    if (way.endsWith('Deno does')) vi.stubGlobal('Deno', {})
    if (way.startsWith('through')) passThrough()
    onTestFinished(() => {
      vi.unstubAllGlobals()
      vi.restoreAllMocks()
    })
    const client = startClient()
    const names = Array.from({ length: 8 }, (_, index) => `server ${index}`.repeat(index + 1))
    const statuses = await Promise.all(
      names.map(async (name) => {
        const { ip, port } = await startServer({ status: { version: { name } }, chunkBytes: 7 })
        return client.status({ host: ip, port })
      }),
    )
    expect(statuses.map(({ version }) => version.name)).toEqual(names)
  },
)

test('what could not be tried for want of descriptors does not pass for refused', async () => {
  const scope = new DeadlineScope(5000)
  const codes = ['ECONNREFUSED', 'EMFILE', 'ECONNREFUSED']
  scope.open = () => {
    const error = Object.assign(new Error('connect'), { code: codes.shift() })
    const tell = ({ closed }: Listener): void => void setImmediate(closed, error)
    return { tell, cut() {}, close() {} } as unknown as Connection
  }
  const work = scope.run(() => connectToFirst(scope, candidates([blackHole, blackHole, blackHole])))
  await expect(work).rejects.toMatchObject({ reason: 'local', cause: { code: 'EMFILE' } })
  expect(codes).toEqual([])
})
