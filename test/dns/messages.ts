import type { DnsRecord } from '../../src/domain/dns-check.ts'
import { encodeName, words } from '../../src/testing/dns-encoding.ts'
import type { FakeDnsQuery } from '../../src/testing/dns-server.ts'

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

/** 64 KB of names that are pointers to pointers: every record makes a naive reader walk the whole chain. */
export function pointerBomb(query: FakeDnsQuery, type = 1): Buffer {
  const chainLength = 8000
  const start = 12 + encodeName(query.name).length + 4 + 11
  // One record of an unknown type holds the chain, each link pointing to the one before.
  const links = Array.from({ length: chainLength }, (_, index) =>
    words(0xc000 | (index === 0 ? 12 : start + 2 * (index - 1))),
  )
  const holder = rawRecord({ owner: Buffer.of(0), type: 65_280, data: Buffer.concat(links) })
  const lastLink = Math.min(start + 2 * (chainLength - 1), 0x3fff)
  const records = Array.from({ length: 3000 }, (_, index) =>
    rawRecord({ owner: words(0xc000 | (lastLink - 2 * index)), type, data: Buffer.of(192, 0, 2, 1) }),
  )
  return rawReply(query, { answers: [holder, ...records] })
}
