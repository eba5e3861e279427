import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createBlockgameClient } from '../../src/blockgame.ts'
import { fakeDnsServer, type FakeDnsQuery, type FakeDnsReply } from '../../src/testing/dns-server.ts'
import type { DnsRecord } from '../../src/domain/dns-record.ts'
import type { ServerStatus } from '../../src/domain/server-status.ts'
import { startServer } from './support/harness.ts'

// A few cells of the matrix once more, over real DNS and real sockets.

const host = 'mc.example.com'
const a: DnsRecord = { type: 'A', host, ttl: 60, ip: '127.0.0.1' }
// Nothing listens there, as where IPv6 does not work.
const deadAaaa: DnsRecord = { type: 'AAAA', host, ttl: 60, ip: '::1', ipv6: '::1' }

async function lookUp(
  records: readonly DnsRecord[],
  reply: (query: FakeDnsQuery) => FakeDnsReply | Promise<FakeDnsReply>,
): Promise<ServerStatus> {
  const server = await startServer({ ip: '127.0.0.1' })
  const dns = await fakeDnsServer({ records, reply })
  const client = createBlockgameClient({ resolvers: [dns], allowAddress: () => true })
  onTestFinished(async () => {
    await client.close()
    await dns.close()
  })
  return client.status({ host, port: server.port, timeoutMs: 4000 })
}

test.for(['A', 'AAAA'])('an answer for %s that comes 120 ms later is used', async (late) => {
  const status = await lookUp([a, deadAaaa], async ({ type }) => {
    if (type === late) await delay(120)
    return undefined
  })
  expect(status.ip).toBe('127.0.0.1')
})

test('one lost datagram does not make a server unreachable', async () => {
  let lost = 0
  const status = await lookUp([a, deadAaaa], ({ type }) =>
    type === 'A' && (lost += 1) === 1 ? null : undefined,
  )
  expect(status.ip).toBe('127.0.0.1')
  expect(lost).toBe(2)
})

test('a resolver that answers for one family only is enough', async () => {
  const status = await lookUp([a], ({ type }) => (type === 'AAAA' ? null : undefined))
  expect(status.ip).toBe('127.0.0.1')
})

test('an alias leads to the addresses behind it', async () => {
  const records: DnsRecord[] = [
    { type: 'CNAME', host, ttl: 60, target: 'real.example.net' },
    { ...a, host: 'real.example.net' },
  ]
  const status = await lookUp([], (query) =>
    query.answer(query.type === 'A' ? { records, rcode: 'NOERROR' } : {}),
  )
  expect(status.ip).toBe('127.0.0.1')
})
