import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { recordTypes, type DnsRecord, type RecordType } from '../../src/domain/dns-record.ts'
import {
  contentOfPresentation,
  contentOfRecord,
  presentationExamples,
  recordText,
} from '../../src/domain/dns-record-content.ts'
import { printable } from '../../adapters/cli/terminal/terminal-text.ts'
import { recordOf } from '../dns/support/arbitrary-records.ts'

/** Of each type. */
const numRuns = Number(process.env['DNS_RECORDS'] ?? 300)

test.each(recordTypes)(
  '%s: what recordText writes is read back as the same content',
  { timeout: 600_000 },
  (type) => {
    fc.assert(
      fc.property(recordOf(type, 'example.com'), (record) => {
        const text = recordText(record)
        expect(contentOfPresentation(type, text)).toBe(contentOfRecord(record))
        expect(printable(text)).toBe(text)
      }),
      { numRuns },
    )
    expect(contentOfPresentation(type, presentationExamples[type])).not.toBeNull()
  },
)

const of = { host: 'example.com', ttl: 60 }
const txt = (entries: readonly string[], base64?: readonly string[]): DnsRecord => ({
  ...of,
  type: 'TXT',
  txt: entries.join(''),
  entries,
  ...(base64 !== undefined && { base64 }),
})
const caa = (tag: string, value: string, base64?: string): DnsRecord => ({
  ...of,
  type: 'CAA',
  flags: 0,
  tag,
  value,
  ...(base64 !== undefined && { base64 }),
})
test.each<[string, DnsRecord]>([
  ['10 Mail.example.net', { ...of, type: 'MX', pri: 10, target: 'Mail.example.net' }],
  [
    '257 3 13 AAEC',
    { ...of, type: 'DNSKEY', flags: 257, protocol: 3, algorithm: 13, public_key: 'AAEC', key_tag: 7 },
  ],
  ['2001:db8::1', { ...of, type: 'AAAA', ip: '2001:db8::1', ipv6: '2001:db8::1' }],
  ['"v=spf1" " -all"', txt(['v=spf1', ' -all'])],
  ['"" "say \\"ü\\" \\\\ 👨\u200d👩"', txt(['', 'say "ü" \\ 👨\u200d👩'])],
  ['"\\027[2J\\226\\128\\174red"', txt(['\u001b[2J\u202ered'])],
  ['"\\255\\\\ a"', txt(['\\255\\\\ a'], ['/1wgYQ=='])],
  ['"\\195" "\\188"', txt(['\\195', '\\188'], ['ww==', 'vA=='])],
  ['0 issue "ca.example; a=b"', caa('issue', 'ca.example; a=b')],
  ['0 issue "\\255"', caa('issue', '\\255', '/w==')],
  // People put a space into the tag.
  ['0 is\\032sue "x"', caa('is sue', 'x')],
  ['0 a\\194\\160b\\227\\128\\128 "x"', caa('a\u00a0b\u3000', 'x')],
  ['0 "" "x"', caa('', 'x')],
  ['0 \\"\\" "x"', caa('""', 'x')],
])('%s is the text of a record, and its content', (text, record) => {
  expect(recordText(record)).toBe(text)
  expect(contentOfPresentation(record.type, text)).toBe(contentOfRecord(record))
})

test('where the tag of a CAA record ends counts', () => {
  expect(contentOfRecord(caa('a b', 'c'))).not.toBe(contentOfRecord(caa('a', 'b c')))
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
