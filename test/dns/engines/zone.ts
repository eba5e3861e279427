import type { RecordType } from '../../../src/domain/dns-record.ts'
import { recordTypes } from '../../../src/domain/dns-record.ts'

/** The zone that all servers serve. */
export const origin = 'engines.example'

const many = (count: number, line: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => line(index))
const longKey = Buffer.alloc(512, 7).toString('base64')
const longText = many(20, (index) => `"${String(index % 10).repeat(250)}"`).join(' ')
/** A name of 255 octets. */
const longest = ['a'.repeat(63), 'b'.repeat(63), 'c'.repeat(63), 'd'.repeat(60 - origin.length)].join('.')

const common: readonly string[] = [
  `$ORIGIN ${origin}.`,
  '$TTL 3600',
  String.raw`@ IN SOA ns1 host\.master 2026112601 7200 3600 1209600 300`,
  '@ IN NS ns1',
  '@ IN NS ns2.example.net.',
  'ns1 IN A 127.0.0.1',
  '@ 60 IN A 192.0.2.1',
  '@ 60 IN A 192.0.2.255',
  '@ IN AAAA 2001:db8:0:0:1::',
  '@ IN AAAA 1:0:0:2::3',
  '@ IN AAAA ::ffff:192.0.2.1',
  '@ IN MX 10 mail',
  '@ IN MX 20 mail.example.net.',
  'mail IN A 192.0.2.25',
  '@ IN TXT "v=spf1 include:_spf.example.net" " -all"',
  String.raw`text IN TXT "" "quote \" backslash \\ semicolon ;" "umlaut \195\188"`,
  String.raw`octets IN TXT "octets \000\255\128"`,
  `long IN TXT ${longText}`,
  '_sip._tcp IN SRV 10 60 5060 sip',
  '_sip._tcp IN SRV 10 40 5061 sip.example.net.',
  'sip IN A 192.0.2.50',
  '1 IN PTR host.example.test.',
  'www IN CNAME web',
  'web 30 IN CNAME real',
  'real 15 IN A 192.0.2.80',
  'real 15 IN AAAA 2001:db8::80',
  'dangling IN CNAME nowhere',
  'outside IN CNAME www.example.net.',
  ...many(9, (index) => `chain${index} IN CNAME chain${index + 1}`),
  'chain9 IN A 192.0.2.90',
  '*.wild IN A 192.0.2.42',
  '*.wild IN TXT "wild"',
  '*.alias IN CNAME real',
  '_under_score IN A 192.0.2.97',
  '-x IN A 192.0.2.70',
  'x- IN A 192.0.2.71',
  '0/25.2 IN PTR host.example.test.',
  'xn--ls8h IN A 192.0.2.72',
  `${longest} IN A 192.0.2.73`,
  'empty.nonterminal IN A 192.0.2.96',
  ...many(100, (index) => `many IN A 198.51.100.${index}`),
]

const odd: readonly string[] = [
  'nomail IN MX 0 .',
  '_no._tcp IN SRV 0 0 0 .',
  String.raw`dot\.label IN A 192.0.2.99`,
  String.raw`oct\200et IN A 192.0.2.98`,
  String.raw`blank\032space IN A 192.0.2.95`,
  String.raw`at\@sign IN A 192.0.2.94`,
  'child IN NS ns1.child',
  'ns1.child IN A 127.0.0.1',
]

const others: readonly string[] = [
  '@ IN CAA 0 issue "ca.example.net; policy=ev"',
  '@ IN CAA 128 iodef "mailto:security@example.test"',
  'swapped IN CAA 0 issue "ca.example.net"',
  'child IN DS 60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118',
  'child IN DS 60485 13 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A',
]

const signed: readonly string[] = [
  `@ IN DNSKEY 256 3 8 ${longKey}`,
  `@ IN DNSKEY 257 3 8 ${longKey.replaceAll('B', 'C')}`,
  'moved IN DNAME wild',
]

/** The zone, as far as a server takes it. */
export function zoneFor(...without: readonly ('odd' | 'others' | 'signed')[]): string {
  const parts = { odd, others, signed }
  const further = Object.entries(parts).filter(([name]) => !without.some((each) => each === name))
  return [...common, ...further.flatMap(([, lines]) => lines), ''].join('\n')
}

/** Whether a server has to be asked for this at all. */
export interface Question {
  readonly name: string
  readonly type: RecordType
}

const names = [
  'WWW',
  'web',
  'dangling',
  'outside',
  'chain0',
  'any.wild',
  '*.wild',
  'a.b.wild',
  'x.alias',
  '_under_score',
  '-x',
  'x-',
  'xn--ls8h',
  'nonterminal',
  'nowhere',
  'many',
  String.raw`dot\.label`,
  'dot.label',
  String.raw`oct\200et`,
  String.raw`blank\032space`,
  String.raw`at\@sign`,
  'host.child',
  'x.moved',
  'moved',
  longest,
]

const ofOtherTypes: readonly (readonly [string, RecordType])[] = [
  ['text', 'TXT'],
  ['octets', 'TXT'],
  ['long', 'TXT'],
  ['nomail', 'MX'],
  ['_sip._tcp', 'SRV'],
  ['_no._tcp', 'SRV'],
  ['1', 'PTR'],
  ['0/25.2', 'PTR'],
  ['real', 'MX'],
  ['swapped', 'CAA'],
  ['child', 'DS'],
  ['child', 'NS'],
]

/** What every server is asked: all types of the zone's own name, odd names, aliases, wildcards, and what is elsewhere. */
export const questions: readonly Question[] = [
  ...recordTypes.map((type) => ({ name: origin, type })),
  ...names.flatMap((name) =>
    (['A', 'AAAA', 'CNAME', 'TXT'] as const).map((type) => ({ name: `${name}.${origin}`, type })),
  ),
  ...ofOtherTypes.map(([name, type]) => ({ name: `${name}.${origin}`, type })),
  { name: 'www.example.net', type: 'A' },
  { name: '.', type: 'NS' },
]
