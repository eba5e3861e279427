import { existsSync } from 'node:fs'
import { spawn } from 'node:child_process'
import type { DnsRecord } from 'utility-api'
import { fakeDnsServer, type FakeDnsServer, type FakeDnsServerOptions } from 'utility-api/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { questionOf } from '../../../adapters/cli/lookups/dns-question.ts'
import { addressOf, locationsOf } from '../../../adapters/cli/lookups/server-option.ts'
import { widthOf } from '../../../adapters/cli/terminal/terminal-text.ts'
import { quoted } from '../../support/shell.ts'
import { outcomeOf, start } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { hurryWaits, silence } from '../support/hurry.ts'
import { runOnTerminal } from '../support/on-terminal.ts'

// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const hostileText = 'a\u001b[2J\u007f\u0085\u009b31m\u061c\u200e\u202e\u2066red'
const moved = { type: 'A', host: 'shop.example', ttl: 300, ip: '203.0.113.20' } as const
const old = { ...moved, ttl: 41, ip: '198.51.100.7' } as const

function text(txt: string): DnsRecord {
  return { type: 'TXT', host: 'shop.example', ttl: 60, txt, entries: [txt] }
}

const open: FakeDnsServer[] = []
async function resolver(options: FakeDnsServerOptions): Promise<string> {
  const server = await fakeDnsServer(options)
  open.push(server)
  return `${server.ip}:${server.port}`
}
let right: string
let stale: string
let without: string
/** No system gives this port to others, so that nothing listens there. */
const dead = '127.0.0.1:9'

beforeAll(async () => {
  right = await resolver({ records: [moved, text(hostileText)] })
  stale = await resolver({ records: [old, text('v=spf1 -all')], delayMs: 20 })
  without = await resolver({ records: [] })
})
afterAll(() => Promise.all(open.map((server) => server.close())))

function ask(servers: readonly string[], ...args: string[]) {
  return runHere(['dns', 'shop.example', ...args, '--server', servers.join()])
}

describe('how answers compare', () => {
  type Case = [code: number, verdict: string, servers: () => string[]]
  const cases: Record<string, Case> = {
    'all agree': [0, 'Both resolvers agree.', () => [right, right]],
    'one answers': [0, 'The resolver answered.', () => [right]],
    'those who answer agree': [
      0,
      '2 of 3 resolvers answered, and agree.\nNo answer: gone (UNREACHABLE).',
      () => [right, `gone=${dead}`, right],
    ],
    'they differ': [
      3,
      'They differ: 2 answers from 3 resolvers.\n  2 have 203.0.113.20\n    a, c\n  1 has 198.51.100.7\n    b\nThe longest TTL left is 300 s.',
      () => [`a=${right}`, `b=${stale}`, `c=${right}`],
    ],
    'not everywhere yet': [
      4,
      'Not everywhere yet: 1 of 3 resolvers has the A record, 2 have none.\n  2 have no record\n    b, c\n  1 has 203.0.113.20\n    a\nThe longest TTL left is 300 s.',
      () => [`a=${right}`, `b=${without}`, `c=${without}`],
    ],
    'all say that there is none': [
      5,
      'Both resolvers agree that there is no A record.',
      () => [without, without],
    ],
    'one says that there is none': [5, 'There is no A record.', () => [without]],
    'nobody answers': [1, 'None of 2 resolvers answered.', () => [dead, dead]],
    'the one does not answer': [1, 'The resolver did not answer.', () => [dead]],
  }
  test.each(Object.entries(cases))('%s', async (_, [code, verdict, servers]) => {
    const outcome = await ask(servers())
    expect(outcome).toMatchObject({ code, stderr: '' })
    expect(outcome.stdout.endsWith(`\n\n${verdict}\n`), outcome.stdout).toBe(true)
  })

  test('parts of one rotating set of addresses agree', async () => {
    const pool = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']
    let turn = 0
    const rotating = await resolver({
      reply: (query) =>
        query.answer({ records: [0, 1].map((at) => ({ ...moved, ip: pool[(turn++ % 2) + at] ?? '' })) }),
      records: [moved],
    })
    const { code, stdout } = await ask([`a=${rotating}`, `b=${rotating}`])
    expect({ code, verdict: stdout.split('\n\n')[1] }).toEqual({
      code: 0,
      verdict: expect.stringMatching(/^Both resolvers agree/),
    })
  })

  test('a CAA value that is not UTF-8 stands alone, without its octets in base64', async () => {
    const octets = { value: 'ca\\255', base64: Buffer.from('ca\u00ff', 'latin1').toString('base64') }
    const caa = { type: 'CAA', host: 'shop.example', ttl: 60, flags: 0, tag: 'issue', ...octets } as const
    const { stdout } = await ask([await resolver({ records: [caa] })], 'CAA')
    expect(stdout).toContain(' 0 issue "ca\\255"\n')
    expect(stdout).not.toContain(octets.base64)
  })

  test('of several types the worst one counts, but one without a record is none of them', async () => {
    const both = await ask([right, right], 'A', 'MX', 'a')
    expect(both.code).toBe(0)
    expect(both.stdout).toMatch(/^A records\n[^]*\n\nMX records\n[^]*no MX record\.\n$/)
    expect((await ask([right, stale], 'MX', 'A')).code).toBe(3)
    expect((await ask([right, without], 'MX', 'A')).code).toBe(4)
    expect((await ask([without], 'MX', 'A')).code).toBe(5)
    expect((await ask([dead], 'MX', 'A')).code).toBe(1)
  })
})

