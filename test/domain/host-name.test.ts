import * as fc from 'fast-check'
import url, { domainToASCII, domainToUnicode } from 'node:url'
import { describe, expect, test } from 'vitest'
import { decodeHeaderText } from '../../src/domain/header-text.ts'
import { parseHostName } from '../../src/domain/host-name.ts'
import { parseIpAddress, reverseName } from '../../src/domain/ip-address.ts'
import { spyOnBuiltin } from '../support/spy-on-builtin.ts'

const label63 = 'x'.repeat(63)
const name253 = `${label63}.${label63}.${label63}.${'x'.repeat(61)}`

describe('a host name', () => {
  test.each([
    ['example.com', 'example.com'],
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['com', 'com'],
    ['a', 'a'],
    ['1.example', '1.example'],
    ['3com.com', '3com.com'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    // Not valid IDNA, and in the DNS all the same: node:url would drop it.
    ['xn--zz.example', 'xn--zz.example'],
    ['r3---sn-hp57yn7y.example.com', 'r3---sn-hp57yn7y.example.com'],
    [`${label63}.example`, `${label63}.example`],
    [name253, name253],
    [`${name253}.`, name253],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    // UTS 46, non-transitional: ß stays ß.
    ['faß.example', 'xn--fa-hia.example'],
    // UTS 46 maps Σ to σ wherever it is; JavaScript's lower case makes ς of the last one of a word.
    ['ΦΩΣ24.gr', 'xn--24-ubclp.gr'],
    ['ΟΔΟΣ-ΑΘΗΝΑΣ.gr', 'xn----zlbajrf0bkb4bg.gr'],
    ['ΦΩΣ。gr', 'xn--4xafj.gr'],
    ['φως.gr', 'xn--3xahj.gr'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['example．com', 'example.com'],
    ['u\u0308ber.example', 'xn--ber-goa.example'],
  ])('%s becomes %s', (text, name) => {
    expect(parseHostName(text)).toBe(name)
  })

  test.each([
    '',
    '.',
    '..',
    '.com',
    'a..b',
    'example.com..',
    `${label63}x.example`,
    `${name253}x`,
    `x.${name253}`,
    '-a.example',
    'a-.example',
    'a b.example',
    ' example.com',
    'example.com\n',
    'example.com\0',
    'exa\tmple.com',
    'a_b.example',
    '_dmarc.example.com',
    'example.com:53',
    'https://example.com',
    'example.com/x',
    'user@example.com',
    'a,b.example',
    '*.example.com',
    'a%2eb.example',
    'a\\.b.example',
    'a%.example',
    // Numbers that other programs read as IPv4 addresses.
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0x7f000001',
    '017700000001',
    '1.2.3',
    'example.1',
    'example.0x',
    '[::1]',
    '::1',
    // The full-width digits of 127.0.0.1, which IDNA turns into just that.
    '１２７.０.０.１',
    'bücher.example/x',
    'bücher example',
    'bücher.example#',
    `${'ü'.repeat(63)}.example`,
    // Invisible characters, which IDNA drops or keeps.
    'exam\u00adple.com',
    '\u202eexample.com',
    'exa\u200bmple.com',
    '\ud800.example',
    '💩.example',
  ])('is not "%s"', (text) => {
    expect(parseHostName(text)).toBeNull()
  })

  test.each([
    ['_dmarc.Example.com', '_dmarc.example.com'],
    ['_sip._tcp.example.com.', '_sip._tcp.example.com'],
    ['a_b_.example', 'a_b_.example'],
    ['_', '_'],
    ['_bücher.example', 'xn--_bcher-4ya.example'],
  ])('may have underscores where they are allowed: %s', (text, name) => {
    expect(parseHostName(text, { underscores: true })).toBe(name)
  })

  test('in canonical form does not change, and keeps to the limits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.boolean(), (text, underscores) => {
        const name = parseHostName(text, { underscores })
        if (name === null) return
        expect(parseHostName(name, { underscores })).toBe(name)
        expect(name).toMatch(/^[a-z0-9._-]{1,253}$/)
        for (const label of name.split('.')) expect(label).toMatch(/^.{1,63}$/)
      }),
      { numRuns: 5000 },
    )
  })

  test('that is too long never reaches IDNA, whose work grows with the square of the length', () => {
    const ideographs = String.fromCodePoint(...Array.from({ length: 5000 }, (_, index) => 0x4e00 + index))
    const long = [
      ideographs,
      `${ideographs}.example`,
      'ü.'.repeat(300),
      '\u{20000}'.repeat(255),
      'é'.repeat(1e6),
    ]
    const asked = spyOnBuiltin(url, 'domainToASCII')
    for (const text of long) expect(parseHostName(text)).toBeNull()
    expect(asked.mock.calls.length).toBe(0)
    // It would have been seen.
    expect([parseHostName('é.example'), asked.mock.calls.length]).toEqual(['xn--9ca.example', 1])
  })

  test('of the greatest length is read from its Unicode form', () => {
    // A repeated character takes one symbol of Punycode, and two units of a string where it is astral.
    for (const letter of ['ü', '世', '\u{20000}', '\u{10400}'.toLowerCase()]) {
      let label = letter
      while (domainToASCII(label + letter).length <= 63) label += letter
      const last = label.slice(0, -2 * letter.length)
      const name = [label, label, label, last].join('.')
      const ascii = domainToASCII(name)
      expect(ascii.length).toBeGreaterThan(249)
      expect(parseHostName(`${name}.`)).toBe(ascii)
      expect(domainToUnicode(ascii)).toBe(name)
    }
  })

  test('of labels of letters, digits and hyphens is accepted unchanged', () => {
    const label = fc.stringMatching(/^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/).filter((each) => each.length <= 63)
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
        const name = labels.join('.')
        expect(parseHostName(name)).toBe(name)
        expect(parseHostName(`${name.toUpperCase()}.`)).toBe(name)
      }),
    )
  })

  test('is read from the octets of a header', () => {
    // What an HTTP server hands over for the UTF-8 of "bücher.example".
    const asLatin1 = Buffer.from('bücher.example').toString('latin1')
    expect(asLatin1).toBe('bÃ¼cher.example')
    expect(parseHostName(decodeHeaderText(asLatin1))).toBe('xn--bcher-kva.example')
    expect(parseHostName(decodeHeaderText(Buffer.from('bücher.example', 'latin1').toString('latin1')))).toBe(
      'xn--bcher-kva.example',
    )
  })
})

describe('a reverse name', () => {
  test.each([
    ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
    ['255.255.255.255', '255.255.255.255.in-addr.arpa'],
    // The example of RFC 3596 section 2.5.
    ['4321:0:1:2:3:4:567:89ab', 'b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa'],
    ['::1', `1.${'0.'.repeat(31)}ip6.arpa`],
    ['::ffff:192.0.2.1', `1.0.2.0.0.0.0.c.f.f.f.f.${'0.'.repeat(20)}ip6.arpa`],
  ])('of %s is %s', (ip, name) => {
    expect(reverseName(parseIpAddress(ip)!)).toBe(name)
    expect(parseHostName(name)).toBe(name)
  })
})
