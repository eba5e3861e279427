// Replies that are small on the wire and large once they are read.
import { typeNumbers } from '../../../src/dns/wire/constants.ts'
import type { RecordType } from '../../../src/domain/dns-record.ts'
import { words } from '../../../src/testing/dns-encoding.ts'
import type { FakeDnsQuery } from '../../../src/testing/dns-server.ts'
import { rawRecord, rawReply } from './messages.ts'

/** The name with the longest text: 255 octets, nearly all of them written as four characters. */
const longestName: Buffer = Buffer.concat([
  ...[63, 63, 63, 61].map((length) => Buffer.concat([Buffer.of(length), Buffer.alloc(length, 0xff)])),
  Buffer.of(0),
])

/** One TXT record of octets that are no UTF-8, as long as a message allows or as told. */
export function txtOfOctets(query: FakeDnsQuery, strings = 250): Buffer {
  const string = Buffer.concat([Buffer.of(255), Buffer.alloc(255, 0xff)])
  const data = Buffer.concat(Array<Buffer>(strings).fill(string))
  return rawReply(query, { answers: [rawRecord({ type: typeNumbers.TXT, data })] })
}

/** Data of a type in which every name is a pointer, so that it is as short as can be. */
function dataOfPointers(type: RecordType, pointer: Buffer): Buffer {
  const address = { A: 4, AAAA: 16 } as Partial<Record<RecordType, number>>
  switch (type) {
    case 'NS':
    case 'PTR':
    case 'CNAME':
      return pointer
    case 'MX':
      return Buffer.concat([words(0xffff), pointer])
    case 'SRV':
      return Buffer.concat([words(0xffff, 0xffff, 0xffff), pointer])
    case 'SOA':
      return Buffer.concat([pointer, pointer, Buffer.alloc(20, 0xff)])
    case 'TXT':
      return Buffer.of(1, 0xff)
    case 'CAA':
      return Buffer.of(255, 1, 0x61, 0xff)
    case 'DS':
    case 'DNSKEY':
      return Buffer.alloc(5, 0xff)
    default:
      return Buffer.alloc(address[type] ?? 0, 0xff)
  }
}

/** An alias to the longest name, and records that are owned by it and point to it: as many as fit. */
export function recordsOfPointers(query: FakeDnsQuery, type: RecordType, maxLength: number): Buffer {
  const alias = rawRecord({ type: typeNumbers.CNAME, data: longestName })
  const start = rawReply(query, { answers: [alias] }).length - longestName.length
  const pointer = words(0xc000 | start)
  const record = rawRecord({
    owner: pointer,
    type: typeNumbers[type],
    ttl: 0x7fff_ffff,
    data: dataOfPointers(type, pointer),
  })
  const count = Math.floor((maxLength - start - longestName.length) / record.length)
  return rawReply(query, { answers: [alias, ...Array<Buffer>(count).fill(record)] })
}

/** Aliases of other names, each of them a text of its own. */
export function aliasesOfPointers(query: FakeDnsQuery): Buffer {
  const holder = rawRecord({ owner: Buffer.of(0), type: 65_280, data: longestName.subarray(64) })
  const start = rawReply(query, { answers: [holder] }).length - longestName.length + 64
  const aliases = Array.from({ length: 3000 }, (_, index) => {
    const owner = Buffer.concat([Buffer.of(2), words(index), words(0xc000 | start)])
    return rawRecord({ owner, type: typeNumbers.CNAME, data: words(0xc000 | start) })
  })
  return rawReply(query, { answers: [holder, ...aliases] })
}
