import { once } from 'node:events'
import { createConnection } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { fakeBlockgameServer } from '../../src/testing/blockgame-server.ts'

// It would throw in a socket's event, and end the process of the test that uses it.
test.for([null, { version: null, players: null, description: null }])(
  'a fake server that was told %j answers a legacy ping, too',
  async (status) => {
    await using server = await fakeBlockgameServer({ status })
    const socket = createConnection(server.port, server.ip)
    await once(socket, 'connect')
    socket.write(Uint8Array.of(0xfe, 0x01))
    const reply = await buffer(socket)
    expect(reply.subarray(3).swap16().toString('utf16le')).toBe(
      '§1\x00127\x001.21.4\0A fake server\x003\x0020',
    )
  },
)

test('a fake server answers a ping with its payload', async () => {
  await using server = await fakeBlockgameServer()
  const socket = createConnection(server.port, server.ip)
  await once(socket, 'connect')
  const [handshake, ping] = [
    [1, 0],
    [9, 1, 1, 2, 3, 4, 5, 6, 7, 8],
  ] as const
  socket.write(Uint8Array.of(...handshake, ...ping))
  const [pong] = await once(socket, 'data')
  expect([...pong]).toEqual(ping)
  socket.destroy()
})
