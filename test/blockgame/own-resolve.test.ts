import { expect, test, vi } from 'vitest'
import { createBlockgameClient } from 'utility-api/blockgame'
import { startClient, startServer, zoneDns } from './support/harness.ts'

const host = 'mc.lan'

test('the addresses of the program itself are connected to, and nobody is asked for others', async () => {
  const server = await startServer()
  const resolve = vi.fn(async () => [server.ip])
  const dns = zoneDns({})
  const status = await startClient({ dns, resolve }).status({ host, port: server.port })
  expect(status.ip).toBe(server.ip)
  expect(resolve).toHaveBeenCalledExactlyOnceWith(host, { signal: expect.any(AbortSignal) })
  expect(dns.asked).toEqual([])
})

test('null means that the resolvers are asked', async () => {
  const server = await startServer()
  const dns = zoneDns({ [`A ${host}`]: [server.ip] })
  const status = await startClient({ dns, resolve: async () => null }).status({ host, port: server.port })
  expect(status.ip).toBe(server.ip)
  expect(dns.asked).toEqual([`A ${host}`, `AAAA ${host}`])
})

test('the target of an SRV record is resolved the same way', async () => {
  const server = await startServer()
  const dns = zoneDns({ [`SRV _minecraft._tcp.${host}`]: [`0 0 ${server.port} node.lan`] })
  const resolve = async (name: string) => (name === 'node.lan' ? [server.ip] : null)
  expect((await startClient({ dns, resolve }).status({ host })).srvRecord?.host).toBe('node.lan')
})

test('a private address needs allowAddress as well', async () => {
  const canary = await startServer()
  const client = startClient({ resolve: async () => [canary.ip], allowAddress: null })
  await expect(client.status({ host, port: canary.port })).rejects.toMatchObject({ reason: 'blocked' })
  expect(canary.connections).toHaveLength(0)
})

test('no address means that the name does not resolve', async () => {
  const check = startClient({ resolve: async () => [] }).status({ host, port: 1 })
  await expect(check).rejects.toMatchObject({ reason: 'dns' })
})

test.for([['mc.lan'], '127.0.0.1', undefined, [null], { address: '127.0.0.1' }])(
  'what is no list of addresses is refused: %j',
  async (found) => {
    const resolve = async () => found as string[]
    await expect(startClient({ resolve }).status({ host, port: 1 })).rejects.toThrow(
      'resolve must return a list of IP addresses, or null.',
    )
  },
)

test('one that throws fails the lookup with its error, and one that hangs ends with the deadline', async () => {
  const broken = startClient({ resolve: () => Promise.reject(new Error('no file')) })
  await expect(broken.status({ host, port: 1 })).rejects.toThrow('no file')
  let ended: AbortSignal | undefined
  const hanging = startClient({
    resolve: (_, { signal }) => {
      ended = signal
      return new Promise(() => {})
    },
  })
  await expect(hanging.status({ host, port: 1, timeoutMs: 50 })).rejects.toMatchObject({ reason: 'timeout' })
  expect(ended?.aborted).toBe(true)
})

test('the option must be a function', () => {
  const options = { resolve: '/etc/hosts' } as never
  expect(() => createBlockgameClient(options)).toThrow('resolve: must be a function.')
})
