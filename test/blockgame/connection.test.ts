import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Connection } from '../../src/blockgame/connection.ts'
import { startServer } from './support/harness.ts'

test('what is written in one turn goes out together, in its order', async () => {
  const server = await startServer({ script() {} })
  const connections = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const connection = new Connection({ ip: server.ip, port: server.port })
      await new Promise<void>((resolve) => connection.tell({ opened: resolve, closed() {} }))
      return connection
    }),
  )
  onTestFinished(() => connections.forEach((connection) => connection.close()))
  const write = vi.spyOn(Socket.prototype, 'write')
  const sent: number[] = []

  for (const [index, connection] of connections.entries()) {
    connection.write(Buffer.of(index), () => {
      expect(write).toHaveBeenLastCalledWith(Buffer.of(index))
      sent.push(index)
    })
  }
  expect(write).not.toHaveBeenCalled()
  await new Promise((resolve) => setImmediate(resolve))
  expect(sent).toEqual([0, 1, 2, 3, 4])

  connections[0]?.write(Buffer.of(9), () => sent.push(9))
  await new Promise((resolve) => setImmediate(resolve))
  expect(write).toHaveBeenCalledTimes(6)
  expect(sent.at(-1)).toBe(9)
  write.mockRestore()
})

test('a connection closed in the turn of its write sends nothing', async () => {
  const server = await startServer({ script() {} })
  const connection = new Connection({ ip: server.ip, port: server.port })
  const closed = vi.fn()
  await new Promise<void>((resolve) => connection.tell({ opened: resolve, closed }))
  connection.write(Buffer.of(1), () => {})
  connection.cut()
  await vi.waitFor(() => expect(closed).toHaveBeenCalledExactlyOnceWith(undefined))
  expect(server.connections[0]?.received ?? Buffer.alloc(0)).toHaveLength(0)
})
