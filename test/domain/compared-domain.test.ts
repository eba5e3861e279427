import * as fc from 'fast-check'
import { coversHost } from 'utility-api'
import { comparedDomain } from 'utility-api/storage'
import { describe, expect, test } from 'vitest'
import { searchedForms } from '../../src/domain/compared-domain.ts'

const label63 = 'x'.repeat(63)
const name253 = `${label63}.${label63}.${label63}.${'x'.repeat(61)}`

/** What a license is bound to, where the software runs, whether it is covered, and why. */
const pairs: readonly (readonly [domainOrIp: string, host: string, covers: boolean, why: string])[] = [
  ['shop.example', 'shop.example', true, 'the same name'],
  ['shop.example', 'SHOP.Example', true, 'names have no case'],
  ['Shop.Example', 'shop.example', true, 'nor have those that were stored'],
  ['shop.example', 'shop.example.', true, 'a final dot is the root'],
  ['shop.example.', 'shop.example', true, 'also if it was stored'],
  ['shop.example', 'shop.example..', false, 'two dots end no name'],
  ['shop.example', '.shop.example', false, 'a name begins with a label'],
  ['shop.example', 'shop.example:8080', true, 'a Host header has a port'],
  ['shop.example', 'shop.example.:443', true, 'and a final dot before it'],
  ['shop.example', 'shop.example:', true, 'RFC 3986 allows a port that is empty'],
  ['shop.example', 'shop.example:0', true, 'any port of 16 bits'],
  ['shop.example', 'shop.example:65535', true, 'the highest port'],
  ['shop.example', 'shop.example:65536', false, 'no port'],
  ['shop.example', 'shop.example:80:80', false, 'two ports'],
  ['shop.example', 'shop.example:http', false, 'a port is a number'],
  ['shop.example:8080', 'shop.example:8080', false, 'what a license is bound to has no port'],
  ['shop.example', 'https://shop.example', false, 'a URL is no host'],
  ['shop.example', 'shop.example/', false, 'nor is one with a path'],
  ['shop.example', 'ada@shop.example', false, 'nor one with a user'],
  ['shop.example', ' shop.example', false, 'a host has no blanks'],
  ['shop.example', 'shop.example,evil.example', false, 'two Host headers'],
  ['shop.example', 'eu.shop.example', false, 'a name does not cover those below it'],
  ['eu.shop.example', 'shop.example', false, 'nor those above it'],
  ['shop.example', 'myshop.example', false, 'a suffix without a dot'],
  ['shop.example', 'shop.example.evil.example', false, 'a prefix'],
  ['shop.example', 'shopxexample', false, 'a dot is a dot'],
  ['münchen.example', 'xn--mnchen-3ya.example', true, 'browsers send the ASCII form'],
  ['xn--mnchen-3ya.example', 'münchen.example', true, 'people type the other'],
  ['münchen.example', 'MÜNCHEN.example', true, 'case beyond ASCII'],
  ['münchen.example', 'mu\u0308nchen.example', true, 'a letter and a combining mark'],
  ['münchen.example', 'XN--MNCHEN-3YA.EXAMPLE', true, 'case of the ASCII form'],
  ['münchen.example', 'munchen.example', false, 'another letter'],
  ['münchen.example', 'muenchen.example', false, 'another spelling'],
  ['中国.example', 'xn--fiqs8s.example', true, 'another script'],
  ['中国。example', '中国.example', true, 'an ideographic full stop is a dot'],
  ['straße.example', 'strasse.example', false, 'ß is a letter of its own since IDNA 2008'],
  ['shop.example', 'ѕhop.example', false, 'a Cyrillic letter that looks like an s'],
  ['shop.example', 'ｓｈｏｐ.example', true, 'full-width letters are mapped, as browsers do'],
  ['my_shop.example', 'my_shop.example', true, 'underscores are allowed in host names of shops'],
  ['my_shop.example', 'my-shop.example', false, 'and are no hyphens'],
  ['localhost', 'localhost:3000', true, 'a name of one label'],
  [name253, name253, true, 'the longest name'],
  [`${name253}x`, `${name253}x`, false, 'a longer one is none'],
  ['192.0.2.1', '192.0.2.1', true, 'the same address'],
  ['192.0.2.1', '192.0.2.1:8080', true, 'with a port'],
  ['192.0.2.1', '192.0.2.2', false, 'another address'],
  ['192.0.2.1', '192.0.2.01', false, 'octal to some programs'],
  ['192.0.2.1', '3221225985', false, 'an address as one number is refused, not guessed'],
  ['192.0.2.1', '192.0.513', false, 'so is a short one'],
  ['192.0.2.1', '192.0.2.1.', false, 'an address has no final dot'],
  ['192.0.2.1', '::ffff:192.0.2.1', true, 'an IPv4 address in IPv6 is that address'],
  ['::ffff:192.0.2.1', '192.0.2.1', true, 'also if it was stored'],
  ['::ffff:192.0.2.1', '[::ffff:c000:201]:443', true, 'and in hexadecimal'],
  ['192.0.2.1', '::192.0.2.1', false, 'a compatible address is another'],
  ['192.0.2.1', '64:ff9b::192.0.2.1', false, 'so is one behind NAT64'],
  ['2001:db8::1', '2001:DB8:0:0::1', true, 'IPv6 is compared by its octets'],
  ['2001:DB8::1', '2001:db8:0000:0000:0000:0000:0000:0001', true, 'in any spelling'],
  ['2001:db8::1', '[2001:db8::1]', true, 'a Host header has brackets'],
  ['2001:db8::1', '[2001:db8::1]:443', true, 'and a port after them'],
  ['2001:db8::1', '[2001:db8::1', false, 'half of the brackets'],
  ['2001:db8::1', '2001:db8::1:443', false, 'without brackets that is another address'],
  ['[2001:db8::1]', '2001:db8::1', false, 'what a license is bound to has no brackets'],
  ['fe80::1', 'fe80::1%eth0', false, 'an address with a zone is of one machine'],
  ['192.0.2.1', '[192.0.2.1]', false, 'brackets are for IPv6'],
  ['*.shop.example', 'eu.shop.example', true, 'a wildcard covers one more label'],
  ['*.shop.example', 'EU.Shop.Example.:8443', true, 'compared like any other name'],
  ['*.SHOP.example.', 'eu.shop.example', true, 'as it is itself'],
  ['*.shop.example', 'shop.example', false, 'never the name itself'],
  ['*.shop.example', 'a.eu.shop.example', false, 'never two more labels'],
  ['*.shop.example', 'eu.myshop.example', false, 'never another name that ends like it'],
  ['*.shop.example', '.shop.example', false, 'an empty label is none'],
  ['*.shop.example', '*.shop.example', false, 'no software runs on a wildcard'],
  ['*.münchen.example', 'eu.xn--mnchen-3ya.example', true, 'the ASCII form of what follows'],
  ['*.example', 'münchen.example', true, 'the label may be international'],
  ['*.example', 'shop.example', true, 'the owner decides how far a wildcard reaches'],
  ['*', 'example', false, 'a star alone is no wildcard'],
  ['*.*.example', 'a.b.example', false, 'nor are two of them'],
  ['a.*.example', 'a.b.example', false, 'nor is one inside'],
  ['*.0.2.1', '192.0.2.1', false, 'nor one over an address'],
  ['', '', false, 'nothing is no host'],
  ['', 'shop.example', false, 'nothing covers nothing'],
  ['shop.example', '', false, 'and is not covered'],
  ['*.', 'example', false, 'a wildcard over nothing'],
  ['.', '.', false, 'the root is no host'],
  ['a b', 'a b', false, 'what is no host covers not even itself'],
  ['shop.example\u0000', 'shop.example', false, 'a control character is no part of a name'],
  ['shop.example', 'shop.example\n', false, 'not at the end either'],
]

