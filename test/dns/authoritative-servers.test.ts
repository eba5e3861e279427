import { describe, expect, test } from 'vitest'
import { findAuthoritativeServers } from '../../src/dns/authoritative-servers.ts'
import type { DnsAnswer, DnsStatus } from '../../src/domain/dns-answer.ts'
import type { DnsRecord, RecordType } from '../../src/domain/dns-record.ts'
import type { DnsClient, DnsQuestion } from '../../src/ports/dns-client.ts'

const ns = (host: string, target: string): DnsRecord => ({ type: 'NS', host, ttl: 60, target })
const a = (host: string, ip: string): DnsRecord => ({ type: 'A', host, ttl: 60, ip })
const aaaa = (host: string, ip: string): DnsRecord => ({ type: 'AAAA', host, ttl: 60, ip, ipv6: ip })
const alias = (host: string, target: string): DnsRecord => ({ type: 'CNAME', host, ttl: 60, target })

/** What servers have, by address: the records of their zones, or how they fail. */
type World = Readonly<Record<string, Readonly<Record<string, readonly DnsRecord[]>> | Failure>>
type Failure = DnsStatus | Pick<DnsAnswer, 'referral'>

const resolver = '192.0.2.53'
/** What the resolver still keeps, or is told: an old name server of the zone, and addresses. */
const resolved = [
  ns('.', 'a.root.example'),
  a('a.root.example', '1.0.0.1'),
  ns('test', 'a.nic.test'),
  a('a.nic.test', '1.0.0.2'),
  ns('shop.test', 'old.shop.test'),
  a('old.shop.test', '1.0.0.3'),
  a('ns1.shop.test', '1.1.1.1'),
  aaaa('ns1.shop.test', '2606:4700::1111'),
  a('ns2.example.net', '8.8.8.8'),
  ns('example', 'a.nic.example'),
  a('a.nic.example', '1.0.0.4'),
  a('ns.cdn.example', '9.9.9.9'),
]
const shop = [
  ns('shop.test', 'old.shop.test'),
  alias('www.shop.test', 'Shop.CDN.example'),
  alias('in.shop.test', 'web.shop.test'),
  alias('loop.shop.test', 'pool.shop.test'),
  alias('pool.shop.test', 'loop.shop.test'),
  ns('sub.shop.test', 'ns.sub.shop.test'),
  a('web.shop.test', '192.0.2.1'),
]
const world: World = {
  [resolver]: { '.': resolved },
  '1.0.0.1': { '.': [ns('test', 'a.nic.test'), ns('example', 'a.nic.example')] },
  '1.0.0.2': { test: [ns('shop.test', 'ns1.shop.test'), ns('shop.test', 'NS2.example.net')] },
  '1.1.1.1': { 'shop.test': shop, 'sub.shop.test': [ns('sub.shop.test', 'ns1.shop.test')] },
  '2606:4700::1111': { 'shop.test': shop },
  '8.8.8.8': { 'shop.test': shop },
  '1.0.0.4': { example: [ns('cdn.example', 'ns.cdn.example')] },
  '9.9.9.9': { 'cdn.example': [a('shop.cdn.example', '192.0.2.2')] },
}
const ofShop = {
  zone: 'shop.test',
  delegation: ['ns1.shop.test', 'NS2.example.net'],
  servers: [
    { name: 'ns1.shop.test', ip: '1.1.1.1' },
    { name: 'ns1.shop.test', ip: '2606:4700::1111' },
    { name: 'NS2.example.net', ip: '8.8.8.8' },
  ],
}
const ofCdn = {
  name: 'shop.cdn.example',
  zone: 'cdn.example',
  delegation: ['ns.cdn.example'],
  servers: [{ name: 'ns.cdn.example', ip: '9.9.9.9' }],
}
const ofTest = {
  zone: 'test',
  delegation: ['a.nic.test'],
  servers: [{ name: 'a.nic.test', ip: '1.0.0.2' }],
}

const isReferral = (server: object): server is Pick<DnsAnswer, 'referral'> => 'referral' in server
const isIn = (name: string, zone: string): boolean => zone === '.' || `.${name}`.endsWith(`.${zone}`)

/** Answers as the server at an address does: with records, an alias, a referral, or a "no". */
function answerOf(server: World[string] | undefined, { name, type }: DnsQuestion): Partial<DnsAnswer> {
  if (typeof server === 'string') return { status: server }
  if (server !== undefined && isReferral(server)) return { ...server, status: 'REFERRAL' }
  const zones = Object.keys(server ?? {}).filter((zone) => isIn(name, zone))
  const zone = zones.toSorted((one, other) => other.length - one.length)[0]
  if (zone === undefined || server === undefined) return { status: 'REFUSED' }
  const records = server[zone] ?? []
  const delegated = records.find((each) => each.type === 'NS' && each.host !== zone && isIn(name, each.host))
  if (delegated !== undefined && records !== resolved) {
    const nameServers = records.flatMap((each) =>
      each.type === 'NS' && each.host === delegated.host ? [each.target] : [],
    )
    return { status: 'REFERRAL', referral: { zone: delegated.host, nameServers } }
  }
  const cname = records.find((each) => each.type === 'CNAME' && each.host === name)
  if (cname?.type === 'CNAME')
    return {
      status: isIn(cname.target.toLowerCase(), zone) ? 'NODATA' : 'REFERRAL',
      cnameChain: [cname.target],
    }
  const found = records.filter((each) => each.host === name.toLowerCase() && each.type === type)
  if (found.length > 0) return { status: 'NOERROR', records: found }
  return { status: records.some(({ host }) => isIn(host, name)) ? 'NODATA' : 'NXDOMAIN' }
}

