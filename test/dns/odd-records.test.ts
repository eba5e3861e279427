import { describe, expect, test } from 'vitest'
import { encodeQuery } from '../../src/dns/wire/encoded-query.ts'
import { readSections } from '../../src/dns/wire/reply.ts'
import { readFakeDnsQuery } from '../../src/testing/dns-query.ts'
import { rawRecord, rawReply } from './support/messages.ts'

describe('one odd CAA record does not hide the others of its set', () => {
  const caa = (tag: Buffer, value: Buffer): Buffer => Buffer.concat([Buffer.of(0, tag.length), tag, value])
  test.each<[string, Buffer, object]>([
    [
      'the owner swapped tag and value',
      caa(Buffer.from('ca.example'), Buffer.from('issue')),
      { tag: 'ca.example', value: 'issue' },
    ],
    ['the tag has a space', caa(Buffer.from('iss ue'), Buffer.from('ca')), { tag: 'iss ue', value: 'ca' }],
    ['the tag is empty', caa(Buffer.alloc(0), Buffer.from('ca')), { tag: '', value: 'ca' }],
    ['the tag is no UTF-8', caa(Buffer.of(0x61, 0xff), Buffer.from('ca')), { tag: 'a\\255', value: 'ca' }],
    ['the tag is in capitals', caa(Buffer.from('ISSUE'), Buffer.from('CA')), { tag: 'issue', value: 'CA' }],
    [
      'the odd tag is in capitals',
      caa(Buffer.from('Issue-X'), Buffer.from('CA')),
      { tag: 'Issue-X', value: 'CA' },
    ],
    [
      'the value is no UTF-8',
      caa(Buffer.from('issue'), Buffer.of(0x61, 0xff)),
      { tag: 'issue', value: 'a\\255', base64: 'Yf8=' },
    ],
    ['there is no value', caa(Buffer.from('issue'), Buffer.alloc(0)), { tag: 'issue', value: '' }],
  ])('when %s', (_, data, fields) => {
    const query = encodeQuery('example.com', 'CAA')
    const asked = readFakeDnsQuery(query.message, 'udp', 0, {})!
    const right = caa(Buffer.from('issue'), Buffer.from('ca.example'))
    const message = rawReply(asked, {
      answers: [right, data].map((each) => rawRecord({ type: 257, data: each })),
    })
    const { records } = readSections(message, query)
    const record = { type: 'CAA', host: 'example.com', ttl: 60, flags: 0 }
    expect(records).toEqual([
      { ...record, tag: 'issue', value: 'ca.example' },
      { ...record, ...fields },
    ])
  })
})
