import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { connectToFirst } from '../../src/blockgame/connect.ts'
import { Lookup } from '../../src/blockgame/lookup.ts'
import { noneOpen, startServer } from './harness.ts'

const blackHole = { ip: '127.0.0.3', port: 25565, srvRecord: null }

/** A lookup in which connections to the black hole never come about, as where a firewall drops packets. */
function lookupWithBlackHole(): { lookup: Lookup; stuck: Socket[] } {
  const lookup = new Lookup(5000)
  const stuck: Socket[] = []
  const open = lookup.open.bind(lookup)
  lookup.open = (endpoint) => {
    if (endpoint.ip !== blackHole.ip) return open(endpoint)
    const socket = new Socket()
    stuck.push(socket)
    return socket
  }
  return { lookup, stuck }
}

test('an address that swallows packets is joined by the next, and given up when that one answers', async () => {
  const server = await startServer()
  const { lookup, stuck } = lookupWithBlackHole()
  const startedAt = performance.now()
  const there = { ip: server.ip, port: server.port, srvRecord: null }
  const connection = await lookup.run(connectToFirst(lookup, [blackHole, blackHole, there]))
  expect(connection.endpoint).toBe(there)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(480)
  expect(performance.now() - startedAt).toBeLessThan(2000)
  expect(stuck.map(({ destroyed }) => destroyed)).toEqual([true, true])
  await noneOpen(server)
})

test('a lookup that is over tries no further address', async () => {
  const server = await startServer()
  const { lookup } = lookupWithBlackHole()
  const there = { ip: server.ip, port: server.port, srvRecord: null }
  const work = lookup.run(connectToFirst(lookup, [blackHole, there]))
  lookup.abort(new Error('over'))
  await expect(work).rejects.toThrow('over')
  await new Promise((resolve) => setTimeout(resolve, 350))
  expect(server.connections).toHaveLength(0)
})