function clientIn(servers: World): DnsClient & { readonly asked: DnsQuestion[] } {
  const asked: DnsQuestion[] = []
  return {
    asked,
    async query(question) {
      question.signal?.throwIfAborted()
      asked.push(question)
      const answer = answerOf(servers[question.server.ip] ?? 'UNREACHABLE', question)
      return { status: 'NOERROR', records: [], cnameChain: [], transport: 'udp', latencyMs: 0, ...answer }
    },
    close: async () => {},
  }
}

async function find(
  name: string,
  { servers = world, ips = [resolver], type }: { servers?: World; ips?: string[]; type?: RecordType } = {},
) {
  const client = clientIn(servers)
  const resolvers = ips.map((ip) => ({ ip }))
  const options = { resolvers, ...(type !== undefined && { type }) }
  return { found: await findAuthoritativeServers(client, name, options), asked: client.asked }
}

describe('the name servers of a zone', () => {
  test.each([
    ['the zone itself', 'shop.test'],
    ['a name in it', 'web.shop.test.'],
    ['a name that does not exist', 'a.b.SHOP.test'],
    ['a label with a dot in it', 'a\\.b.shop.test'],
  ])('are those that the zone above delegates to: of %s', async (_, name) => {
    const { found } = await find(name)
    expect(found).toEqual({ ...ofShop, name: name.replace(/\.$/, '').toLowerCase() })
  })

  test('are asked for without recursion, and the resolver without validation', async () => {
    const { asked } = await find('web.shop.test')
    const outside = asked.filter(({ server }) => server.ip !== resolver)
    expect(outside.map(({ name, type, server }) => `${server.ip} ${name} ${type}`)).toEqual([
      '1.0.0.2 shop.test NS',
      '1.1.1.1 web.shop.test NS',
    ])
    expect(outside.every(({ recursionDesired }) => recursionDesired === false)).toBe(true)
    const inside = asked.filter(({ server }) => server.ip === resolver)
    expect(inside.every(({ checkingDisabled }) => checkingDisabled === true)).toBe(true)
  })

  test.each<[string, RecordType | undefined, object]>([
    ['www.shop.test', undefined, ofCdn],
    ['www.shop.test', 'CNAME', { ...ofShop, name: 'www.shop.test' }],
    ['in.shop.test', 'MX', { ...ofShop, name: 'web.shop.test' }],
    ['loop.shop.test', 'A', { ...ofShop, name: 'loop.shop.test' }],
  ])('are those where the alias leads: of %s %s', async (name, type, expected) => {
    const { found } = await find(name, type === undefined ? {} : { type })
    expect(found).toEqual(expected)
  })

  test('are looked for behind ten aliases at most', async () => {
    const { asked } = await find('loop.shop.test')
    expect(asked.filter(({ name }) => /^(?:loop|pool)/.test(name))).toHaveLength(11)
  })

  test.each<[RecordType, object]>([
    ['DS', { ...ofTest, name: 'shop.test' }],
    ['DNSKEY', { ...ofShop, name: 'shop.test' }],
  ])('are the ones that have the %s records', async (type, expected) => {
    expect((await find('shop.test', { type })).found).toEqual(expected)
  })

  test('of a zone that the servers of the one above serve as well are found', async () => {
    const both: World = {
      ...world,
      '1.1.1.1': {
        'shop.test': shop.filter(({ host }) => host !== 'sub.shop.test'),
        'sub.shop.test': [ns('sub.shop.test', 'ns1.shop.test')],
      },
    }
    const { found } = await find('a.sub.shop.test', { servers: both })
    expect(found).toMatchObject({ zone: 'sub.shop.test', delegation: ['ns1.shop.test'] })
  })

  test('are those of the zone above where nothing is delegated', async () => {
    expect((await find('nowhere.test')).found).toEqual({ ...ofTest, name: 'nowhere.test' })
    expect((await find('nowhere')).found).toMatchObject({ zone: '.', delegation: ['a.root.example'] })
  })

  test('of a top-level domain are those that the root delegates to', async () => {
    const { found, asked } = await find('test')
    expect(found).toEqual({ ...ofTest, name: 'test' })
    expect(asked.some(({ server }) => server.ip === '1.0.0.1')).toBe(true)
  })

  test('are found though none of them answers, which is then seen', async () => {
    const dead: World = {
      ...world,
      '1.1.1.1': 'REFUSED',
      '2606:4700::1111': 'TIMEOUT',
      '8.8.8.8': 'SERVFAIL',
    }
    expect((await find('www.shop.test', { servers: dead })).found).toEqual({
      ...ofShop,
      name: 'www.shop.test',
    })
  })

  test('are not those of a server that points elsewhere', async () => {
    const lame: World = { ...world, '1.1.1.1': { referral: { zone: '.', nameServers: ['a.root.example'] } } }
    expect((await find('www.shop.test', { servers: lame })).found).toEqual(ofCdn)
  })

  test.each<DnsStatus>(['TIMEOUT', 'SERVFAIL', 'REFUSED', 'UNREACHABLE'])(
    'are found by way of the next resolver if one says %s, which is then asked no more',
    async (status) => {
      const servers: World = { ...world, '192.0.2.1': status, '192.0.2.2': status }
      const ips = ['192.0.2.1', '192.0.2.2', resolver]
      const { found, asked } = await find('web.shop.test', { servers, ips })
      expect(found).toEqual({ ...ofShop, name: 'web.shop.test' })
      expect(asked.filter(({ server }) => server.ip === '192.0.2.1')).toHaveLength(1)
    },
  )

  test('are unknown if no resolver answers, or the zone above cannot be reached', async () => {
    expect((await find('shop.test', { servers: {} })).found).toBeNull()
    expect((await find('shop.test', { servers: { ...world, '1.0.0.2': 'TIMEOUT' } })).found).toBeNull()
  })

  test('are used only where they are public', async () => {
    const hostile = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '192.0.2.1', '1.1.1.1']
    const records = [
      ...resolved.filter(({ host }) => host !== 'ns1.shop.test'),
      ...hostile.map((ip) => a('ns1.shop.test', ip)),
    ]
    const client = clientIn({ ...world, [resolver]: { '.': resolved } })
    const query: DnsClient['query'] = async (question) => {
      const answer = await client.query(question)
      const isNs1 = question.name === 'ns1.shop.test' && question.server.ip === resolver
      const here = records.filter(({ host, type }) => host === question.name && type === question.type)
      return isNs1 ? { ...answer, records: here } : answer
    }
    const found = await findAuthoritativeServers({ ...client, query }, 'shop.test', {
      resolvers: [{ ip: resolver }],
    })
    expect(found?.servers.map(({ ip }) => ip)).toEqual(['1.1.1.1', '8.8.8.8'])
    expect(client.asked.map(({ server }) => server.ip)).not.toContain('127.0.0.1')
  })

  test('are 13 at most, with 26 addresses together', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `ns${at}.shop.test`)
    const addresses = names.flatMap((name, at) => [1, 2, 3].map((last) => a(name, `8.8.${at}.${last}`)))
    const client = clientIn({ ...world, '1.0.0.2': { test: names.map((name) => ns('shop.test', name)) } })
    const query: DnsClient['query'] = async (question) => {
      const answer = await client.query(question)
      const here = addresses.filter(({ host, type }) => host === question.name && type === question.type)
      return here.length > 0 ? { ...answer, status: 'NOERROR', records: here } : answer
    }
    const found = await findAuthoritativeServers({ ...client, query }, 'shop.test', {
      resolvers: [{ ip: resolver }],
    })
    expect(found?.delegation).toHaveLength(13)
    expect(found?.servers).toHaveLength(26)
    expect(client.asked.filter(({ name, type }) => type === 'A' && name.startsWith('ns'))).toHaveLength(13)
  })

  test('are no longer looked for once the signal aborts', async () => {
    const options = { resolvers: [{ ip: resolver }], signal: AbortSignal.abort('enough') }
    await expect(findAuthoritativeServers(clientIn(world), 'shop.test', options)).rejects.toBe('enough')
  })

  test.each<[unknown, object, string | RegExp]>([
    ['a..b', {}, 'name must be a domain name.'],
    [7, {}, 'name must be a domain name.'],
    ['example.com', { timeoutMs: 2 ** 31 }, 'timeoutMs must be a positive number below 2^31.'],
    ['example.com', { type: 'a' }, /^type must be one of A, AAAA/],
    ...[[], {}, [{}], [{ ip: 'x' }], ['192.0.2.53'], undefined].map(
      (resolvers): [unknown, object, string] => [
        'example.com',
        { resolvers },
        'resolvers must be a list of objects with an IP address: write { resolvers: [{ ip }] }.',
      ],
    ),
    ['example.com', { timeout: 1 }, 'timeout is not known here; timeoutMs is.'],
  ])('are not looked for %j with %j', async (name, options, message) => {
    await expect(
      findAuthoritativeServers(clientIn(world), name as string, {
        resolvers: [{ ip: resolver }],
        ...options,
      }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
      message: message instanceof RegExp ? expect.stringMatching(message) : message,
    })
  })
})
