import { afterEach, expect, test } from 'vitest'
import { createClient, type ClientParts } from '../../src/blockgame/client.ts'
import {
  fakeBlockgameServer,
  type FakeBlockgameServer,
  type FakeBlockgameServerOptions,
} from '../../src/testing/blockgame-server.ts'
import type { BlockgameClient } from '../../src/ports/blockgame-client.ts'

const noDns: ClientParts['dns'] = {
  query: () => Promise.reject(new Error('No DNS in this test.')),
  close: async () => {},
}
const client: BlockgameClient = createClient({
  dns: noDns,
  resolvers: [{ ip: '127.0.0.1' }],
  allowAddress: () => true,
  protocolVersion: -1,
})
const servers: FakeBlockgameServer[] = []
async function start(options?: FakeBlockgameServerOptions): Promise<FakeBlockgameServer> {
  const server = await fakeBlockgameServer(options)
  servers.push(server)
  return server
}
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

for (const era of ['modern', '1.6', '1.4', 'beta'] as const)
  for (const unknownPacket of ['close', 'wait', 'kick'] as const)
    test(`answers ${era} ${unknownPacket}`, async () => {
      const { ip, port, connections } = await start({ era, unknownPacket })
      const status = await client.status({ host: ip, port, timeoutMs: 2000 })
      expect(status).toMatchObject({
        ip,
        port,
        players: { online: 3, max: 20 },
        description: 'A fake server',
        srvRecord: null,
      })
      await new Promise((r) => setTimeout(r, 20))
      expect(connections.some((c) => c.open)).toBe(false)
    })
test('silent', async () => {
  const { ip, port } = await start({ script() {} })
  await expect(client.status({ host: ip, port, timeoutMs: 300 })).rejects.toMatchObject({ reason: 'timeout' })
  await expect(client.status({ host: ip, port: 9, timeoutMs: 300 })).rejects.toMatchObject({
    reason: 'refused',
  })
})
