import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { fakeBlockgameServer } from '../../src/testing/blockgame-server.ts'
import type { DnsClient } from '../../src/ports/dns-client.ts'
import { startClient, startServer, zoneDns, type Zone } from './support/harness.ts'
import { hasIpv6 } from '../support/loopback.ts'

const name = 'mc.example.com'
const srv = `SRV _minecraft._tcp.${name}`
// Only this test file listens on the default port, on a loopback address of its own.
const home = '127.0.0.77'

test('an SRV record is followed, and the handshake carries what was typed', async () => {
  const server = await startServer()
  const dns = zoneDns({
    [srv]: [`0 0 ${server.port} node7.example.net`],
    'A node7.example.net': ['127.0.0.1'],
  })
  await expect(startClient({ dns }).status({ host: 'MC.Example.com' })).resolves.toMatchObject({
    ip: '127.0.0.1',
    port: server.port,
    srvRecord: { host: 'node7.example.net', port: server.port },
  })
  expect(server.connections[0]?.handshake).toEqual({
    protocolVersion: -1,
    host: 'MC.Example.com',
    port: 25565,
  })
})

test('SRV, A and AAAA are queried at the same time', async () => {
  const dns = zoneDns({ [srv]: 'silent', [`A ${name}`]: 'silent', [`AAAA ${name}`]: 'silent' })
  const check = startClient({ dns }).status({ host: name, timeoutMs: 200 })
  expect(dns.asked.toSorted()).toEqual([`A ${name}`, `AAAA ${name}`, srv])
  await expect(check).rejects.toMatchObject({ reason: 'dns' })
})

test('a lookup that is given up while its SRV record is awaited leaves no rejection behind', async () => {
  const rejections: unknown[] = []
  const note = (reason: unknown): unknown => rejections.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const signal = AbortSignal.timeout(20)
  const dns = zoneDns({ [srv]: 'silent', [`A ${name}`]: 'silent', [`AAAA ${name}`]: 'silent' })
  await expect(startClient({ dns }).status({ host: name, signal })).rejects.toThrow()
  await delay(20)
  expect(rejections).toEqual([])
})

test('with another port no SRV record is queried', async () => {
  const server = await startServer()
  const dns = zoneDns({ [srv]: ['0 0 1 elsewhere.example.net'], [`A ${name}`]: ['127.0.0.1'] })
  const status = await startClient({ dns }).status({ host: name, port: server.port })
  expect(status).toMatchObject({ port: server.port, srvRecord: null })
  expect(dns.asked).not.toContain(srv)
  expect(server.connections[0]?.handshake).toEqual({ protocolVersion: -1, host: name, port: server.port })
})

test('an address needs no query', async () => {
  const server = await startServer({ ip: home, port: 25565 })
  const dns = zoneDns({})
  await expect(startClient({ dns }).status({ host: home })).resolves.toMatchObject({ ip: home, port: 25565 })
  expect(dns.asked).toEqual([])
  await server.close()
})

const withoutSrv: Zone = { [`A ${name}`]: [home] }

test.for([
  ['none', withoutSrv],
  ['no data', { ...withoutSrv, [srv]: 'NODATA' }],
  ['a server failure', { ...withoutSrv, [srv]: 'SERVFAIL' }],
  ['a refusal', { ...withoutSrv, [srv]: 'REFUSED' }],
  ['garbage', { ...withoutSrv, [srv]: 'MALFORMED' }],
  ['an empty answer', { ...withoutSrv, [srv]: [] }],
  ['silence', { ...withoutSrv, [srv]: 'silent' }],
  ['port 0', { ...withoutSrv, [srv]: ['0 0 0 node7.example.net'] }],
  ['a target that is no name', { ...withoutSrv, [srv]: ['0 0 1234 not/a/name'] }],
  ['a target like an integer address', { ...withoutSrv, [srv]: ['0 0 1234 2130706433'] }],
] as const)('where the SRV answer is %s, the host itself is asked', async ([, zone]) => {
  const server = await fakeBlockgameServer({ ip: home, port: 25565 })
  try {
    const status = await startClient({ dns: zoneDns(zone) }).status({ host: name, timeoutMs: 1500 })
    expect(status).toMatchObject({ ip: home, port: 25565, srvRecord: null })
  } finally {
    await server.close()
  }
})

test('for a name too long for an SRV query, only its addresses are queried', async () => {
  const long = `${'a'.repeat(60)}.`.repeat(4) + 'example'
  const server = await fakeBlockgameServer({ ip: home, port: 25565 })
  try {
    const dns = zoneDns({ [`A ${long}`]: [home] })
    await expect(startClient({ dns }).status({ host: long })).resolves.toMatchObject({ ip: home })
  } finally {
    await server.close()
  }
})

