import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeQuery } from '../../src/dns/wire/encoded-query.ts'
import { NameReader } from '../../src/dns/wire/name.ts'
import { parseDnsName } from '../../src/domain/dns-name.ts'

const long = 'x'.repeat(63)

describe('a name', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['.', '.'],
    ['*.example.com', '*.example.com'],
    ['-x.example.com', '-x.example.com'],
    ['x-.example.com', 'x-.example.com'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
    ['127.1', '127.1'],
    ['a\\.b.example.com', 'a\\.b.example.com'],
    ['a\\046b.example.com', 'a\\.b.example.com'],
    ['a\\\\.example.com', 'a\\\\.example.com'],
    ['a\\092.example.com', 'a\\\\.example.com'],
    ['\\097\\066.example.com', 'ab.example.com'],
    ['a\\032b\\000\\255.example.com', 'a\\032b\\000\\255.example.com'],
    ['a\\ b.example.com', 'a\\032b.example.com'],
    ['\\192.example.com', '\\192.example.com'],
    ['@:;"$.example.com', '\\@:;"$.example.com'],
    ['a\\064b.example.com', 'a\\@b.example.com'],
    ['xn--zz.example', 'xn--zz.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['*.Bücher.example', '*.xn--bcher-kva.example'],
    ['_dmarc.bücher.example', '_dmarc.xn--bcher-kva.example'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['faß.de', 'xn--fa-hia.de'],
    ['💩.la', 'xn--ls8h.la'],
    ['❤️.example', 'xn--qei.example'],
    ['１２７.0.0.1', '127.0.0.1'],
    [`${long}.${long}.${long}.${'x'.repeat(61)}`, `${long}.${long}.${long}.${'x'.repeat(61)}`],
    ['\\255'.repeat(63), '\\255'.repeat(63)],
  ])('%s is %s', (text, name) => {
    expect(parseDnsName(text)).toBe(name)
    expect(parseDnsName(name)).toBe(name)
  })

  test.each([
    '',
    '..',
    '.a',
    'a..b',
    'a..',
    'a b',
    'a\tb',
    'a\\',
    'a\\25',
    'a\\256',
    'a\\1b',
    'a\\ü',
    'a\\.ü',
    'a/ü',
    '℀.example',
    '㏂.example',
    'ex\u00adample.com',
    'exa\u200bmple.com',
    '\ufeffexample.com',
    'a\u0000b',
    `x${long}`,
    `${long}.${long}.${long}.${'x'.repeat(62)}`,
    '\\255'.repeat(64),
    'ü'.repeat(2000),
    '.'.repeat(5000),
  ])('%j is none', (text) => {
    expect(parseDnsName(text)).toBeNull()
  })

  test('of any octets is shown in a way that asks for the same octets again', () => {
    const label = fc.uint8Array({ minLength: 1, maxLength: 63 }).map((octets) => Buffer.from(octets))
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
        const wire = Buffer.concat([
          ...labels.flatMap((octets) => [Buffer.of(octets.length), octets]),
          Buffer.of(0),
        ])
        const shown = new NameReader(Buffer.concat([Buffer.alloc(12), wire])).read(12)
        const { message, questionEnd, name } = encodeQuery(shown, 'A')
        const lower = wire.map((octet) => (octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet))
        // The lengths are below the capitals.
        expect(message.subarray(12, questionEnd - 4)).toEqual(Buffer.from(lower))
        expect(name).toBe(parseDnsName(shown))
        expect(new NameReader(message).read(12)).toBe(name)
      }),
      { numRuns: 1000 },
    )
  })

  test('of any text is canonical, or none', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), (text) => {
        const name = parseDnsName(text)
        if (name === null) return
        expect(name).toMatch(/^[!-@[-~]+$/)
        expect(parseDnsName(name)).toBe(name)
        expect(parseDnsName(`${name === '.' ? '' : name}.`)).toBe(name)
      }),
      { numRuns: 2000 },
    )
  })
})
