import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDestinationFilter } from '../../src/blockgame/destination-filter.ts'
import { parseServerAddress } from '../../src/domain/server-address.ts'
import { closedAddresses } from '../support/closed-addresses.ts'
import { addresses, type Verdict } from './support/addresses.ts'
import { startClient, startServer, zoneDns } from './support/harness.ts'

function judge(text: string): Verdict {
  const typed = parseServerAddress(text)
  if (typed === null) return 'syntax'
  try {
    createDestinationFilter().requested(typed)
    return 'allowed'
  } catch {
    return 'private'
  }
}

test.for(addresses)('%s is %s: %s', ([typed, verdict]) => {
  expect(judge(typed)).toBe(verdict)
})

test('the table has at least eighty addresses, each once', () => {
  expect(addresses.length).toBeGreaterThanOrEqual(80)
  expect(new Set(addresses.map(([typed]) => typed)).size).toBe(addresses.length)
})

test('an address refused as typed is reported before any query or connection', async () => {
  const canary = await startServer()
  const dns = zoneDns({})
  const client = startClient({ dns, allowAddress: null })
  const refused = ['127.0.0.1', 'localhost', 'mc.localhost', '::1', '::ffff:127.0.0.1', '0.0.0.0']
  const outcomes = await Promise.allSettled(refused.map((host) => client.status({ host, port: canary.port })))
  const lowPort = await Promise.allSettled([client.status({ host: 'mc.example.com', port: 443 })])
  const causes = [...outcomes, ...lowPort].map((outcome) => (outcome as PromiseRejectedResult).reason.cause)
  expect([causes[0], causes[1], causes.at(-1)]).toEqual([
    'Not a public address: 127.0.0.1. The option allowAddress can permit it.',
    'Not a public address: 127.0.0.1 and ::1. The option allowAddress can permit it.',
    'Port 443 is below 1024: the option allowAddress can permit it.',
  ])
  for (const outcome of [...outcomes, ...lowPort]) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: 'address_not_allowed', status: 400 },
    })
  }
  expect(canary.connections).toHaveLength(0)
  expect(dns.asked).toEqual([])
})

test.for([...new Set(closedAddresses)])('nothing connects to %s, whoever leads there', async (ip) => {
  const connect = vi.spyOn(Socket.prototype, 'connect')
  onTestFinished(() => connect.mockRestore())
  const zone = { [`${ip.includes(':') ? 'AAAA' : 'A'} mc.example.com`]: [ip] }
  const client = startClient({ dns: zoneDns(zone), allowAddress: null })
  await expect(client.status({ host: 'mc.example.com' })).rejects.toMatchObject({
    code: 'server_check_failed',
    reason: 'blocked',
  })
  await expect(client.status({ host: ip })).rejects.toMatchObject({ code: 'address_not_allowed' })
  expect(connect).not.toHaveBeenCalled()
})

test('an SRV record that leads to a private address never gets a connection', async () => {
  const canary = await startServer()
  const leads = [
    `0 0 ${canary.port} private.example.com`,
    `0 0 ${canary.port} 127.0.0.1`,
    `0 0 ${canary.port} localhost`,
  ]
  const checks = leads.map((record) => {
    const dns = zoneDns({
      'SRV _minecraft._tcp.mc.example.com': [record],
      'A private.example.com': ['127.0.0.1'],
      'A localhost': ['127.0.0.1'],
    })
    return startClient({ dns, allowAddress: null }).status({ host: 'mc.example.com' })
  })
  for (const outcome of await Promise.allSettled(checks)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'blocked' } })
  }
  expect(canary.connections).toHaveLength(0)
})

test('an SRV record with a port below 1024 never gets a connection', async () => {
  const dns = zoneDns({
    'SRV _minecraft._tcp.mc.example.com': ['0 0 25 mail.example.com'],
    'A mail.example.com': ['1.1.1.1'],
  })
  const check = startClient({ dns, allowAddress: null }).status({ host: 'mc.example.com' })
  await expect(check).rejects.toMatchObject({ reason: 'blocked' })
})