test('the target "." says that there is no server', async () => {
  const canary = await startServer({ ip: home, port: 25565 })
  const dns = zoneDns({ ...withoutSrv, [srv]: ['0 0 0 .'] })
  await expect(startClient({ dns }).status({ host: name })).rejects.toMatchObject({ reason: 'dns' })
  expect(canary.connections).toHaveLength(0)
  await canary.close()
})

test('a target may be an address, as the game has it', async () => {
  const server = await startServer()
  const dns = zoneDns({ [srv]: [`0 0 ${server.port} 127.0.0.1`] })
  const status = await startClient({ dns }).status({ host: name })
  expect(status.srvRecord).toEqual({ host: '127.0.0.1', port: server.port })
})

test('a target loses its final dot', async () => {
  const server = await startServer()
  const dns = zoneDns({
    [srv]: [`0 0 ${server.port} Node7.example.net.`],
    'A node7.example.net': ['127.0.0.1'],
  })
  const status = await startClient({ dns }).status({ host: name })
  expect(status.srvRecord?.host).toBe('node7.example.net')
})

test('the lowest priority is used, whatever the order of the records', async () => {
  const [best, worse] = await Promise.all([startServer(), startServer()])
  const dns = zoneDns({
    [srv]: [`20 0 ${worse.port} worse.example.net`, `10 0 ${best.port} best.example.net`],
    'A worse.example.net': ['127.0.0.1'],
    'A best.example.net': ['127.0.0.1'],
  })
  const status = await startClient({ dns }).status({ host: name })
  expect(status.srvRecord?.host).toBe('best.example.net')
  expect(worse.connections).toHaveLength(0)
})

test.for([
  ['refuses', ['127.0.0.1']],
  ['does not resolve', []],
] as const)('where the best target %s, the next is asked', async ([, addresses]) => {
  const server = await startServer()
  const closed = await startServer()
  await closed.close()
  const dns = zoneDns({
    [srv]: [`10 0 ${closed.port} best.example.net`, `20 0 ${server.port} next.example.net`],
    'A best.example.net': addresses,
    'A next.example.net': ['127.0.0.1'],
  })
  const status = await startClient({ dns }).status({ host: name })
  expect(status.srvRecord).toEqual({ host: 'next.example.net', port: server.port })
})

test('a target whose addresses are late delays no better one', async () => {
  const server = await startServer()
  const dns = zoneDns({
    [srv]: [`10 0 ${server.port} best.example.net`, '20 0 25566 next.example.net'],
    'A best.example.net': ['127.0.0.1'],
    'A next.example.net': 'silent',
    'AAAA next.example.net': 'silent',
  })
  // Without a deadline that could end the wait, only the answer does.
  const status = await startClient({ dns }).status({ host: name, timeoutMs: 10_000_000 })
  expect(status.srvRecord?.host).toBe('best.example.net')
})

test('a better target whose addresses are late is waited for', async () => {
  const [best, next] = await Promise.all([startServer(), startServer()])
  const dns = zoneDns({
    [srv]: [`10 0 ${best.port} best.example.net`, `20 0 ${next.port} next.example.net`],
    'A best.example.net': ['127.0.0.1'],
    'A next.example.net': ['127.0.0.1'],
  })
  const late: DnsClient = {
    ...dns,
    async query(question) {
      if (question.name === 'best.example.net') await delay(150)
      return dns.query(question)
    },
  }
  const status = await startClient({ dns: late }).status({ host: name })
  expect(status.srvRecord?.host).toBe('best.example.net')
})

test('a target that does not resolve fails the check', async () => {
  const dns = zoneDns({ [srv]: ['0 0 25566 gone.example.net'], [`A ${name}`]: ['127.0.0.1'] })
  await expect(startClient({ dns }).status({ host: name })).rejects.toMatchObject({ reason: 'dns' })
})

test.for(['NXDOMAIN', 'NODATA', 'SERVFAIL', 'REFUSED', 'silent'] as const)(
  'a name that answers %s fails the check',
  async (answer) => {
    const zone = { [`A ${name}`]: answer, [`AAAA ${name}`]: answer }
    const check = startClient({ dns: zoneDns(zone) }).status({ host: name, port: 25566, timeoutMs: 300 })
    await expect(check).rejects.toMatchObject({ reason: 'dns', code: 'server_check_failed' })
  },
)

test.skipIf(!hasIpv6)('an IPv6-only server is found', async () => {
  const server = await startServer({ ip: '::1' })
  const dns = zoneDns({ [`AAAA ${name}`]: ['0:0:0:0:0:0:0:1'] })
  const status = await startClient({ dns }).status({ host: name, port: server.port })
  expect(status).toMatchObject({ ip: '::1', port: server.port })
})

test.skipIf(!hasIpv6)('if IPv4 refuses, IPv6 is tried, and if one address refuses, the next', async () => {
  const server = await startServer({ ip: '::1' })
  const dns = zoneDns({ [`A ${name}`]: ['127.0.0.5', '127.0.0.6'], [`AAAA ${name}`]: ['::1'] })
  const status = await startClient({ dns }).status({ host: name, port: server.port })
  expect(status.ip).toBe('::1')
})

