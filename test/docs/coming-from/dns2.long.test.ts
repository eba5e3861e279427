import { Resolver } from 'node:dns/promises'
import { createDnsClient, type DnsClient, type RecordType } from 'utility-api/dns'
import { fakeDnsServer, type FakeDnsServerOptions } from 'utility-api/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasPeer, importPeer, namesIn, programOf, run, tableOf } from './programs.ts'

describe.skipIf(!hasPeer('dns2'))('from dns2 or node:dns', () => {
  interface Old {
    resolve(name: string, type: string): Promise<OldPacket>
  }
  interface OldPacket {
    readonly header: { readonly rcode: number }
    readonly answers: readonly Readonly<Record<string, unknown>>[]
    readonly errors: readonly Error[]
  }
  type OldClass = new (options: object) => Old
  type MailServers = (name: string) => Promise<unknown>
  const host = 'shop.example'
  const records: FakeDnsServerOptions['records'] = [
    { type: 'A', host, ttl: 60, ip: '192.0.2.1' },
    { type: 'AAAA', host, ttl: 60, ip: '2001:db8::1', ipv6: '2001:db8::1' },
    { type: 'MX', host, ttl: 60, pri: 10, target: 'mail.shop.example' },
    { type: 'MX', host, ttl: 60, pri: 20, target: 'backup.example' },
    { type: 'NS', host, ttl: 60, target: 'ns.example' },
    { type: 'PTR', host, ttl: 60, target: 'pointer.example' },
    { type: 'CNAME', host: `cname.${host}`, ttl: 60, target: host },
    { type: 'TXT', host, ttl: 60, txt: 'v=spf1 -all', entries: ['v=spf1 ', '-all'] },
    { type: 'SRV', host, ttl: 60, pri: 1, weight: 2, port: 5060, target: 'sip.example' },
    {
      type: 'SOA',
      host,
      ttl: 60,
      mname: 'ns.example',
      rname: 'admin.example',
      serial: 1,
      refresh: 2,
      retry: 3,
      expire: 4,
      'minimum-ttl': 5,
    },
    { type: 'CAA', host, ttl: 60, flags: 128, tag: 'issue', value: 'ca.example' },
    { type: 'DS', host, ttl: 60, key_tag: 7, algorithm: 13, digest_type: 2, digest: 'ab'.repeat(32) },
    {
      type: 'DNSKEY',
      host,
      ttl: 60,
      flags: 257,
      protocol: 3,
      algorithm: 13,
      public_key: 'AwEAAQ==',
      key_tag: 1808,
    },
  ]

  async function askers(ip: string, port: number, timeoutMs = 5000) {
    const DNS = (await importPeer('dns2'))['default'] as unknown as OldClass
    const client = createDnsClient()
    onTestFinished(() => client.close())
    const server = { ip, port }
    /** dns2 with the port of the test. */
    class Dns2 extends DNS {
      constructor(options: object) {
        super({ ...options, nameServers: [ip], port, timeout: timeoutMs })
      }
    }
    /** `node:dns` with the port of the test. */
    function NodeResolver(): Resolver {
      const resolver = new Resolver({ timeout: timeoutMs, tries: 1 })
      resolver.setServers([`${ip}:${port}`])
      return Object.assign(resolver, { setServers() {} })
    }
    const query: DnsClient['query'] = (question) => client.query({ ...question, server, timeoutMs })
    return { Dns2, NodeResolver, query }
  }

  test('all three programs list the same mail servers', async () => {
    await using server = await fakeDnsServer({ records })
    const { Dns2, NodeResolver, query } = await askers(server.ip, server.port)
    const lists = await Promise.all(
      [
        run(programOf('dns2', "import DNS from 'dns2'"), { dns2: { default: Dns2 } }),
        run(programOf('dns2', 'import { Resolver }'), { 'node:dns/promises': { Resolver: NodeResolver } }),
        run(programOf('dns2', 'import { createDnsClient }'), {
          'utility-api/dns': { createDnsClient: () => ({ query }) },
        }),
      ].map(async (program) => ((await program)['mailServers'] as unknown as MailServers)(host)),
    )
    const expected = [
      { priority: 10, exchange: 'mail.shop.example' },
      { priority: 20, exchange: 'backup.example' },
    ]
    expect(lists).toEqual([expected, expected, expected])
  })

  const fields = tableOf('dns2', 'Type')

  test('the table of fields has every type', () => {
    expect(fields.map(([type]) => namesIn(type)[0]).toSorted()).toEqual(
      [...new Set(records.map(({ type }) => type))].toSorted(),
    )
  })

  test.each(fields)('the fields of %s correspond', async (typeCell, theirs, nodes, ours) => {
    const type = namesIn(typeCell)[0] as RecordType
    const name = type === 'CNAME' ? `cname.${host}` : host
    await using server = await fakeDnsServer({ records })
    const { Dns2, NodeResolver, query } = await askers(server.ip, server.port)
    const answer = await query({ name, type, server })
    const record = answer.records[0] as unknown as Readonly<Record<string, unknown>>
    const values = namesIn(ours).map((field) => record[field])
    expect(values.filter((value) => value === undefined)).toEqual([])
    expect(Object.keys(record)).toEqual(expect.arrayContaining(['type', 'host', 'ttl']))

    if (theirs !== '—') {
      const [first] = (await new Dns2({}).resolve(name, type)).answers
      expect(namesIn(theirs).map((field) => first?.[field])).toEqual(values)
    }
    if (nodes === '—') return
    const found = (await NodeResolver().resolve(name, type)) as unknown
    const first = (Array.isArray(found) ? found[0] : found) as Readonly<Record<string, unknown>>
    if (nodes === 'a string' || nodes === 'an array of strings') expect([first]).toEqual(values)
    else if (type === 'CAA') expect([first['critical'], first[String(record['tag'])]]).toEqual(values)
    else expect(namesIn(nodes).map((field) => first[field])).toEqual(values)
  })

  const causes: Readonly<Record<string, FakeDnsServerOptions>> = {
    'the name does not exist': {},
    'the name has no such record': { records: [{ type: 'NS', host, ttl: 60, target: 'ns.example' }] },
    'the resolver failed': { rcode: 'SERVFAIL' },
    'the resolver refuses': { rcode: 'REFUSED' },
    'the resolver is silent': { drop: Infinity },
    'nothing listens there': {},
    'the answer cannot be read': {
      records: [{ type: 'A', host, ttl: 60, ip: '192.0.2.1' }],
      reply: (query) => query.answer().subarray(0, -13),
    },
  }

  test.each(tableOf('dns2', 'What happened'))('%s', async (cause, theirs, nodes, ours) => {
    const options = causes[String(cause)]
    expect(options).toBeDefined()
    const server = await fakeDnsServer(options)
    if (cause === 'nothing listens there') await server.close()
    else onTestFinished(() => server.close())
    const { Dns2, NodeResolver, query } = await askers(server.ip, server.port, 1000)
    const [old, node, answer] = await Promise.all([
      new Dns2({}).resolve(host, 'A').catch(() => 'rejects'),
      NodeResolver()
        .resolve4(host)
        .catch(({ code }: NodeJS.ErrnoException) => `rejects, \`${code}\``),
      query({ name: host, type: 'A', server }),
    ])
    expect(`\`${answer.status}\``).toBe(ours)
    expect(node).toBe(nodes)
    if (typeof old === 'string') expect(old).toBe(theirs)
    else if (theirs === '`errors`') expect(old.errors).toHaveLength(1)
    else expect(`\`header.rcode\` ${old.header.rcode}`).toBe(theirs)
  })
})