// Loopback stands in for the internet here: 127.0.0.2 is what the rule opens, 127.0.0.1 the owner's own network.
const onlyTheSecond = ({ ip }: { ip: string }): boolean => ip === '127.0.0.2'

test('a name that changes its address after the check is not connected to again', async () => {
  const open = await startServer({ ip: '127.0.0.2', era: 'beta' })
  const canary = await startServer({ ip: '127.0.0.1', port: open.port })
  const dns = zoneDns({ 'A mc.example.com': (asked) => [asked === 1 ? '127.0.0.2' : '127.0.0.1'] })
  const client = startClient({ dns, allowAddress: onlyTheSecond })
  // An old server needs three connections, two modern ones and a legacy one: the moment for a rebinding resolver.
  await expect(client.status({ host: 'mc.example.com', port: open.port })).resolves.toMatchObject({
    ip: '127.0.0.2',
  })
  expect(open.connections).toHaveLength(3)
  const again = client.status({ host: 'mc.example.com', port: open.port })
  await expect(again).rejects.toMatchObject({ reason: 'blocked' })
  expect(dns.asked.filter((question) => question.startsWith('A '))).toHaveLength(2)
  expect(canary.connections).toHaveLength(0)
})

test('of several addresses only the permitted ones are connected to, even if these fail', async () => {
  const canary = await startServer({ ip: '127.0.0.1' })
  const dns = zoneDns({ 'A mc.example.com': ['127.0.0.1', '127.0.0.2'] })
  const check = startClient({ dns, allowAddress: onlyTheSecond }).status({
    host: 'mc.example.com',
    port: canary.port,
  })
  await expect(check).rejects.toMatchObject({ reason: 'refused' })
  expect(canary.connections).toHaveLength(0)
})

test('a rule gets the address, the port after SRV, and the host as requested', async () => {
  const server = await startServer()
  const heard: unknown[] = []
  const dns = zoneDns({
    'SRV _minecraft._tcp.mc.example.com': [`0 0 ${server.port} target.example.com`],
    'A target.example.com': ['127.0.0.1'],
  })
  const allowAddress = (target: unknown): boolean => heard.push(target) > 0
  await startClient({ dns, allowAddress }).status({ host: 'MC.example.com.' })
  expect(heard).toEqual([{ ip: '127.0.0.1', port: server.port, host: 'mc.example.com' }])
})

test('a rule that allows loopback allows localhost, without a query', async () => {
  const server = await startServer()
  const dns = zoneDns({})
  const status = await startClient({ dns }).status({ host: 'localhost', port: server.port })
  expect(status.ip).toBe('127.0.0.1')
  expect(dns.asked).toEqual([])
})

test('a rule of the host decides on ports below 1024 as well, for addresses and names', () => {
  const filter = createDestinationFilter(({ port }) => port === 443)
  const destination = { ip: '8.8.8.8', port: 443, srvRecord: null }
  expect(filter.requested({ host: '8.8.8.8', port: 443 })).toEqual([destination])
  expect(filter.requested({ host: 'mc.example.com', port: 443 })).toBeNull()
  const cause = 'The option allowAddress does not permit 8.8.8.8 with port 25565.'
  expect(() => filter.requested({ host: '8.8.8.8', port: 25565 })).toThrow(expect.objectContaining({ cause }))
})

function brokenRule(): boolean {
  throw new Error('broken rule')
}

test.each<[string, unknown]>([
  ['a promise', async () => true],
  ['a promise that rejects', () => Promise.reject(new Error('no list'))],
  ['text', () => 'no'],
  ['nothing', () => undefined],
])('a rule that returns %s allows nothing, and says so', (_, rule) => {
  const filter = createDestinationFilter(rule as () => boolean)
  const ask = (): unknown => filter.requested({ host: '8.8.8.8', port: 25565 })
  expect(ask).toThrow('allowAddress must return true or false.')
})

test('a rule that throws allows nothing', async () => {
  const server = await startServer()
  const check = startClient({ allowAddress: brokenRule }).status({ host: server.ip, port: server.port })
  await expect(check).rejects.toThrow('broken rule')
  expect(server.connections).toHaveLength(0)
})
