/** What goes into a license through headers and path, nasty inputs first, and what comes out. */
import { expect } from 'vitest'
import { runRows, type Row } from './support/rows.ts'
import { generateRequest, type World } from './support/world.ts'

/** A header value as a client sends text in UTF-8: one character per octet. */
const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

function generate(headers: Record<string, string | string[]>): Row['request'] {
  return ({ resellerToken }: World) => generateRequest(resellerToken, headers)
}

function accepts(header: string, sent: string, stored: string, name = JSON.stringify(sent)): Row {
  const field = header === 'X-Registered-To' ? 'registered_to' : 'domain_or_ip'
  return {
    name: `${header}: ${name}`,
    request: generate({ [header]: sent }),
    status: 200,
    check: (_, { json }) => expect(json).toMatchObject({ data: { [field]: stored } }),
  }
}

function refuses(header: string, sent: string | string[], problem: string, name = JSON.stringify(sent)): Row {
  const where = problem === 'is missing' ? 'The header ' : ''
  return {
    name: `${header}: ${name}`,
    request: generate({ [header]: sent }),
    status: 400,
    body: { error: 'invalid_request', message: `${where}${header} ${problem}.` },
  }
}

const noDomain = 'must be a host name or an IP address, without scheme, port or path'
const noText = 'must not contain control or bidirectional formatting characters'
const refusedDomains = [
  'https://example.com',
  '//example.com',
  'example.com/',
  'example.com/path',
  'example.com:8080',
  'user@example.com',
  'example.com?x',
  'example.com#x',
  'a.example.com, b.example.com',
  'a.example.com b.example.com',
  '192.0.2.0/24',
  '2001:db8::/32',
  '[2001:db8::1]',
  '[2001:db8::1]:443',
  'fe80::1%eth0',
  '2001:db8:::1',
  '2001:db8::1::2',
  '1:2:3:4:5:6:7',
  '192.0.2.1:80',
  '192.0.2',
  '192.0.2.256',
  '192.0.2.1.5',
  '0300.0250.0.1',
  '0300.0.2.1',
  '192.0.2.01',
  '3232235777',
  '0xc0000201',
  '0x7f.1',
  '127.1',
  '1.2.3.4.5.6',
  'example.123',
  'example.0x1f',
  '*.example.com',
  '*',
  '%31.com',
  'ex%61mple.com',
  'example..com',
  '.example.com',
  '.',
  '..',
  'example.com..',
  '-example.com',
  'example-.com',
  'exam ple.com',
  'a'.repeat(64),
  `${'a'.repeat(64)}.com`,
  `${`${'a'.repeat(63)}.`.repeat(3)}${'a'.repeat(62)}`,
  'example\\.com',
  "example.com'--",
  '"example.com"',
  '<example.com>',
  'example.com;',
  '${example}.com',
]

const acceptedDomains = [
  'example.com',
  'EXAMPLE.com',
  'my_shop.example.com',
  '_dmarc.example.com',
  'example.com.',
  'localhost',
  'a',
  '1and1.com',
  '1.example',
  'xn--mnchen-3ya.de',
  'a--b.example',
  `${'a'.repeat(63)}.com`,
  `${`${'a'.repeat(63)}.`.repeat(3)}${'a'.repeat(61)}`,
  '192.0.2.1',
  '0.0.0.0',
  '255.255.255.255',
  '2001:db8::1',
  '2001:DB8:0:0:0:0:0:1',
  '::',
  '::1',
  '::ffff:192.0.2.1',
  '1:2:3:4:5:6:7:8',
]

const domains: Row[] = [
  ...refusedDomains.map((text) => refuses('X-Domain-Or-IP', text, noDomain)),
  ...['m\u00fcn\u200bchen.de', 'a\u3000b.de', 'ma\u0308\uff0fx.de', '\u2488com'].map((text) =>
    refuses('X-Domain-Or-IP', utf8(text), noDomain, `UTF-8 ${JSON.stringify(text)}`),
  ),
  refuses('X-Domain-Or-IP', utf8('\u202emoc.elpmaxe'), noText, 'right-to-left override'),
  ...acceptedDomains.map((text) => accepts('X-Domain-Or-IP', text, text)),
  ...['m\u00fcnchen.de', '\u4f8b\u3048.jp', 'fa\u00df.de', '\u4f8b\u3002jp'].map((text) =>
    accepts('X-Domain-Or-IP', utf8(text), text, `UTF-8 ${text}`),
  ),
  accepts('X-Domain-Or-IP', 'm\u00fcnchen.de', 'm\u00fcnchen.de', 'Latin-1 m\u00fcnchen.de'),
  accepts('X-Domain-Or-IP', '  example.com  ', 'example.com'),
]

