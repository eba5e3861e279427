import dnsPacket from 'dns-packet'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatError, ReadingBudget } from '../../src/dns/wire/budget.ts'
import { NameReader } from '../../src/dns/wire/name.ts'
import { encodeQuery, withoutEdns } from '../../src/dns/wire/encoded-query.ts'
import { readReply, type ParsedReply } from '../../src/dns/wire/reply.ts'
import { recordTypes, type DnsRecord } from '../../src/domain/dns-record.ts'
import { encodeDnsReply, encodeName } from '../../src/testing/dns-encoding.ts'
import { name, recordOf, referenceKeyTag } from './support/arbitrary-records.ts'

function replyWith(answers: readonly DnsRecord[], query: ReturnType<typeof encodeQuery>): Buffer {
  const question = query.message.subarray(12, query.questionEnd)
  return encodeDnsReply({ id: 0, flags: 0x8180, question, answers })
}

describe('records are decoded as they were encoded', () => {
  test.each(recordTypes)('%s', (type) => {
    const query = encodeQuery('example.com', type)
    fc.assert(
      fc.property(fc.array(recordOf(type, 'example.com'), { minLength: 1, maxLength: 4 }), (records) => {
        const reply = readReply(replyWith(records, query), query) as ParsedReply
        const unique = records.filter(
          (record, index) =>
            records.findIndex(
              (other) => JSON.stringify({ ...other, ttl: 0 }) === JSON.stringify({ ...record, ttl: 0 }),
            ) === index,
        )
        expect(reply.records).toEqual(unique)
      }),
      { numRuns: 300 },
    )
  })

  test('names of any octets', () => {
    fc.assert(
      fc.property(name, name, (first, second) => {
        const octets = Buffer.concat([Buffer.alloc(12), encodeName(first), encodeName(second)])
        const names = new NameReader(octets)
        expect(names.read(12)).toBe(first)
        expect(names.read(names.offset)).toBe(second)
        expect(names.offset).toBe(octets.length)
      }),
    )
  })

  test('names of up to 255 octets, with a pointer or without', () => {
    const nameOf = (octets: number) =>
      encodeName([63, 63, 63, octets - 194].map((length) => 'x'.repeat(length)).join('.'))
    const whole = (octets: number) => Buffer.concat([Buffer.alloc(12), nameOf(octets)])
    const pointed = (octets: number) => Buffer.concat([whole(octets - 2), Buffer.of(1, 0x61, 0xc0, 12)])
    expect(new NameReader(whole(255)).read(12)).toHaveLength(253)
    expect(new NameReader(pointed(255)).read(12 + 253)).toHaveLength(253)
    expect(() => new NameReader(whole(256)).read(12)).toThrow(formatError)
    expect(() => new NameReader(pointed(256)).read(12 + 254)).toThrow(formatError)
  })

  test('names behind pointers at every label', () => {
    const labels = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(labels, fc.stringMatching(/^[a-z]{1,9}$/), (list, label) => {
        const whole = encodeName(list.join('.'))
        let at = 12
        for (let index = 0; index <= list.length; index += 1) {
          const start = 12 + whole.length
          const pointed = Buffer.concat([
            Buffer.alloc(12),
            whole,
            Buffer.of(label.length),
            Buffer.from(label),
            Buffer.of(0xc0, at),
          ])
          const budget = new ReadingBudget()
          const names = new NameReader(pointed, budget)
          const expected = [label, ...list.slice(index)].join('.')
          expect(names.read(start)).toBe(expected)
          expect(names.offset).toBe(pointed.length)
          // The second time it is known.
          const steps = budget.steps
          expect(names.read(start)).toBe(expected)
          expect(budget.steps - steps).toBe(2)
          at += 1 + (list[index]?.length ?? 0)
        }
      }),
    )
  })
})