describe('the table', () => {
  test('has the address, time, TTL and answer of each', async () => {
    const { stdout } = await ask([right, stale])
    expect(stdout).toMatch(/^RESOLVER +TIME +TTL +ANSWER\n/)
    expect(stdout).toMatch(new RegExp(`^${right} +\\d+ ms +300 s +203\\.0\\.113\\.20$`, 'm'))
    expect(stdout).toMatch(new RegExp(`^${stale} +\\d+ ms +41 s +198\\.51\\.100\\.7$`, 'm'))
    expect(stdout).not.toContain('\u001b')
  })

  test('has labels where there are any', async () => {
    const { stdout } = await ask([`office=${right}`, stale])
    expect(stdout).toMatch(/^LOCATION +RESOLVER +TIME +TTL +ANSWER\n/)
    expect(stdout).toMatch(new RegExp(`^office +${right} `, 'm'))
  })

  test('lets no record control the terminal, and shows what would', async () => {
    const { stdout } = await ask([right], 'TXT')
    expect(stdout).toContain(
      String.raw`"a\027[2J\127\194\133\194\15531m\216\156\226\128\142\226\128\174\226\129\166red"`,
    )
    expect(stdout).not.toMatch(steering)
  })
})

describe('as JSON', () => {
  test('one type is what the operation answers', async () => {
    const { code, stdout } = await runHere([
      'dns',
      'SHOP.example.',
      'a',
      '--server',
      `${right},${stale}`,
      '--json',
    ])
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject([
      {
        resolved: true,
        status: 'NOERROR',
        dns_results: [{ type: 'A', host: 'shop.example', ip: '203.0.113.20' }],
      },
      { resolved: true, dns_results: [{ ip: '198.51.100.7' }] },
    ])
  })

  test('a failure of the signatures alone is told', async () => {
    const bogus = await resolver({
      reply: (query) =>
        query.answer((query.message[3]! & 0x10) === 0 ? { rcode: 'SERVFAIL' } : { records: [moved] }),
    })
    const { stdout } = await ask([bogus], '--json')
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'SERVFAIL', bogus: true, dns_results: [] }])
  })

  test('several types have their names as keys', async () => {
    const { stdout } = await ask([right], 'A', 'TXT', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      A: [{ dns_results: [{ ip: '203.0.113.20' }] }],
      TXT: [{ dns_results: [{ txt: hostileText }] }],
    })
    expect(stdout).not.toMatch(steering)
  })
})

