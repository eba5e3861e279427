import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDnsClient } from '../../src/dns/client.ts'
import { typeNumbers } from '../../src/dns/wire/constants.ts'
import type { DnsAnswer } from '../../src/domain/dns-answer.ts'
import type { DnsRecord, RecordType } from '../../src/domain/dns-record.ts'
import { encodeData } from '../../src/testing/dns-encoding.ts'
import { dig, findProgram, startNsd, type Nsd } from './support/nsd.ts'
import { zoneFile } from './support/zone.ts'

const missing = ['nsd', 'dig', 'ldns-keygen', 'ldns-signzone'].filter(
  (each) => findProgram(each) === undefined,
)
if (missing.length > 0)
  console.warn(`Skipped: ${missing.join(', ')} not found (Debian: apt-get install nsd dnsutils ldnsutils).`)

const origin = 'example.test'

describe.skipIf(missing.length > 0)('NSD with a signed zone', () => {
  const client = createDnsClient()
  let nsd: Nsd
  beforeAll(async () => {
    nsd = await startNsd(origin, zoneFile)
  })
  afterAll(async () => {
    await client.close()
    await nsd?.[Symbol.asyncDispose]()
  })

  const ask = (name: string, type: RecordType): Promise<DnsAnswer> =>
    client.query({ name, type, server: nsd })

  /** Each record as dig sees it: owner, TTL and the octets of its data. */
  async function askDig(name: string, type: RecordType): Promise<string[]> {
    const options = [
      '+noall',
      '+answer',
      '+unknownformat',
      '+nosplit',
      '+onesoa',
      name,
      `TYPE${typeNumbers[type]}`,
    ]
    const { stdout } = await dig(nsd.ip, nsd.port, options)
    const pattern = /^(\S+)\s+(\d+)\s+CLASS1\s+TYPE(\d+)\s+\\#\s+(\d+)\s*([0-9A-F ]*)$/
    const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(';'))
    return lines.flatMap((line) => {
      const [, owner = '', ttl = '', number, length, hex = ''] = pattern.exec(line) ?? []
      if (length === undefined) throw new Error(`dig said: ${line}`)
      return Number(number) === typeNumbers[type]
        ? [`${owner.toLowerCase()} ${ttl} ${hex.replaceAll(' ', '')}`]
        : []
    })
  }

  function asDigDoes(record: DnsRecord): string {
    const owner = record.host === '.' ? '.' : `${record.host}.`
    return `${owner} ${record.ttl} ${encodeData(record).toString('hex').toUpperCase()}`
  }

  const everyType: readonly (readonly [string, RecordType, number])[] = [
    [origin, 'A', 2],
    [origin, 'AAAA', 3],
    [origin, 'MX', 2],
    ['nomail.example.test', 'MX', 1],
    [origin, 'NS', 2],
    ['1.example.test', 'PTR', 1],
    ['www.example.test', 'CNAME', 1],
    [origin, 'SOA', 1],
    [origin, 'TXT', 1],
    ['text.example.test', 'TXT', 2],
    ['long.example.test', 'TXT', 1],
    ['_sip._tcp.example.test', 'SRV', 2],
    ['_no._tcp.example.test', 'SRV', 1],
    [origin, 'CAA', 2],
    ['child.example.test', 'DS', 2],
    [origin, 'DNSKEY', 4],
    ['www.example.test', 'A', 1],
    ['any.wild.example.test', 'A', 1],
    ['a.b.wild.example.test', 'TXT', 1],
    ['_under_score.example.test', 'A', 1],
    ['many.example.test', 'A', 251],
  ]

  test.each(everyType)('%s %s: %i records, octet for octet what dig gets', async (name, type, count) => {
    const [answer, expected] = await Promise.all([ask(name, type), askDig(name, type)])
    expect(answer.status).toBe('NOERROR')
    expect(answer.records).toHaveLength(count)
    expect(answer.records.map(asDigDoes).toSorted()).toEqual(expected.toSorted())
  })

  test.each([
    [origin, 'A', { host: origin, ttl: 60, ip: '192.0.2.1' }],
    [origin, 'AAAA', { ip: '2001:db8:0:0:1::', ipv6: '2001:db8:0:0:1::' }],
    [origin, 'AAAA', { ip: '1:0:0:2::3' }],
    [origin, 'AAAA', { ip: '::ffff:192.0.2.1' }],
    [origin, 'MX', { pri: 10, target: 'mail.example.test' }],
    ['nomail.example.test', 'MX', { pri: 0, target: '.' }],
    [origin, 'NS', { target: 'ns2.example.net' }],
    ['1.example.test', 'PTR', { host: '1.example.test', target: 'host.example.test' }],
    ['www.example.test', 'CNAME', { target: 'web.example.test' }],
    [
      origin,
      'SOA',
      {
        mname: 'ns1.example.test',
        rname: 'host\\.master.example.test',
        serial: 2026112001,
        refresh: 7200,
        retry: 3600,
        expire: 1209600,
        'minimum-ttl': 300,
      },
    ],
    [
      origin,
      'TXT',
      { txt: 'v=spf1 include:_spf.example.net -all', entries: ['v=spf1 include:_spf.example.net', ' -all'] },
    ],
    ['text.example.test', 'TXT', { entries: ['', 'quote " backslash \\ semicolon ;', 'umlaut ü'] }],
    ['text.example.test', 'TXT', { entries: ['octets \\000\\255\\128'], base64: ['b2N0ZXRzIAD/gA=='] }],
    ['_sip._tcp.example.test', 'SRV', { pri: 10, weight: 60, port: 5060, target: 'sip.example.test' }],
    ['_no._tcp.example.test', 'SRV', { pri: 0, weight: 0, port: 0, target: '.' }],
    [origin, 'CAA', { flags: 0, tag: 'issue', value: 'ca.example.net; policy=ev' }],
    [origin, 'CAA', { flags: 128, tag: 'iodef', value: 'mailto:security@example.test' }],
    [
      'child.example.test',
      'DS',
      { key_tag: 60485, algorithm: 5, digest_type: 1, digest: '2BB183AF5F22588179A53B0A98631FAD1A292118' },
    ],
    [
      origin,
      'DNSKEY',
      { flags: 257, protocol: 3, algorithm: 8, public_key: Buffer.alloc(512, 3).toString('base64') },
    ],
  ] as const)('%s %s has the fields %o', async (name, type, fields) => {
    const { records } = await ask(name, type)
    expect(records).toContainEqual(expect.objectContaining({ type, ...fields }))
  })

  test('a key tag is the one that dig computes', async () => {
    const { records } = await ask(origin, 'DNSKEY')
    const { stdout } = await dig(nsd.ip, nsd.port, ['+noall', '+answer', '+multiline', origin, 'DNSKEY'])
    const expected = [...stdout.matchAll(/key id = (\d+)/g)].map(([, tag]) => Number(tag))
    expect(records.map((record) => 'key_tag' in record && record.key_tag).toSorted()).toEqual(
      expected.toSorted(),
    )
  })

  test.each([
    [origin, 'DNSKEY'],
    ['long.example.test', 'TXT'],
    ['many.example.test', 'A'],
  ] as const)('%s %s comes over TCP', async (name, type) => {
    expect(await ask(name, type)).toMatchObject({ status: 'NOERROR', transport: 'tcp' })
  })

  test.each([
    ['nowhere.example.test', 'A', 'NXDOMAIN', []],
    [origin, 'SRV', 'NODATA', []],
    ['nonterminal.example.test', 'A', 'NODATA', []],
    ['dangling.example.test', 'A', 'NXDOMAIN', ['nowhere.example.test']],
    ['outside.example.test', 'A', 'REFERRAL', ['www.example.net']],
    ['host.child.example.test', 'A', 'REFERRAL', []],
    ['example.net', 'A', 'REFUSED', []],
    ['.', 'NS', 'REFUSED', []],
  ] as const)('%s %s: %s', async (name, type, status, cnameChain) => {
    expect(await ask(name, type)).toMatchObject({ status, records: [], cnameChain })
  })

  test('an alias of an alias is followed', async () => {
    expect(await ask('www.example.test', 'A')).toMatchObject({
      cnameChain: ['web.example.test', 'real.example.test'],
      records: [{ type: 'A', host: 'real.example.test', ttl: 15, ip: '192.0.2.80' }],
    })
  })

  test('a wildcard answers with the queried name', async () => {
    expect(await ask('ANY.wild.example.test', 'A')).toMatchObject({
      records: [{ type: 'A', host: 'any.wild.example.test', ttl: 3600, ip: '192.0.2.42' }],
    })
  })
})
