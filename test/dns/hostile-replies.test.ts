import { describe, expect, test } from 'vitest'
import { formatError, maxSteps, ReadingBudget } from '../../src/dns/wire/budget.ts'
import { typeNumbers } from '../../src/dns/wire/constants.ts'
import { encodeQuery } from '../../src/dns/wire/encoded-query.ts'
import { readReply, readSections } from '../../src/dns/wire/reply.ts'
import type { RecordType } from '../../src/domain/dns-record.ts'
import { encodeName } from '../../src/testing/dns-encoding.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { labelLattice, pointerChain, rawRecord, rawReply } from './support/messages.ts'

const name = '016100'

/** Data that breaks the format of its type, in hexadecimal. */
const brokenData: readonly (readonly [RecordType, string, string])[] = [
  ['A', '3 octets', 'c00002'],
  ['A', '5 octets', 'c000020100'],
  ['AAAA', '4 octets', 'c0000201'],
  ['AAAA', '17 octets', '20010db8000000000000000000000000ff'],
  ['MX', 'no target', '000a'],
  ['MX', 'octets behind the target', `000a${name}00`],
  ['MX', 'a target that passes the end', '000a0561'],
  ['NS', 'nothing', ''],
  ['PTR', 'a pointer cut in half', 'c0'],
  ['CNAME', 'two names', `${name}${name}`],
  ['SOA', 'four numbers', `${name}${name}${'00000001'.repeat(4)}`],
  ['SOA', 'six numbers', `${name}${name}${'00000001'.repeat(6)}`],
  ['SOA', 'one name', `${name}${'00000001'.repeat(5)}`],
  ['TXT', 'nothing', ''],
  ['TXT', 'a string that passes the end', '0361'],
  ['TXT', 'a second string that passes the end', '01610261'],
  ['SRV', 'no target', '000100020003'],
  ['SRV', 'octets behind the target', `000100020003${name}00`],
  ['CAA', 'one octet', '00'],
  ['CAA', 'a tag that passes the end', '00056973737565'.slice(0, -2)],
  ['DS', 'no digest', '00010d02'],
  ['DNSKEY', 'no key', '0101030d'],
]

test.each(brokenData)('%s data with %s is malformed', (type, _what, hex) => {
  const query = encodeQuery('example.com', type)
  const asked = readFakeDnsQuery(query.message, 'udp', 0, {})!
  const record = rawRecord({ type: typeNumbers[type], data: Buffer.from(hex, 'hex') })
  // More octets follow, letters and digits, so that reading on would find some.
  const message = rawReply(asked, {
    answers: [record],
    authorities: [rawRecord({ owner: encodeName('a'.repeat(0x30)), data: Buffer.alloc(40, 0x61) })],
  })
  expect(readReply(message, query)).toBe('malformed')
  expect(() => readSections(message, query)).toThrow(formatError)
})

test.each([
  ['az.test', 'AZ.test', true],
  // These differ in the bit that tells capitals from small letters, but are no letters.
  ['`.test', '@.test', false],
  ['{.test', '[.test', false],
])('the question for %s comes back as %s: %s', (asked, echoed, same) => {
  const query = encodeQuery(asked, 'A')
  const message = rawReply(readFakeDnsQuery(query.message, 'udp', 0, {})!, {})
  message.set(encodeName(echoed), 12)
  expect(readReply(message, query) !== 'unrelated').toBe(same)
})

describe('replies made to be slow', () => {
  const query = encodeQuery('example.com', 'A')
  const asked = readFakeDnsQuery(query.message, 'udp', 0, {})!

  test('cost no more labels and pointers than the budget', () => {
    const message = labelLattice(asked)
    expect(message.length).toBeLessThan(65_536)
    const budget = new ReadingBudget()
    expect(() => readSections(message, query, budget)).toThrow(formatError)
    expect(budget.steps).toBe(maxSteps + 1)
  })

  test('pay for each option', () => {
    const empty = Buffer.alloc(4 * 16_000)
    const opt = rawRecord({ owner: Buffer.of(0), type: 41, class: 1232, ttl: 0, data: empty })
    const budget = new ReadingBudget()
    readSections(rawReply(asked, { additionals: [opt] }), query, budget)
    expect(budget.steps).toBe(1 + 16_000)
  })

  test('may have 127 pointers in a row, and no more', () => {
    const read = (links: number) => readSections(pointerChain(asked, links, 1), query)
    expect(read(126).records).toHaveLength(1)
    expect(() => read(127)).toThrow(formatError)
  })

  test('pay once for what many names share', () => {
    const message = pointerChain(asked, 126, 126)
    const budget = new ReadingBudget()
    expect(readSections(message, query, budget).records).toHaveLength(1)
    // 127 records, 126 links and the two labels and the end of the name, then one step for each further owner.
    expect(budget.steps).toBe(127 + 1 + 126 + 3 + 125)
  })
})
