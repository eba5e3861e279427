import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalIpAddress,
  formatIpAddress,
  isPublicAddress,
  parseIpAddress,
  reverseName,
} from '../../src/domain/ip-address.ts'
import { closedIpv4, disguisesOf, numberOf } from '../support/closed-addresses.ts'

// Which addresses are public is with the guard of the block-game lookup: test/blockgame/addresses.ts.

const ipv4 = fc.ipV4()
const ipv6 = fc.oneof(
  fc.ipV6(),
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((octets) => {
    const groups = Array.from({ length: 8 }, (_, index) =>
      ((octets[2 * index]! << 8) | octets[2 * index + 1]!).toString(16),
    )
    return groups.join(':')
  }),
)

describe('text and octets', () => {
  test('every address is formatted as the URL standard does', () => {
    fc.assert(
      fc.property(ipv6, (text) => {
        const canonical = canonicalIpAddress(text)!
        const url = new URL(`http://[${text}]`).hostname.slice(1, -1)
        // RFC 5952 section 5 writes mapped addresses with dots, the URL standard does not.
        if (!canonical.includes('.')) expect(canonical).toBe(url)
        expect(parseIpAddress(canonical)).toEqual(parseIpAddress(text))
        expect(canonicalIpAddress(canonical)).toBe(canonical)
      }),
      { numRuns: 1000 },
    )
    fc.assert(
      fc.property(ipv4, (text) => {
        expect(canonicalIpAddress(text)).toBe(new URL(`http://${text}`).hostname)
        expect([...parseIpAddress(text)!].join('.')).toBe(text)
      }),
    )
  })

  test('any octets are parsed as they were formatted', () => {
    const octets = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    )
    fc.assert(
      fc.property(octets, (bytes) => {
        const text = formatIpAddress(bytes)
        expect(parseIpAddress(text)).toEqual(bytes)
        expect(isIP(text)).toBe(bytes.length === 4 ? 4 : 6)
      }),
    )
  })

  test.for([
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8::0001', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:DB8::A', '2001:db8::a'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['::FFFF:192.0.2.1', '::ffff:192.0.2.1'],
    ['::ffff:c000:201', '::ffff:192.0.2.1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ] as const)('%s is written %s', ([text, canonical]) => {
    expect(canonicalIpAddress(text)).toBe(canonical)
  })

  test.for([
    '',
    '1',
    '127.1',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.256',
    '1.2.3.4 ',
    '::1%lo',
    '[::1]',
    ':',
    '1::2::3',
    'g::',
  ])('%j is none', (text) => {
    expect(parseIpAddress(text)).toBeNull()
    expect(canonicalIpAddress(text)).toBeNull()
    expect(isPublicAddress(text)).toBe(false)
  })
})

test('reverse names', () => {
  expect(reverseName(parseIpAddress('192.0.2.1')!)).toBe('1.2.0.192.in-addr.arpa')
  expect(reverseName(parseIpAddress('2001:db8::567:89ab')!)).toBe(
    'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
  )
})

const textOf = (value: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
const isClosed = (value: number): boolean =>
  closedIpv4.some(([ip, length]) => value >= numberOf(ip) && value < numberOf(ip) + 2 ** (32 - length))

/** The first and the last address of each range, one between, and those beside it. */
const table = closedIpv4.flatMap(([ip, length]) => {
  const [first, size] = [numberOf(ip), 2 ** (32 - length)]
  return [first - 1, first, first + Math.floor(size / 2), first + size - 1, first + size]
    .filter((value) => value >= 0 && value < 2 ** 32)
    .map((value) => [textOf(value), isClosed(value)] as const)
})

test.for(table)('%s is closed (%s), by NAT64 as well, and in disguise always', ([ip, isOut]) => {
  expect(isPublicAddress(ip)).toBe(!isOut)
  const hex = `64:ff9b::${canonicalIpAddress(`::1:${ip}`)!.split(':').slice(-2).join(':')}`
  expect([`64:ff9b::${ip}`, hex, `0064:FF9B:0:0:0:0:${ip}`].map(isPublicAddress)).toEqual([
    !isOut,
    !isOut,
    !isOut,
  ])
  expect(disguisesOf(ip).filter(isPublicAddress)).toEqual([])
})

test('an IPv4 address is as public through NAT64 as it is, and inside IPv6 in no other way', () => {
  fc.assert(
    fc.property(ipv4, (inner) => {
      expect(isPublicAddress(`64:ff9b::${inner}`)).toBe(isPublicAddress(inner))
      expect(disguisesOf(inner).filter(isPublicAddress)).toEqual([])
    }),
  )
})
