/** Long statuses that arrive together: each is read in a turn of the event loop of its own. */
import { afterEach, expect, test, vi } from 'vitest'
import { encodeStatusPacket } from '../../src/testing/blockgame-server.ts'
import { startClient, startServer } from './support/harness.ts'

afterEach(() => void vi.restoreAllMocks())

const count = 20

/** Returns in how many turns of the event loop statuses with such a text were read. */
async function turnsOfReading(text: string): Promise<number> {
  let turn = 0
  const nextTurn = (): void => {
    turn += 1
    timer = setImmediate(nextTurn)
  }
  let timer = setImmediate(nextTurn)
  const status = { version: { name: '1', protocol: 1 }, players: { online: 3, max: 20 }, description: text }
  const asking = new Set<{ end(bytes: Uint8Array): unknown }>()
  const server = await startServer({
    script: ({ socket }) => {
      socket.once('data', () => {
        asking.add(socket)
        if (asking.size === count) for (const each of asking) each.end(encodeStatusPacket(status))
      })
    },
  })
  const turns = new Set<number>()
  const parse = JSON.parse.bind(JSON)
  vi.spyOn(JSON, 'parse').mockImplementation((json: string) => {
    turns.add(turn)
    return parse(json) as unknown
  })
  const client = startClient()
  const target = { host: server.ip, port: server.port }
  const statuses = await Promise.all(Array.from({ length: count }, () => client.status(target)))
  clearImmediate(timer)
  expect(statuses.map(({ players }) => players.online)).toEqual(statuses.map(() => 3))
  return turns.size
}

test('long ones are read one a turn', async () => {
  expect(await turnsOfReading('x'.repeat(100_000))).toBe(count)
})
