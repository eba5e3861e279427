import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../src/blockgame/connection.ts'
import { encodePing } from '../../src/blockgame/codec/requests.ts'
import { startClient, startServer } from './support/harness.ts'
import { eventually } from '../support/eventually.ts'

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Opens connections to a server that says nothing. */
async function connectTo(server: { ip: string; port: number }, count: number): Promise<Connection[]> {
  const connections = await Promise.all(
    Array.from({ length: count }, async () => {
      const connection = new Connection(server)
      await new Promise<void>((resolve) => connection.tell({ opened: resolve, closed() {} }))
      return connection
    }),
  )
  onTestFinished(() => connections.forEach((connection) => connection.close()))
  await endOfTurn()
  return connections
}

test('the first write of a turn goes out at once, and all others together at its end, in their order', async () => {
  const connections = await connectTo(await startServer({ script() {} }), 5)
  const write = vi.spyOn(Socket.prototype, 'write')
  onTestFinished(() => write.mockRestore())
  const sent: number[] = []
  const send = (index: number): void =>
    connections[index]?.write(Buffer.of(index), () => {
      expect(write).toHaveBeenLastCalledWith(Buffer.of(index))
      sent.push(index)
    })

  for (const index of connections.keys()) send(index)
  expect(sent).toEqual([0])
  expect(write).toHaveBeenCalledTimes(1)
  await endOfTurn()
  expect(sent).toEqual([0, 1, 2, 3, 4])

  send(3)
  expect(sent.at(-1)).toBe(3)
  await endOfTurn()
  expect(write).toHaveBeenCalledTimes(6)
})

test('connections begin at the end of the turn as well, with what is written meanwhile', async () => {
  const server = await startServer({ script() {} })
  const connections = await connectTo(server, 1)
  const connect = vi.spyOn(Socket.prototype, 'connect')
  onTestFinished(() => connect.mockRestore())

  connections[0]?.write(Buffer.of(1), () => {})
  const opened = connectTo(server, 3)
  expect(connect).not.toHaveBeenCalled()
  await endOfTurn()
  expect(connect).toHaveBeenCalledTimes(3)
  await expect(opened).resolves.toHaveLength(3)
})

test('a connection closed in the turn of its write sends nothing', async () => {
  const server = await startServer({ script() {} })
  const [first, connection] = await connectTo(server, 2)
  const closed = vi.fn()
  connection?.tell({ closed })
  first?.write(Buffer.of(1), () => {})
  connection?.write(Buffer.of(2), () => {})
  connection?.cut()
  await eventually(() => expect(closed).toHaveBeenCalledExactlyOnceWith(undefined))
  await eventually(() => expect(server.connections.map(({ received }) => received.length)).toContain(1))
  expect(Buffer.concat(server.connections.map(({ received }) => received))).toEqual(Buffer.of(1))
})

test('a connection closed in the turn in which it was opened never connects', async () => {
  const server = await startServer({ script() {} })
  const [first] = await connectTo(server, 1)
  const connect = vi.spyOn(Socket.prototype, 'connect')
  onTestFinished(() => connect.mockRestore())
  first?.write(Buffer.of(1), () => {})
  const connection = new Connection(server)
  const closed = vi.fn()
  connection.tell({ closed })
  connection.cut()
  await eventually(() => expect(closed).toHaveBeenCalledExactlyOnceWith(undefined))
  await endOfTurn()
  expect(connect).not.toHaveBeenCalled()
})

test('the ping is sent before the status is parsed', async () => {
  const server = await startServer()
  const write = vi.spyOn(Socket.prototype, 'write')
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => [write, parse].forEach((spy) => spy.mockRestore()))
  await startClient().status({ host: server.ip, port: server.port })
  const ping = write.mock.calls.findIndex(([bytes]) =>
    Buffer.from(encodePing(0n)).equals(bytes as Uint8Array),
  )
  expect(write.mock.invocationCallOrder[ping]).toBeLessThan(parse.mock.invocationCallOrder[0] ?? 0)
})
