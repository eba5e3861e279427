import type { DnsRecord } from '../../../src/domain/dns-record.ts'
import { encodeName, words } from '../../../src/testing/dns-encoding.ts'
import type { FakeDnsQuery } from '../../../src/testing/dns-server.ts'

/** The record that the zone of most tests holds. */
export const rightRecord: DnsRecord = { type: 'A', host: 'example.com', ttl: 60, ip: '192.0.2.1' }

export const pointerToQuestion: Buffer = words(0xc00c)

/** A record from its parts, each as it shall stand on the wire. */
export function rawRecord(parts: {
  owner?: Buffer
  type?: number
  class?: number
  ttl?: number
  length?: number
  data: Buffer
}): Buffer {
  const {
    owner = pointerToQuestion,
    type = 1,
    class: klass = 1,
    ttl = 60,
    data,
    length = data.length,
  } = parts
  return Buffer.concat([owner, words(type, klass, ttl >>> 16, ttl & 0xffff, length), data])
}

/** A reply whose sections are given as they shall stand on the wire. */
export function rawReply(
  query: FakeDnsQuery,
  sections: {
    answers?: Buffer[]
    authorities?: Buffer[]
    additionals?: Buffer[]
    flags?: number
    counts?: number[]
  },
): Buffer {
  const { answers = [], authorities = [], additionals = [], flags = 0x8180 } = sections
  const counts = sections.counts ?? [1, answers.length, authorities.length, additionals.length]
  const question = query.message.subarray(12, 12 + encodeName(query.name).length + 4)
  return Buffer.concat([
    words(query.id, flags, ...counts),
    question,
    ...answers,
    ...authorities,
    ...additionals,
  ])
}

/** A copy of a message with some octets replaced. */
export function patched(message: Uint8Array, octets: Record<number, number>): Buffer {
  const copy = Buffer.from(message)
  for (const [at, octet] of Object.entries(octets)) copy[Number(at)] = octet
  return copy
}

/** Pointers to pointers, and records whose owners enter the chain at different places. */
export function pointerChain(query: FakeDnsQuery, links: number, records: number): Buffer {
  const start = holderDataStart(query)
  const chain = Array.from({ length: links }, (_, index) =>
    words(0xc000 | (index === 0 ? 12 : start + 2 * (index - 1))),
  )
  const holder = rawRecord({ owner: Buffer.of(0), type: 65_280, data: Buffer.concat(chain) })
  const owners = Array.from({ length: records }, (_, index) =>
    rawRecord({ owner: words(0xc000 | (start + 2 * (links - 1 - index))), data: Buffer.of(192, 0, 2, 1) }),
  )
  return rawReply(query, { answers: [holder, ...owners] })
}

/** Names of 126 labels, and records that point to every one of those labels: with the longest names last. */
export function labelLattice(query: FakeDnsQuery): Buffer {
  const labels = 126
  const name = Buffer.concat([...Array<Buffer>(labels).fill(Buffer.from('\x01a')), Buffer.of(0)])
  const names = Array<Buffer>(60).fill(name)
  const start = holderDataStart(query)
  const holder = rawRecord({ owner: Buffer.of(0), type: 65_280, data: Buffer.concat(names) })
  const owners = Array.from({ length: 3000 }, (_, index) => {
    const target = start + name.length * (index % names.length) + 2 * (50 - Math.floor(index / names.length))
    return rawRecord({ owner: words(0xc000 | target), data: Buffer.of(192, 0, 2, 1) })
  })
  return rawReply(query, { answers: [holder, ...owners] })
}

/** Where the data of a first record begins whose owner is the root. */
function holderDataStart(query: FakeDnsQuery): number {
  return 12 + encodeName(query.name).length + 4 + 11
}
