import type { DnsRecord } from '../../../src/domain/dns-record.ts'
import { fakeDnsServer, type FakeDnsServer } from '../../../src/testing/dns-server.ts'
import { encodeAnswer, type Answer, type ChangingZone } from './changing-zone.ts'

interface Entry {
  readonly answer: Answer
  readonly fetchedAt: number
  readonly lifetimeMs: number
}

/** A cache of our own, which keeps to RFC 1035 and RFC 2308 to the millisecond, and rounds TTLs as told. */
export function startOwnCache(
  zone: ChangingZone,
  name: string,
  { round, delayMs = 0 }: { round(seconds: number): number; delayMs?: number },
): Promise<FakeDnsServer> {
  const entries = new Map<string, Entry>()
  return fakeDnsServer({
    delayMs,
    reply(query) {
      const key = `${query.name} ${query.type}`
      const kept = entries.get(key)
      const age = kept === undefined ? 0 : performance.now() - kept.fetchedAt
      const isFresh = kept !== undefined && age < kept.lifetimeMs
      const answer = isFresh ? kept.answer : zone.look(name, query)
      const fetchedAt = isFresh ? kept.fetchedAt : performance.now()
      if (!isFresh) entries.set(key, { answer, fetchedAt, lifetimeMs: lifetimeOf(answer, query.type) * 1000 })
      const seconds = isFresh ? age / 1000 : 0
      const left = (ttl: number): number => Math.max(0, round(ttl - seconds))
      const records = answer.records.map((record): DnsRecord => ({ ...record, ttl: left(record.ttl) }))
      const { soaTtl = 0, minimum = 0 } = answer.apex ?? {}
      return encodeAnswer(query, { ...answer, records }, left(Math.min(soaTtl, minimum)))
    },
  })
}

function lifetimeOf({ records, apex }: Answer, type: string | null): number {
  const ttls = records.map(({ ttl }) => ttl)
  const isNo = !records.some((record) => record.type === type)
  return Math.min(...ttls, ...(isNo && apex !== undefined ? [apex.soaTtl, apex.minimum] : []))
}
