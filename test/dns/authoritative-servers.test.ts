import { describe, expect, onTestFinished, test } from 'vitest'
import { findAuthoritativeServers } from '../../src/dns/authoritative-servers.ts'
import { createDnsClient } from '../../src/dns/client.ts'
import type { DnsRecord } from '../../src/domain/dns-answer.ts'
import { fakeDnsServer, type FakeDnsServerOptions } from '../../src/testing/dns-server.ts'

const ns = (host: string, target: string): DnsRecord => ({ type: 'NS', host, ttl: 60, target })
const a = (host: string, ip: string): DnsRecord => ({ type: 'A', host, ttl: 60, ip })
const aaaa = (host: string, ip: string): DnsRecord => ({ type: 'AAAA', host, ttl: 60, ip, ipv6: ip })
const records: DnsRecord[] = [
  ns('example.com', 'ns1.example.com'),
  ns('example.com', 'NS2.example.net'),
  a('ns1.example.com', '1.1.1.1'),
  aaaa('ns1.example.com', '2606:4700::1111'),
  a('ns2.example.net', '8.8.8.8'),
  a('www.example.com', '192.0.2.1'),
  { type: 'CNAME', host: 'shop.example.com', ttl: 60, target: 'example.org' },
  ns('example.org', 'ns.example.org'),
  a('ns.example.org', '9.9.9.9'),
  ns('.', 'a.root.example'),
  a('a.root.example', '1.0.0.1'),
]
const ofExample = [
  { zone: 'example.com', name: 'ns1.example.com', ip: '1.1.1.1' },
  { zone: 'example.com', name: 'ns1.example.com', ip: '2606:4700::1111' },
  { zone: 'example.com', name: 'NS2.example.net', ip: '8.8.8.8' },
]

async function find(name: string, options: FakeDnsServerOptions = { records }, timeoutMs = 5000) {
  const resolver = await fakeDnsServer(options)
  const client = createDnsClient()
  onTestFinished(async () => {
    await client.close()
    await resolver.close()
  })
  const servers = await findAuthoritativeServers(client, name, { resolver, timeoutMs })
  return { servers, queries: resolver.queries }
}

describe('the name servers of a zone', () => {
  test.each([
    ['the zone itself', 'example.com'],
    ['a name in it', 'www.example.com.'],
    ['a name that does not exist', 'a.b.EXAMPLE.com'],
    ['an alias to another zone', 'shop.example.com'],
    ['a label with a dot in it', 'a\\.b.example.com'],
  ])('are found for %s', async (_, name) => {
    expect((await find(name)).servers).toEqual(ofExample)
  })

  test('are those of the root where there is no other', async () => {
    const { servers, queries } = await find('example.info')
    expect(servers).toEqual([{ zone: '.', name: 'a.root.example', ip: '1.0.0.1' }])
    expect(queries.map(({ name, type }) => `${name} ${type}`).slice(0, 3)).toEqual([
      'example.info NS',
      'info NS',
      '. NS',
    ])
  })

  test('are asked for only where they are public', async () => {
    const hostile = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '192.0.2.1', '1.1.1.1']
    const { servers } = await find('example.com', {
      records: [ns('example.com', 'ns.example.com'), ...hostile.map((ip) => a('ns.example.com', ip))],
    })
    expect(servers.map(({ ip }) => ip)).toEqual(['1.1.1.1'])
  })

  test('are 13 at most, with 26 addresses together', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `ns${at}.example.com`)
    const { servers, queries } = await find('example.com', {
      records: [
        ...names.map((name) => ns('example.com', name)),
        ...names.flatMap((name, at) => [1, 2, 3].map((last) => a(name, `8.8.${at}.${last}`))),
      ],
    })
    expect(servers).toHaveLength(26)
    expect(queries.filter(({ type }) => type === 'A')).toHaveLength(13)
  })

  test.each([
    ['refuses', { rcode: 'REFUSED' } as const],
    ['fails', { rcode: 'SERVFAIL' } as const],
    ['is silent', { drop: Number.POSITIVE_INFINITY }],
  ])('are none if the resolver %s', async (_, options) => {
    const { servers, queries } = await find('www.example.com', options, 300)
    expect(servers).toEqual([])
    expect(new Set(queries.map(({ name }) => name))).toEqual(new Set(['www.example.com']))
  })

  test('are no longer looked for once the signal aborts', async () => {
    const client = createDnsClient()
    const resolver = { ip: '127.0.0.1', port: 9 }
    const signal = AbortSignal.abort('enough')
    await expect(findAuthoritativeServers(client, 'example.com', { resolver, signal })).rejects.toBe('enough')
    await client.close()
  })

  test.each([
    ['a..b', {}, 'name must be a domain name.'],
    [7, {}, 'name must be a domain name.'],
    ['example.com', { timeoutMs: 0 }, 'timeoutMs must be a positive number of milliseconds.'],
    [
      'example.com',
      { resolver: { ip: 'x' } },
      'resolver must be an object with an IP address: write { resolver: { ip } }.',
    ],
    ['example.com', { timeout: 1 }, 'timeout is not known here; timeoutMs is.'],
  ])('are not looked for %j with %j', async (name, options, message) => {
    const client = createDnsClient()
    const resolver = { ip: '127.0.0.1', port: 9 }
    await expect(
      findAuthoritativeServers(client, name as string, { resolver, ...options } as never),
    ).rejects.toMatchObject({ code: 'invalid_argument', message })
    await client.close()
  })
})
