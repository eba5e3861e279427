import system from 'node:dns'
import { expect, onTestFinished, test } from 'vitest'
import { fakeDnsServer, type FakeDnsServerOptions } from 'utility-api/testing'
import {
  createBlockgameClient,
  type BlockgameClient,
  type BlockgameClientOptions,
} from 'utility-api/blockgame'
import { noneOpen, startServer } from './support/harness.ts'

function clientOf(options: BlockgameClientOptions): BlockgameClient {
  const client = createBlockgameClient(options)
  onTestFinished(() => client.close())
  return client
}

async function resolver(options: FakeDnsServerOptions): Promise<{ ip: string; port: number }> {
  const server = await fakeDnsServer(options)
  onTestFinished(() => server.close())
  return { ip: server.ip, port: server.port }
}

const host = 'mc.example.com'

test('a name travels through real DNS to a real socket', async () => {
  const server = await startServer()
  const dns = await resolver({
    records: [
      {
        type: 'SRV',
        host: `_minecraft._tcp.${host}`,
        ttl: 60,
        pri: 5,
        weight: 0,
        port: server.port,
        target: 'a.example.net',
      },
      { type: 'A', host: 'a.example.net', ttl: 60, ip: '127.0.0.1' },
    ],
  })
  const status = await clientOf({ resolvers: [dns], allowAddress: () => true }).status({ host })
  expect(status).toMatchObject({
    ip: '127.0.0.1',
    port: server.port,
    players: { online: 3, max: 20 },
    srvRecord: { host: 'a.example.net', port: server.port },
  })
  expect(server.connections[0]?.handshake).toEqual({ protocolVersion: -1, host, port: 25565 })
  await noneOpen(server)
})

test('the default rule blocks what a name leads to', async () => {
  const server = await startServer()
  const dns = await resolver({ records: [{ type: 'A', host, ttl: 60, ip: '127.0.0.1' }] })
  const check = clientOf({ resolvers: [dns] }).status({ host, port: server.port })
  await expect(check).rejects.toMatchObject({ reason: 'blocked' })
  expect(server.connections).toHaveLength(0)
})

test('if a resolver is silent, the next is asked', async () => {
  const server = await startServer()
  const silent = await resolver({ drop: Number.POSITIVE_INFINITY })
  const working = await resolver({ records: [{ type: 'A', host, ttl: 60, ip: '127.0.0.1' }] })
  const client = clientOf({ resolvers: [silent, working], allowAddress: () => true })
  const status = await client.status({ host, port: server.port, timeoutMs: 2000 })
  expect(status.ip).toBe('127.0.0.1')
})

test('the protocol number is an option', async () => {
  const server = await startServer()
  const client = clientOf({ protocolVersion: 769, allowAddress: () => true })
  await client.status({ host: server.ip, port: server.port })
  expect(server.connections[0]?.handshake?.protocolVersion).toBe(769)
})

test.for([
  [{ resolvers: [] }, /^resolvers: must be a list/],
  [{ resolvers: [{ ip: 'dns.example.com' }] }, /resolvers/],
  [{ resolvers: [{ ip: '127.0.0.1', port: 0 }] }, /resolvers/],
  [{ resolvers: [null] }, /resolvers/],
  [{ resolvers: ['127.0.0.1'] }, /^resolvers: must be a list of resolvers, as in \[\{ ip: /],
  [{ allowAddress: true }, /^allowAddress: must be a function\.$/],
  [{ allowAdress: () => false }, /^allowAdress: is not an option; allowAddress is\.$/],
  [null, /^options: must be an object, as in { allowAddress }\.$/],
  [{ protocolVersion: 1.5 }, /^protocolVersion: must be a 32-bit integer\.$/],
  [{ protocolVersion: 2 ** 31 }, /protocolVersion/],
] as const)('%j is refused', ([wrong, message]) => {
  const options = wrong as object
  expect(() => createBlockgameClient(options)).toThrow(message)
  expect(() => createBlockgameClient(options)).toThrow(expect.objectContaining({ code: 'invalid_options' }))
})

test('the system’s resolvers are the default', async () => {
  const client = clientOf({})
  await expect(client.status({ host: 'localhost' })).rejects.toMatchObject({ code: 'address_not_allowed' })
})

test('where all resolvers of the system are link-local, this machine is asked', () => {
  const before = system.getServers()
  onTestFinished(() => system.setServers(before))
  system.setServers(['fe80::1%lo'])
  expect(() => createBlockgameClient()).not.toThrow()
})

test('link-local resolvers of the system are left out', async () => {
  const server = await startServer()
  const { ip, port } = await resolver({ records: [{ type: 'A', host, ttl: 60, ip: '127.0.0.1' }] })
  const before = system.getServers()
  onTestFinished(() => system.setServers(before))
  // Only the first three resolvers of a list are asked.
  system.setServers(['fe80::1%lo', 'fe80::2%lo', 'FEB0::3%lo', `${ip}:${port}`])
  const status = await clientOf({ allowAddress: () => true }).status({ host, port: server.port })
  expect(status).toMatchObject({ ip: '127.0.0.1', port: server.port })
})