describe('--watch', () => {
  /** A resolver that learns of the move with the question after the first so many. */
  function learning(after: number): Promise<string> {
    let asked = 0
    // Forgotten soon: what it has said before is waited for.
    const next = (): DnsRecord => ((asked += 1) > after ? moved : { ...old, ttl: 0 })
    return resolver({ records: [moved], reply: (query) => query.answer({ records: [next()] }) })
  }

  const roundTime = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
  test('asks until all agree, and gives each round a line where there is no terminal', async () => {
    hurryWaits()
    const { code, stdout } = await ask([right, await learning(1)], '--watch', '--interval', '1')
    expect(code).toBe(0)
    const differ = `(${roundTime} They differ: 2 answers from 2 resolvers\\.\n)+`
    expect(stdout).toMatch(
      new RegExp(`^${differ}(.*Z Both resolvers agree\\.\n)*RESOLVER[^]*Both resolvers agree\\.\n$`),
    )
    expect(stdout).not.toContain('Ctrl-C')
  })

  test('of several types names them in that line', async () => {
    hurryWaits()
    const { stdout } = await ask(
      [right, await learning(1)],
      'A',
      'MX',
      '--watch',
      '--interval',
      '1',
      '--for',
      '3',
    )
    expect(stdout).toMatch(
      new RegExp(`^${roundTime} A: They differ: .* MX: Both resolvers agree that there is no MX record\\.\n`),
    )
  })

  test('ends after the time of --for with a code of its own, and shows the last check', async () => {
    hurryWaits()
    const args = ['--watch', '--interval', '1', '--for', '2s', '--expect']
    const { code, stdout, stderr } = await ask([right], ...args, '203.0.113.99')
    expect({ code, stderr }).toEqual({ code: 6, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^${roundTime} Not yet: .*\n[^]*RESOLVER[^]*Not yet: none of 1 `))
    expect((await ask([right], ...args, '203.0.113.20')).code).toBe(0)
  })

  test.each([
    [['--for', '2d'], '--for goes with --watch.'],
    [['--watch', '--for', '2w'], '--for must be 1 to 31536000 seconds, or a time such as'],
  ])('%j is refused', async (args, says) => {
    const { code, stderr } = await ask([right], ...args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) })
  })

  test('goes on while all agree on what there was at first', async () => {
    hurryWaits()
    const { code, stdout } = await ask([await learning(2), await learning(2)], '--watch', '--interval', '1')
    expect(code).toBe(0)
    expect(stdout.match(/Z Both resolvers agree/g)?.length).toBeGreaterThanOrEqual(2)
    expect(stdout).toMatch(/203\.0\.113\.20\n\nBoth resolvers agree\.\n$/)
  })

  test('waits for what is expected', async () => {
    const args = ['--watch', '--interval', '1s', '--expect', '203.0.113.20']
    const { code, stdout } = await ask([right, await learning(1)], ...args)
    expect(code).toBe(0)
    expect(stdout).toMatch(/Z Partly: [^]*Arrived: all 2 resolvers/)
    expect((await ask([right], ...args)).stdout).toMatch(/^RESOLVER/)
  })

  test('prints JSON at the end only', async () => {
    hurryWaits()
    const { code, stdout } = await ask([right, await learning(1)], '--watch', '--interval', '1', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([
      { dns_results: [{ ip: '203.0.113.20' }] },
      { dns_results: [{ ip: '203.0.113.20' }] },
    ])
  })

  test('goes on for days', async () => {
    hurryWaits()
    const args = ['--watch', '--interval', '1h', '--for', '2d', '--expect', '203.0.113.99']
    const { code, stdout } = await ask([right], ...args)
    expect(code).toBe(6)
    expect(stdout.match(/Z Not yet: /g)).toHaveLength(48)
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('ends at %s with code 130, and says nothing', async (signal) => {
    const child = start(['dns', 'shop.example', '--watch', '--server', `${right},${stale}`])
    const outcome = outcomeOf(child)
    let seen = ''
    for await (const chunk of child.stdout ?? []) {
      seen += String(chunk)
      if (seen.includes('They differ')) break
    }
    child.kill(signal)
    expect(await outcome).toMatchObject({ code: 130, stderr: '' })
  })

  test('ends while a resolver is silent', async () => {
    const silent = await resolver({ reply: () => null })
    const server = open.at(-1) as FakeDnsServer
    const child = start(['dns', 'shop.example', '--server', silent])
    const outcome = outcomeOf(child)
    while (server.queries.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    child.kill('SIGINT')
    expect(await outcome).toEqual({ code: 130, stdout: '', stderr: '' })
  })
})

describe('--expect', () => {
  type Case = [code: number, verdict: RegExp, expected: string[], servers: () => string[]]
  const cases: Record<string, Case> = {
    'has arrived': [
      0,
      /Arrived: all 2 resolvers have what is expected\.$/,
      ['203.0.113.20'],
      () => [right, right],
    ],
    'has arrived at those who answer': [
      0,
      /Arrived: 1 of 2 resolvers has what is expected\.\nNo answer: gone \(UNREACHABLE\)\.$/,
      ['203.0.113.20'],
      () => [right, `gone=${dead}`],
    ],
    'has arrived at some': [
      4,
      /Partly: 1 of 2 resolvers has what is expected\.\n[^]*Once the zone has changed, the last old answer expires within 41 s, by \d\d:\d\d:\d\d UTC\.$/,
      ['203.0.113.20'],
      () => [right, stale],
    ],
    'has arrived nowhere, though all agree': [
      3,
      /Not yet: none of 2 resolvers has what is expected\.\n[^]* within 300 s/,
      ['203.0.113.99'],
      () => [right, right],
    ],
    'is one of two': [3, /Not yet/, ['203.0.113.20', '203.0.113.21'], () => [right]],
    'is a deletion that has arrived': [0, /Arrived/, ['none'], () => [without, without]],
    'is a deletion that has not': [3, /Not yet/, ['none'], () => [right]],
    'cannot be told': [1, /None of 2 resolvers answered\.$/, ['none'], () => [dead, dead]],
  }
  test.each(Object.entries(cases))('%s', async (_, [code, verdict, expected, servers]) => {
    const outcome = await ask(servers(), ...expected.flatMap((each) => ['--expect', each]))
    expect(outcome).toMatchObject({ code, stderr: '' })
    expect(outcome.stdout.trimEnd()).toMatch(verdict)
  })

  test('a failing resolver is in the way, and is named', async () => {
    const failing = await resolver({ reply: (query) => query.answer({ rcode: 'SERVFAIL' }) })
    const { code, stdout } = await ask([right, `broken=${failing}`], '--expect', '203.0.113.20')
    expect(code).toBe(4)
    expect(stdout).toMatch(
      /Partly: 1 of 2 resolvers has what is expected\.\nNo answer: broken \(SERVFAIL\)\.\n$/,
    )
  })

  test('one record among others is enough for --contains', async () => {
    const several = await resolver({ records: [text('v=spf1 -all'), text('verification=7')] })
    const expecting = (option: string, value: string) => ask([several], 'TXT', option, value)
    expect((await expecting('--contains', 'verification=7')).code).toBe(0)
    expect((await expecting('--contains', 'verification=8')).code).toBe(3)
    expect((await expecting('--expect', 'verification=7')).code).toBe(3)
  })

  test('takes what the table shows, and shows the tag of a key beside it', async () => {
    const key = {
      type: 'DNSKEY',
      host: 'shop.example',
      ttl: 60,
      flags: 257,
      protocol: 3,
      algorithm: 13,
    } as const
    const signed = await resolver({ records: [{ ...key, public_key: 'AAEC', key_tag: 1551 }] })
    const { stdout } = await ask([signed], 'DNSKEY')
    const [, shown = '', tag] = / s +(.*) \[key tag (\d+)\]$/m.exec(stdout) ?? []
    expect(tag).toBe('1551')
    expect((await ask([signed], 'DNSKEY', '--expect', shown)).code).toBe(0)
  })

  test('takes a record of any type', async () => {
    expect((await ask([stale], 'TXT', '--expect', '"v=spf1" " -all"')).code).toBe(0)
    expect((await ask([stale], 'TXT', '--expect', 'v=spf1 ~all')).code).toBe(3)
  })

  test.each([
    [['--expect', 'x'], '--expect: "x" is no A record such as 192.0.2.1.'],
    [['MX', 'A', '--expect', 'none'], '--expect goes with one record type'],
    [['--contains', 'x'], '--contains: "x" is no A record such as 192.0.2.1.'],
    [['--subnet', 'x'], '--subnet: must be a network like 192.0.2.0/24.'],
    [['MX', 'A', '--contains', '192.0.2.1'], '--contains goes with one record type'],
    [['--contains', '192.0.2.1', '--expect', '192.0.2.1'], 'give one of the two'],
  ])('%j is refused before anything is asked', async (args, says) => {
    const { code, stdout, stderr } = await ask([right], ...args)
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(says) })
  })
})

describe('the words', () => {
  test.each([
    [['shop.example'], 'shop.example', ['A'], []],
    [['shop.example', 'mx', 'A', 'MX'], 'shop.example', ['MX', 'A'], []],
    [['MX', 'shop.example'], 'shop.example', ['MX'], []],
    [['mx', 'shop.example', 'txt'], 'shop.example', ['MX', 'TXT'], []],
    [['mx'], 'mx', ['A'], []],
    [['a', 'mx'], 'a', ['MX'], []],
    [['@192.0.2.53', 'shop.example', '@[::1]:5353'], 'shop.example', ['A'], ['192.0.2.53', '[::1]:5353']],
    [['192.0.2.1'], '192.0.2.1', ['PTR'], []],
    [['2001:db8::1', 'PTR'], '2001:db8::1', ['PTR'], []],
    [['shop.example', 'FOO'], 'shop.example', ['FOO'], []],
  ])('%j ask for %s %j of %j', (words, name, types, servers) => {
    expect(questionOf(words)).toEqual({ name, types, servers })
  })

  test('name servers as --server does, each time it is given', async () => {
    const { stdout } = await runHere([
      'dns',
      'A',
      'shop.example',
      `@${right}`,
      '--server',
      stale,
      '--server',
      without,
    ])
    for (const each of [right, stale, without]) expect(stdout).toContain(each)
    expect(stdout).toContain('from 3 resolvers')
  })
})

describe('what else an answer says', () => {
  test('stands in brackets', async () => {
    const ede = { code: 15, data: Buffer.from('\0\x06no signature', 'latin1') }
    const bogus = await resolver({ reply: (query) => query.answer({ rcode: 'SERVFAIL', options: [ede] }) })
    const signed = await resolver({
      truncate: true,
      reply: (query) =>
        query.transport === 'udp'
          ? undefined
          : query.answer({
              authenticated: true,
              rcode: 'NOERROR',
              records: [
                { type: 'CNAME', host: 'shop.example', ttl: 5, target: 'web.example' },
                { ...moved, host: 'web.example' },
              ],
            }),
    })
    const { stdout } = await ask([bogus, signed])
    expect(stdout).toMatch(/ SERVFAIL \[DNSSEC bogus: no signature\]$/m)
    expect(stdout).toMatch(/ 203\.0\.113\.20 \[alias of web\.example; TCP; validated\]$/m)
  })

  const ede = (code: number, words: string) => ({
    code: 15,
    data: Buffer.from([0, code, ...Buffer.from(words)]),
  })
  test.each<[string, FakeDnsServerOptions['reply'] & {}, RegExp]>([
    [
      'an old answer, and why',
      (query) =>
        query.answer({ rcode: 'NOERROR', records: [moved], options: [ede(3, ''), ede(22, 'ns1 timed out')] }),
      / 203\.0\.113\.20 \[stale answer; no reachable authority: ns1 timed out\]$/m,
    ],
    [
      'an alias that leads nowhere',
      (query) =>
        query.answer({
          rcode: 'NXDOMAIN',
          records: [{ type: 'CNAME', host: 'shop.example', ttl: 5, target: 'gone.example' }],
        }),
      / NXDOMAIN \[alias of gone\.example\]$/m,
    ],
    [
      'a refusal with an error that is not registered, in words that would steer',
      (query) => query.answer({ rcode: 'REFUSED', options: [ede(200, 'no\u001b[2J')] }),
      / REFUSED \[error 200: no.{1,6}\[2J\]$/m,
    ],
    [
      'who serves the name, of a server that does not',
      (query) =>
        Buffer.concat([
          Buffer.from([query.id >> 8, query.id & 255, 0x80, 0, 0, 1, 0, 0, 0, 2, 0, 0]),
          query.message.subarray(12, 12 + 14 + 4),
          ...['ns1', 'ns2'].map((server) =>
            Buffer.concat([
              Buffer.from([0xc0, 12, 0, 2, 0, 1, 0, 0, 0, 60, 0, 6, 3]),
              Buffer.from(server),
              Buffer.from([0xc0, 17]),
            ]),
          ),
        ]),
      / REFERRAL \[shop\.example is at ns1\.example, ns2\.example\]\n\nThe server only points elsewhere\.$/m,
    ],
    [
      'a failure of the signatures alone',
      (query) =>
        query.answer((query.message[3]! & 0x10) === 0 ? { rcode: 'SERVFAIL' } : { records: [moved] }),
      / SERVFAIL \[fails only with validation\]$/m,
    ],
    [
      'that there is no such record, validated',
      (query) => query.answer({ rcode: 'NOERROR', records: [], authenticated: true }),
      / NODATA \[validated\]$/m,
    ],
  ])('%s', async (_, reply, line) => {
    const { stdout } = await ask([await resolver({ reply })])
    expect(stdout).toMatch(line)
    expect(stdout).not.toMatch(steering)
  })

  test('shows where the strings of a text end', async () => {
    const split = await resolver({ records: [{ ...text('ab'), entries: ['a', 'b'] } as DnsRecord] })
    expect((await ask([split], 'TXT')).stdout).toContain('"a" "b"')
  })

  test('--tcp asks over TCP, and --subnet for a network', async () => {
    const there = await resolver({ records: [moved] })
    const server = open.at(-1) as FakeDnsServer
    expect((await ask([there], '--tcp', '--subnet', '198.51.100.0/24')).stdout).toContain('[TCP]')
    expect(server.queries.map(({ transport }) => transport)).toEqual(['tcp'])
    expect(Buffer.from(server.queries[0]!.message).toString('hex')).toMatch(/c63364$/)
  })

  test('says that UDP may be blocked where all are silent, and whether TCP is not', async () => {
    const silent = silence()
    const overTcpOnly = await resolver({
      records: [moved],
      reply: (query) => (query.transport === 'udp' ? silent(query) : undefined),
    })
    const { code, stdout } = await ask([overTcpOnly], '--timeout', '1')
    expect(code).toBe(1)
    expect(stdout).toContain(
      `A firewall may block DNS over UDP here. Over TCP, ${overTcpOnly} answers; try --tcp.`,
    )
  })

  test('says so of TCP as well where that is silent too, and asks there once', async () => {
    const reply = silence()
    const silent = await Promise.all([1, 2].map(() => resolver({ reply })))
    const servers = open.slice(-2)
    const { code, stdout } = await ask(silent, '--timeout', '1')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /None of 2 resolvers answered\.\n[^]*DNS over UDP here\. Over TCP, there is no answer either\.$/m,
    )
    const overTcp = servers.flatMap(({ queries }) => queries).filter(({ transport }) => transport === 'tcp')
    expect(overTcp).toHaveLength(1)
  })

  test.each<[string, () => Promise<string[]>, string[]]>([
    ['one of two answers', async () => [right, await resolver({ reply: silence() })], []],
    ['nothing listens', async () => [dead], []],
    ['TCP was asked for', async () => [await resolver({ reply: silence() })], ['--tcp']],
    ['JSON was asked for', async () => [await resolver({ reply: silence() })], ['--json']],
  ])('says nothing of a firewall where %s', async (_, servers, args) => {
    const { stdout } = await ask(await servers(), '--timeout', '1', ...args)
    expect(stdout).not.toContain('firewall')
  })

  test('--authority says so if it finds no server of the zone', async () => {
    const { code, stderr } = await ask([right], '--authority')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('No zone of this name was found'),
    })
  })
})

describe('on a terminal', () => {
  test.each([120, 80, 60, 40])('of %i columns no line is wider, and nothing is lost', async (columns) => {
    const key = `v=DKIM1; k=rsa; p=${'x'.repeat(110)}`
    const wide = await resolver({ records: [moved, text(`${'山'.repeat(30)} 👨‍👩‍👧 ${key}`)] })
    const servers = `Amsterdam=${wide},東京=${stale},${dead}`
    const { lines } = await runOnTerminal(['dns', 'shop.example', 'A', 'TXT', '--server', servers], columns)
    expect(lines.filter((line) => widthOf(line) > columns)).toEqual([])
    const last = lines.slice(lines.lastIndexOf('A records'))
    const words = last.join('').replaceAll(/\s+/g, '')
    for (const whole of [key, '山'.repeat(30), '203.0.113.20', '198.51.100.7', 'Amsterdam', '東京', dead])
      expect(words).toContain(whole.replaceAll(/\s+/g, ''))
  })

  test('values cut in the table are shown in full below it, also if all agree', async () => {
    const key = `v=DKIM1; k=rsa; p=${'x'.repeat(110)}`
    const signed = await resolver({ records: [text(key)] })
    const { lines } = await runOnTerminal(['dns', 'shop.example', 'TXT', '--server', signed], 80)
    expect(lines.join('')).toContain('The resolver answered.')
    expect(lines.join('').replaceAll(' ', '')).toContain(key.replaceAll(' ', ''))
    const short = await runOnTerminal(['dns', 'shop.example', '--server', right], 80)
    expect(short.lines.at(-1)).toBe('The resolver answered.')
  })

  test('notes cut in the table are shown in full below it', async () => {
    const ede = { code: 15, data: Buffer.from('\0\x06the signature of shop.example has expired', 'latin1') }
    const bogus = await resolver({ reply: (query) => query.answer({ rcode: 'SERVFAIL', options: [ede] }) })
    const { lines } = await runOnTerminal(['dns', 'shop.example', '--server', `Here=${bogus},${right}`], 40)
    expect(lines.slice(-3)).toEqual([
      'No answer: Here (SERVFAIL).',
      'Here: DNSSEC bogus: the signature of',
      '  shop.example has expired.',
    ])
  })

  test('an invalid name is refused before anything is drawn', async () => {
    const { code, stdout, stderr } = await runOnTerminal(['dns', 'a b', '--server', right], 80)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('NAME must be a domain name, or an IP address for the type PTR.')
    expect((await runOnTerminal(['dns', 'a\nb', '--server', right], 80)).stderr).toContain('NAME must be')
  })

  test.each([
    [['shop.example', 'A', 'FOO'], 'TYPE must be one of A, '],
    [['192.0.2.1', 'PTR', 'A'], 'NAME must be a domain name, or an IP address for the type PTR.'],
  ])(
    'of several types, one that is invalid is refused before a question is sent: %s',
    async (words, says) => {
      const unasked = await resolver({ records: [moved] })
      const server = open.at(-1) as FakeDnsServer
      const { code, stdout, stderr } = await runOnTerminal(['dns', ...words, '--server', unasked], 80)
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(says) })
      expect(server.queries).toEqual([])
    },
  )

  test.skipIf(!existsSync('/usr/bin/script'))('the table fills as answers come', async () => {
    const line = [
      quoted(process.execPath),
      '--import ./test/support/sources.ts adapters/cli/main.ts dns shop.example',
      `--server ${right},${stale}`,
    ].join(' ')
    const child = spawn('script', ['-qec', `stty cols 100 rows 40; ${line}`, '/dev/null'], {
      env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { stdout } = await outcomeOf(child)
    expect(stdout).toContain('…')
    expect(stdout).toContain('\u001b[3A\u001b[0J')
    expect(stdout).toContain('\u001b[32m')
    const last = stdout.slice(stdout.lastIndexOf('RESOLVER'))
    expect(last).toContain('203.0.113.20')
    expect(last).toContain('198.51.100.7')
  })
})

test('--server takes labels, ports and IPv6', () => {
  const found = locationsOf(
    '192.0.2.1, lab=192.0.2.2:5353,2001:db8::1,[2001:db8::2]:54,b=[2001:db8::3],fe80::1%eth0,r=[fe80::1%eth0]:54',
  )
  expect(found.map(({ location, ...address }) => [location, addressOf(address)])).toEqual([
    ['192.0.2.1', '192.0.2.1'],
    ['lab', '192.0.2.2:5353'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::2]:54', '[2001:db8::2]:54'],
    ['b', '2001:db8::3'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['r', '[fe80::1%eth0]:54'],
  ])
  for (const wrong of [
    '300.1.1.1',
    '192.0.2.1:0',
    '192.0.2.1:99999',
    '2001:db8::1%eth0',
    'fe80::1%',
    '=192.0.2.1',
    'a=',
    'example.com',
  ])
    expect(() => locationsOf(wrong), wrong).toThrow('is not a resolver')
})