const text: Row[] = [
  refuses('X-Registered-To', 'a\tb', noText, 'a tab inside'),
  refuses('X-Registered-To', '\u0085x\u0085', noText, 'C1 controls in Latin-1'),
  refuses('X-Registered-To', utf8('a\u0085b'), noText, 'C1 controls in UTF-8'),
  ...['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069'].map((mark) =>
    refuses(
      'X-Registered-To',
      utf8(`a${mark}b`),
      noText,
      `bidi control U+${mark.codePointAt(0)?.toString(16)}`,
    ),
  ),
  refuses('X-Registered-To', 'x'.repeat(256), 'must have at most 255 characters', '256 letters'),
  refuses('X-Registered-To', utf8('\u{1f600}'.repeat(256)), 'must have at most 255 characters', '256 emoji'),
  refuses('X-Registered-To', '   ', 'is missing', 'spaces'),
  refuses('X-Registered-To', utf8('\u00a0\u2003'), 'is missing', 'Unicode spaces'),
  accepts(
    'X-Registered-To',
    utf8('Universit\u00e0'),
    'Universit\u00e0',
    'Universit\u00e0: its last octet is A0',
  ),
  accepts('X-Registered-To', 'Universit\u00e0', 'Universit\u00e0', 'Universit\u00e0 in Latin-1'),
  accepts(
    'X-Registered-To',
    utf8('Jos\u00e9 \u0141ukasz \u5c71\u7530'),
    'Jos\u00e9 \u0141ukasz \u5c71\u7530',
    'UTF-8',
  ),
  accepts('X-Registered-To', 'Jos\u00e9', 'Jos\u00e9', 'Latin-1'),
  accepts('X-Registered-To', utf8('e\u0301'), 'e\u0301', 'a combining accent stays as it was'),
  accepts('X-Registered-To', utf8('\u{1f600}'.repeat(255)), '\u{1f600}'.repeat(255), '255 emoji'),
  accepts('X-Registered-To', 'x'.repeat(255), 'x'.repeat(255), '255 letters'),
  accepts('X-Registered-To', utf8('\ufefftext'), 'text', 'a byte order mark, which trimming takes away'),
  accepts('X-Registered-To', '100% Jos%C3%A9', '100% Jos%C3%A9', 'percent signs are not decoded'),
  accepts('X-Registered-To', "O'Brien; DROP TABLE licenses--", "O'Brien; DROP TABLE licenses--"),
  accepts('X-Registered-To', '<script>alert(1)</script>', '<script>alert(1)</script>'),
  accepts('X-Registered-To', '"a", \\ {}', '"a", \\ {}'),
  accepts('X-Registered-To', '\u00c3', '\u00c3', 'an octet that is no UTF-8 stays Latin-1'),
]

const statuses: Row[] = ['Valid', 'valid,', 'valid valid', 'active', '__proto__', '0', 'true'].map((status) =>
  refuses('X-Status', status, 'must be one of valid, invalid'),
)

/** Updates a license by its key as a person might type it. */
function updateKey(name: string, typed: (key: string) => string, status: number): Row {
  return {
    name: `license key ${name}`,
    request: async (world) => ({
      method: 'PUT',
      path: `/v2/reseller/${typed(await world.generate())}/update`,
      headers: { Authorization: `Bearer ${world.resellerToken}`, 'X-Status': 'invalid' },
    }),
    status,
  }
}

const licenseKeys: Row[] = [
  updateKey('as it is', (key) => key, 200),
  updateKey('in lower case after the prefix', (key) => `LIC-${key.slice(4).toLowerCase()}`, 200),
  updateKey(
    'with O for 0 and I for 1',
    (key) => `LIC-${key.slice(4).replaceAll('0', 'O').replaceAll('1', 'I')}`,
    200,
  ),
  updateKey('percent-encoded', (key) => key.replaceAll('-', '%2D'), 200),
  updateKey('with another prefix', (key) => `KEY-${key.slice(4)}`, 404),
  updateKey('with one symbol wrong', (key) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'), 404),
  updateKey('with spaces and a line end around', (key) => `%20${key}%20%0D%0A`, 200),
  updateKey('with en dashes', (key) => key.replaceAll('-', '%E2%80%93'), 200),
  updateKey('without hyphens', (key) => key.replaceAll('-', ''), 200),
  updateKey('with a tab inside', (key) => key.replace('-', '-%09'), 200),
  updateKey('with an escape character inside', (key) => key.replace('-', '-%1B'), 404),
  updateKey('with a NUL', (key) => `${key}%00`, 404),
  updateKey('with an encoded slash', (key) => `${key}%2Fx`, 404),
  updateKey('that is a broken escape', () => '%zz', 404),
  updateKey('that is no UTF-8', () => '%ff', 404),
  updateKey('that is a property of every object', () => '__proto__', 404),
  updateKey('of 2000 characters', () => 'x'.repeat(2000), 404),
]

runRows('License inputs', [...domains, ...text, ...statuses, ...licenseKeys])

runRows(
  'License inputs with wildcards and statuses of the owner',
  [
    accepts('X-Domain-Or-IP', '*.example.com', '*.example.com'),
    ...['*.*.example.com', 'a.*.example.com', '*example.com', '*.192.0.2.1', '*.'].map((domain) =>
      refuses('X-Domain-Or-IP', domain, noDomain),
    ),
    {
      name: 'X-Status: suspended',
      request: generate({ 'X-Status': 'suspended' }),
      status: 200,
      check: (_, { json }) => expect(json).toMatchObject({ data: { status: 'suspended' } }),
    },
    refuses('X-Status', 'invalid', 'must be one of valid, suspended'),
  ],
  { licenses: { allowWildcards: true, statuses: ['valid', 'suspended'] } },
)

runRows(
  'License inputs with a prefix of the owner',
  [
    {
      name: 'generates keys with it',
      request: generate({}),
      status: 200,
      check: (_, { json }) =>
        expect(json).toMatchObject({ data: { license_key: expect.stringMatching(/^acme_[0-9A-Z]{5}-/) } }),
    },
  ],
  { licenses: { keyPrefix: 'acme_' } },
)
