import { networkInterfaces } from 'node:os'
import { createUtilityApi, UtilityApiError } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { FrameReader } from '../../src/dns/tcp.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { words } from '../../src/testing/dns-encoding.ts'
import { listenOnBoth } from '../../src/testing/listen-on-both.ts'
import { rightRecord } from './support/messages.ts'

/** An address of this machine itself: what is sent there does not leave it. */
const own = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
  addresses.filter(({ address }) => address.startsWith('fe80:')).map(({ address }) => `${address}%${name}`),
)[0]
if (own === undefined) console.warn('Skipped: no interface of this machine has a link-local IPv6 address.')

test.skipIf(own === undefined)('a resolver at a link-local address answers over UDP and TCP', async () => {
  const ip = own ?? ''
  const answer = (message: Buffer, transport: 'udp' | 'tcp'): Buffer =>
    readFakeDnsQuery(message, transport, 0, { records: [rightRecord] })?.answer() ?? Buffer.alloc(0)
  const { tcp, udp, port } = await listenOnBoth(ip)
  tcp.on('connection', (connection) => {
    const frames = new FrameReader()
    connection.on('error', () => {})
    connection.on('data', (chunk) => {
      for (const message of frames.add(chunk)) {
        const reply = answer(message, 'tcp')
        connection.end(Buffer.concat([words(reply.length), reply]))
      }
    })
  })
  udp.on('message', (message, from) => udp.send(answer(message, 'udp'), from.port, from.address))

  const client = createDnsClient()
  const api = createUtilityApi({
    storage: memoryStorage(),
    dns: { locations: [{ location: 'Here', provider: 'Router', ip, port }] },
  })
  const question = { name: 'example.com', type: 'A', server: { ip, port } } as const
  const overUdp = await client.query(question)
  const overTcp = await client.query({ ...question, transport: 'tcp' })
  const results = await api.checkDns({ domain: 'example.com', recordType: 'A' })
  await Promise.all([client.close(), api.close()])
  udp.close()
  tcp.close()
  expect([overUdp, overTcp]).toMatchObject([
    { status: 'NOERROR', transport: 'udp', records: [rightRecord] },
    { status: 'NOERROR', transport: 'tcp', records: [rightRecord] },
  ])
  expect(results).toMatchObject([{ ip, status: 'NOERROR' }])
})

test.each([
  '2001:db8::1%eth0',
  '192.0.2.1%eth0',
  'fe80::1%',
  'fe80::1%a b',
  'fe80::1%eth0%eth1',
  'fe80:::1%eth0',
])('%s is no address of a resolver', async (ip) => {
  const client = createDnsClient()
  const query = client.query({ name: 'example.com', type: 'A', server: { ip } })
  await expect(query).rejects.toThrow('server.ip must be an IPv4 or IPv6 address.')
  await client.close()
  const locations = [{ location: 'Here', provider: 'Router', ip }]
  expect(() => createUtilityApi({ storage: memoryStorage(), dns: { locations } })).toThrow(UtilityApiError)
})
