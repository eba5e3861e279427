import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { recordTypes, type DnsRecord, type RecordType } from '../../src/domain/dns-answer.ts'
import {
  contentOfPresentation,
  contentOfRecord,
  presentationExamples,
} from '../../src/domain/dns-record-content.ts'
import { recordOf } from '../dns/support/arbitrary-records.ts'

const quote = (octets: Buffer): string =>
  `"${octets.toString('latin1').replace(/[^ -~]|["\\]/g, (each) => `\\${String(each.charCodeAt(0)).padStart(3, '0')}`)}"`

/** A record as a zone file has it. */
function presentationOf(record: DnsRecord): string {
  const { type, host: _host, ttl: _ttl, ...rest } = record
  if (record.type === 'TXT') {
    const strings =
      record.base64?.map((each) => Buffer.from(each, 'base64')) ??
      record.entries.map((each) => Buffer.from(each))
    return strings.map(quote).join(' ')
  }
  if (record.type === 'CAA') return `${record.flags} ${record.tag} ${quote(Buffer.from(record.value))}`
  if (record.type === 'AAAA') return record.ip
  if (record.type === 'DNSKEY')
    return [record.flags, record.protocol, record.algorithm, record.public_key].join(' ')
  return type === 'A' ? record.ip : Object.values(rest).join(' ')
}

test.each(recordTypes)('%s: a record and its presentation form have the same content', (type) => {
  fc.assert(
    fc.property(recordOf(type, 'example.com'), (record) => {
      expect(contentOfPresentation(type, presentationOf(record))).toBe(contentOfRecord(record))
    }),
    { numRuns: 300 },
  )
  expect(contentOfPresentation(type, presentationExamples[type])).not.toBeNull()
})

test.each<[RecordType, string, string]>([
  ['AAAA', '2001:DB8:0:0::1', '2001:db8::1'],
  ['MX', '10 Mail.Example.', '10   mail.example'],
  ['NS', 'a\\046b.example', 'a\\.b.example'],
  ['NS', 'bücher.example', 'xn--bcher-kva.example'],
  ['TXT', 'v=spf1 -all', '"v=spf1" " -all"'],
  ['TXT', '"\\"\\\\\\195\\188"', '"\\"\\\\ü"'],
  ['CAA', '0 ISSUE ca.example', '0 issue "ca.example"'],
  ['DS', '1 8 2 abcd EF01', '1 8 2 ABCDEF01'],
  ['DNSKEY', '257 3 13 AAEC AwQF', '257 3 13 AAECAwQF'],
])('%s: %s means %s', (type, one, other) => {
  const content = contentOfPresentation(type, one)
  expect(content).not.toBeNull()
  expect(contentOfPresentation(type, other)).toBe(content)
})

describe('a text that is no record of its type', () => {
  test.each<[RecordType, string]>([
    ['A', ''],
    ['A', '2001:db8::1'],
    ['A', '192.0.2.1 192.0.2.2'],
    ['AAAA', '192.0.2.1'],
    ['MX', 'mail.example'],
    ['MX', '10'],
    ['MX', '65536 mail.example'],
    ['MX', '10 mail example'],
    ['NS', 'a b'],
    ['NS', ''],
    ['SOA', 'ns host 1 2 3 4'],
    ['SOA', 'ns host 1 2 3 4 5 6'],
    ['SOA', 'ns host 1 2 3 4 4294967296'],
    ['SRV', '1 2 sip.example'],
    ['TXT', '"a" b'],
    ['TXT', '"a'],
    ['TXT', '"\\256"'],
    ['CAA', '0 issue'],
    ['CAA', '256 issue "x"'],
    ['DS', '1 8 2 ABC'],
    ['DS', '1 8 2'],
    ['DNSKEY', '257 3 13'],
    ['DNSKEY', '257 3 13 ?'],
  ])('%s %j', (type, text) => {
    expect(contentOfPresentation(type, text)).toBeNull()
  })
})