describe('coversHost', () => {
  test.each(pairs)('%j, asked for %j: %s, because %s', (domainOrIp, host, covers) => {
    expect(coversHost(domainOrIp, host)).toBe(covers)
  })

  test('the lists find by the same forms', () => {
    for (const [domainOrIp, host, covers] of pairs) {
      // A list is asked for a host, which has neither a port nor brackets.
      if (/[:\]]\d*$/.test(host) || host.startsWith('[') || host.startsWith('*.')) continue
      expect(searchedForms(host).includes(comparedDomain(domainOrIp)), `${domainOrIp} ${host}`).toBe(covers)
    }
    expect(searchedForms('*.SHOP.example')).toEqual(['*.shop.example'])
    expect(searchedForms('*.a b')).toEqual([])
  })

  test.each([
    [undefined, 'shop.example', 'domainOrIp'],
    ['shop.example', null, 'host'],
    ['shop.example', new URL('http://shop.example'), 'host'],
  ])('%j and %j are refused: a comparison that fails open would be worse', (domainOrIp, host, name) => {
    expect(() => coversHost(domainOrIp as string, host as string)).toThrow(`${name} must be a string.`)
  })
})

/** What a browser makes of a host: another implementation of all that is compared. */
function browserHost(text: string): string | null {
  const url = `http://${text}/`
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : null
}