describe('a query', () => {
  test('without EDNS ends after its question and announces no other record', () => {
    const { message, questionEnd } = withoutEdns(
      encodeQuery('example.com', 'A', { clientSubnet: '192.0.2.0/24' }),
    )
    expect(message).toHaveLength(questionEnd)
    const decoded = dnsPacket.decode(message)
    expect(decoded).toMatchObject({ questions: [{ name: 'example.com', type: 'A' }], additionals: [] })
    expect(message.readUInt16BE(10)).toBe(0)
  })

  test.each(recordTypes)('for %s is what dns-packet reads back', (type) => {
    const { message, questionEnd } = encodeQuery('_a.Example.com', type, { clientSubnet: '192.0.2.77/25' })
    const decoded = dnsPacket.decode(message)
    expect(decoded).toMatchObject({
      type: 'query',
      flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
      questions: [{ name: '_a.example.com', type, class: 'IN' }],
      additionals: [{ type: 'OPT', udpPayloadSize: 1232, ednsVersion: 0, flags: 0 }],
    })
    const [opt] = decoded.additionals as unknown as { options: unknown[] }[]
    expect(opt?.options).toMatchObject([
      { code: 8, family: 1, sourcePrefixLength: 25, scopePrefixLength: 0, ip: '192.0.2.0' },
    ])
    expect(message.subarray(0, 2)).toEqual(Buffer.alloc(2))
    expect(questionEnd).toBe(12 + 16 + 4)
  })

  test('for any name, with and without a client subnet, is octet for octet what dns-packet makes of it', () => {
    const label = fc.stringMatching(/^[!-\-/-@[\]-~]{1,63}$/)
    const names = fc.array(label, { minLength: 1, maxLength: 127 }).map((labels) => labels.join('.'))
    fc.assert(
      fc.property(
        names.filter((asked) => asked.length <= 253),
        fc.constantFrom(...recordTypes),
        fc.boolean(),
        (asked, type, withSubnet) => {
          const subnet = { code: 8, family: 1, ip: '192.0.2.0', sourcePrefixLength: 24, scopePrefixLength: 0 }
          const options = withSubnet ? [subnet] : []
          const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options }
          const whole = dnsPacket.encode({
            type: 'query',
            flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
            questions: [{ type, name: asked, class: 'IN' }],
            additionals: [opt as dnsPacket.OptAnswer],
          })
          const query = encodeQuery(asked, type, withSubnet ? { clientSubnet: '192.0.2.0/24' } : {})
          expect(query.message.toString('hex')).toBe(whole.toString('hex'))
          // An answer's owners are compared with it.
          expect(query.name).toBe(asked.replaceAll('@', String.raw`\@`))
        },
      ),
    )
  })

  test.each([
    ['192.0.2.255/24', '0008000700011800c00002'],
    ['192.0.2.255/31', '0008000800011f00c00002fe'],
    ['0.0.0.0/0', '0008000400010000'],
    ['2001:db8:ffff:ffff::1/49', '0008000b0002310020010db8ffff80'],
  ])('for the network %s', (network, option) => {
    const { message } = encodeQuery('.', 'NS', { clientSubnet: network })
    expect(message.subarray(12 + 5 + 11).toString('hex')).toBe(option)
  })

  test.each([
    '192.0.2.0',
    '192.0.2.0/33',
    '192.0.2.0/-1',
    '192.0.2.0/',
    'x/8',
    '::1/129',
    '192.0.2.0/ 8',
    '',
  ])('for the network "%s" is none', (network) => {
    expect(() => encodeQuery('example.com', 'A', { clientSubnet: network })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
  })

  test.each([
    'x'.repeat(64) + '.com',
    'com.' + 'x'.repeat(64),
    'x'.repeat(192) + '.com',
    Array(43).fill('x'.repeat(5)).join('.'),
    'a..b',
    '.a',
    'a..',
    '..',
    'a b.example',
    'a\\256.example',
    'a\0b',
    'a\n.example',
  ])('for the name "%s" is none', (invalid) => {
    expect(() => encodeQuery(invalid, 'A')).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })

  test.each([
    ['bücher.example', 'xn--bcher-kva.example'],
    // Its letters end in the octets of ASCII ones.
    ['Łńł.example', 'xn--tfaaf.example'],
    // The sign for kelvin.
    ['\u212a.example', 'k.example'],
    ['a\\.B.example', 'a\\.b.example'],
    ['a\\000.example.', 'a\\000.example'],
  ])('for the name "%s" asks for %s', (text, asked) => {
    const query = encodeQuery(text, 'A')
    expect(query.name).toBe(asked)
    expect(new NameReader(query.message).read(12)).toBe(asked)
  })

  test.each(['ANY', 'AXFR', 'OPT', '__proto__', 'toString', 'a', ''])('for the type "%s" is none', (type) => {
    expect(() => encodeQuery('example.com', type as 'A')).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
  })

  test.each([
    ['.', 17],
    ['', 17],
    ['com', 21],
    [Array(127).fill('x').join('.'), 12 + 255 + 4],
    ['x'.repeat(63) + '.' + 'y'.repeat(63), 12 + 129 + 4],
    ['0/26.2.0.192.in-addr.arpa', 12 + 27 + 4],
  ])('for "%s" has its question where it should', (asked, questionEnd) => {
    const query = encodeQuery(asked, 'NS')
    expect(query.questionEnd).toBe(questionEnd)
    expect(dnsPacket.decode(query.message).questions?.[0]?.name).toBe(asked === '' ? '.' : asked)
  })
})

test('the tag of a CAA record comes in small letters', () => {
  const query = encodeQuery('example.com', 'CAA')
  const record = { type: 'CAA', host: 'example.com', ttl: 60, flags: 0, value: 'ca.test' } as const
  const reply = readReply(replyWith([{ ...record, tag: 'IssueWild0' }], query), query) as ParsedReply
  expect(reply.records).toEqual([{ ...record, tag: 'issuewild0' }])
})

// The example of RFC 4034 section 5.4.
test('a key tag is the one that its DS record has', () => {
  const key =
    'AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw=='
  const data = Buffer.concat([Buffer.of(1, 0, 3, 5), Buffer.from(key, 'base64')])
  expect(referenceKeyTag(data)).toBe(60485)
  const query = encodeQuery('dskey.example.com', 'DNSKEY')
  const record: DnsRecord = {
    type: 'DNSKEY',
    host: 'dskey.example.com',
    ttl: 86_400,
    flags: 256,
    protocol: 3,
    algorithm: 5,
    public_key: key,
    key_tag: 60_485,
  }
  expect((readReply(replyWith([record], query), query) as ParsedReply).records).toEqual([record])
})
