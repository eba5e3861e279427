import { createDnsClient, type DnsRecord } from 'utility-api/dns'
import { fakeDnsServer, type FakeDnsServerOptions } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { verify } from './verify.ts'

const record: DnsRecord = { type: 'A', host: 'good.test', ttl: 60, ip: '192.0.2.1' }
const trials = { existing: 'good.test', parent: 'good.test', bogus: 'bogus.test' }

async function verdictOn(options: FakeDnsServerOptions) {
  await using server = await fakeDnsServer({ records: [record], ...options })
  const client = createDnsClient({ timeoutMs: 300 })
  const verdict = await verify(client, { location: 'Here', provider: 'Us', ...server }, trials)
  await client.close()
  return verdict
}

test('an honest resolver has no faults', async () => {
  expect(await verdictOn({})).toMatchObject({ faults: [], validates: false })
})

test('a resolver that refuses a broken signature is found to validate', async () => {
  const validating = await verdictOn({
    reply: (query) => (query.name === 'bogus.test' ? query.answer({ rcode: 'SERVFAIL' }) : undefined),
  })
  expect(validating).toMatchObject({ faults: [], validates: true })
})

test('a resolver that is silent, lies or filters is found to have faults', async () => {
  expect((await verdictOn({ drop: Number.POSITIVE_INFINITY })).faults).toHaveLength(2)
  const lying = await verdictOn({
    reply: (query) => query.answer({ rcode: 'NOERROR', records: [{ ...record, host: query.name }] }),
  })
  expect(lying.faults).toEqual(['says NOERROR of a name that does not exist'])
  const filtering = await verdictOn({
    reply: (query) => query.answer({ options: [{ code: 15, data: Buffer.of(0, 15) }] }),
  })
  expect(filtering.faults).toEqual(['filters'])
})
