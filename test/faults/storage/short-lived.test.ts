/** A database that ends a connection in the packet that begins it, as one does that shuts down under a busy client. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { Pool } from 'pg'
import { postgresStorage } from 'utility-api/storage/postgres'
import { expect, test } from 'vitest'
import { call } from '../../storage/support/call.ts'

function message(type: string, content: string): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`)
  head.writeInt32BE(4 + content.length, 1)
  return Buffer.concat([head, Buffer.from(content)])
}

const welcome = [message('R', '\0\0\0\0'), message('Z', 'I')]
const farewell = message('E', 'SFATAL\0C57P01\0Mterminating connection\0\0')

test('fails the call and not the process', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(Buffer.concat([...welcome, farewell])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = new Pool({ connectionString: `postgres://user:password@127.0.0.1:${port}/database` })
  const storage = postgresStorage(pool)
  for (let count = 0; count < 3; count += 1) {
    await expect(storage.findClient('shop', call)).rejects.toMatchObject({ kind: 'unavailable' })
  }
  await pool.end()
  server.close()
})