test.for(hasIpv6 ? ['A', 'AAAA'] : ['AAAA'])(
  'a resolver that drops %s questions delays nobody',
  async (dropped) => {
    const server = await startServer({ ip: dropped === 'A' ? '::1' : '127.0.0.1' })
    const zone = {
      [`A ${name}`]: ['127.0.0.1'],
      [`AAAA ${name}`]: ['::1'],
      [`${dropped} ${name}`]: 'silent',
    } as const
    // Without a deadline that could end the wait, only the answer does.
    const target = { host: name, port: server.port, timeoutMs: 10_000_000 }
    const { ip } = await startClient({ dns: zoneDns(zone) }).status(target)
    expect(ip).toBe(server.ip)
  },
)

test('many addresses of the first target leave room for the next', async () => {
  const server = await startServer()
  const refusing = await startServer()
  await refusing.close()
  const dns = zoneDns({
    [srv]: [`1 0 ${refusing.port} node1.example.net`, `2 0 ${server.port} node2.example.net`],
    'A node1.example.net': ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14'],
    'AAAA node1.example.net': ['::1', '::2', '::3', '::4'],
    'A node2.example.net': ['127.0.0.1'],
  })
  const { port } = await startClient({ dns }).status({ host: name, timeoutMs: 5000 })
  expect(port).toBe(server.port)
})

test('if the first resolver fails, the next is asked', async () => {
  const server = await startServer()
  const zone = zoneDns({ [`A ${name}`]: ['127.0.0.1'] })
  const dns: typeof zone = {
    ...zone,
    query: (question) =>
      question.server.ip === '127.0.0.8'
        ? Promise.resolve({ status: 'SERVFAIL', records: [], cnameChain: [], transport: 'udp', latencyMs: 0 })
        : zone.query(question),
  }
  const client = startClient({ dns, resolvers: [{ ip: '127.0.0.8' }, { ip: '127.0.0.9' }] })
  await expect(client.status({ host: name, port: server.port })).resolves.toMatchObject({ ip: '127.0.0.1' })
})

test('SRV questions have a third of the time and address questions half, for three resolvers together', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const zone = zoneDns({ [srv]: 'SERVFAIL', [`A ${name}`]: 'SERVFAIL', [`AAAA ${name}`]: 'SERVFAIL' })
  const asked: string[] = []
  const dns: typeof zone = {
    ...zone,
    query(question) {
      asked.push(`${question.type} ${question.server.ip} ${question.timeoutMs}`)
      return zone.query(question)
    },
  }
  const resolvers = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'].map((ip) => ({ ip }))
  const ask = async (count: number, timeoutMs: number) => {
    const check = startClient({ dns, resolvers: resolvers.slice(0, count) }).status({ host: name, timeoutMs })
    await expect(check).rejects.toThrow()
    return asked.splice(0).toSorted()
  }
  expect(await ask(1, 6000)).toEqual(['A 127.0.0.1 3000', 'AAAA 127.0.0.1 3000', 'SRV 127.0.0.1 2000'])
  expect(await ask(4, 6000)).toEqual(
    ['A', 'AAAA', 'SRV'].flatMap((type) =>
      ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((ip) => `${type} ${ip} ${type === 'SRV' ? 666 : 1000}`),
    ),
  )
  // Never no time at all, which a DNS client refuses.
  expect(await ask(3, 2)).toContain('SRV 127.0.0.1 1')
})

test('invalid addresses and records of other types are ignored', async () => {
  const dns = zoneDns({ [`A ${name}`]: ['127.1', 'localhost', '::1%lo', ''] })
  await expect(startClient({ dns }).status({ host: name, port: 25566 })).rejects.toMatchObject({
    reason: 'dns',
  })
})

test('a name with many addresses causes a few connections, not dozens', async () => {
  const heard: string[] = []
  const targets = Array.from({ length: 20 }, (_, index) => `t${index}.example.net`)
  const addresses = (network: string): string[] =>
    Array.from({ length: 20 }, (_, index) => `${network}${index + 1}`)
  const dns = zoneDns({
    [srv]: targets.map((target, index) => `${index} 0 25566 ${target}`),
    ...Object.fromEntries(targets.map((target, index) => [`A ${target}`, addresses(`127.0.${index}.`)])),
    ...Object.fromEntries(targets.map((target, index) => [`AAAA ${target}`, addresses(`fc00:${index}::`)])),
  })
  const allowAddress = ({ ip }: { ip: string }): boolean => heard.push(ip) < 0
  await expect(startClient({ dns, allowAddress }).status({ host: name })).rejects.toMatchObject({
    reason: 'blocked',
  })
  expect(heard).toHaveLength(8)
  expect(dns.asked.length).toBeLessThan(12)
})