const mapped = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/

function canonical(host: string): string {
  const [, high, low] = mapped.exec(host) ?? []
  if (high === undefined || low === undefined) return host
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}

/** The rule again, over hosts as browsers read them. */
function oracle(domainOrIp: string, host: string): boolean {
  const asked = browserHost(host)
  const bound = browserHost(domainOrIp.replace(/^\*\./, '').replace(/^(?=.*:.*:)(.*)$/, '[$1]'))
  if (asked === null || bound === null) return false
  if (!domainOrIp.startsWith('*.')) return canonical(asked) === canonical(bound)
  const [first, ...rest] = asked.split('.')
  return first !== '' && rest.join('.') === bound
}

const label = fc.constantFrom(
  'a',
  'B',
  'shop',
  'münchen',
  'xn--mnchen-3ya',
  '中国',
  'straße',
  'x-1',
  'MÜNCHEN',
)
const name = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '.'))
  .map(([labels, dot]) => `${labels.join('.')}${dot}`)
const ipv4 = fc.constantFrom('192.0.2.1', '192.0.2.2', '8.8.8.8')
const ipv6 = fc.constantFrom(
  '2001:db8::1',
  '2001:DB8:0::1',
  '::ffff:192.0.2.1',
  '::ffff:c000:201',
  '::1',
  '0::1',
)
const port = fc.constantFrom('', ':80', ':8443')

describe('the compared form', () => {
  test('covers as an independent implementation of hosts does', () => {
    const bound = fc.oneof(
      name,
      ipv4,
      ipv6,
      name.map((each) => `*.${each}`),
    )
    const asked = fc.tuple(
      fc.oneof(
        name,
        ipv4,
        ipv6.map((each) => `[${each}]`),
      ),
      port,
    )
    fc.assert(
      fc.property(bound, asked, (domainOrIp, [host, suffix]) => {
        expect(coversHost(domainOrIp, host + suffix)).toBe(oracle(domainOrIp, host + suffix))
      }),
      { numRuns: 3000 },
    )
  })

  test('is its own form, fits into 255 characters, and never joins two hosts that browsers keep apart', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 255 }),
      name,
      ipv4,
      ipv6,
      name.map((each) => `*.${each}`),
    )
    fc.assert(
      fc.property(text, (domainOrIp) => {
        const form = comparedDomain(domainOrIp)
        expect(comparedDomain(form)).toBe(form)
        expect([...form].length).toBeLessThanOrEqual(Math.max(255, [...domainOrIp].length))
      }),
      { numRuns: 3000 },
    )
  })
})
