import { saysSomething } from '../domain/dns-answer.ts'
import type { DnsRecord } from '../domain/dns-record.ts'
import { contentOfRecord } from '../domain/dns-record-content.ts'
import type { DnsCheckResult } from './check-dns.ts'

/**
 * Locations whose answers say the same.
 *
 * @group DNS
 */
export interface DnsCheckGroup {
  /** Every record that at least one of them has, listed once with its longest TTL; empty if there are none. */
  readonly records: readonly DnsRecord[]
  /** Whether they were given different parts of one rotating set. */
  readonly rotates: boolean
  /** Their results, in the order of the check. */
  readonly results: readonly DnsCheckResult[]
  /**
   * Seconds, or parts of one, from the end of the check for which the longest-lived part of these answers may still be
   * kept: a record, an alias, or that there is no record; null if no answer says.
   */
  readonly longestTtlSeconds: number | null
}

/** The records of an answer by their content, without order and TTL. */
type Content = ReadonlyMap<string, DnsRecord>

/** A result that says something about the name. */
export interface Answer {
  readonly result: DnsCheckResult
  readonly content: Content
}

export function answersIn(results: readonly DnsCheckResult[]): Answer[] {
  const answered = results.filter(saysSomething)
  return answered.map((result) => {
    const content = new Map(result.dns_results.map((record) => [contentOfRecord(record), record]))
    return { result, content }
  })
}

/**
 * Joins the answers that share something, directly or through others, so that parts of one set are grouped in any order. The
 * largest group comes first.
 *
 * @param sharedIn - Returns what makes an answer the same as all others that have one of these texts, too.
 */
export function groupsOf(
  answers: readonly Answer[],
  sharedIn: (content: Content) => readonly string[],
  keptOf: Lifetime,
): DnsCheckGroup[] {
  /** Of each answer, an earlier one of its group: union-find with path halving. */
  const earlier = answers.map((_, at) => at)
  const firstOf = (at: number): number => {
    let first = at
    for (let next = earlier[first] as number; next !== first; next = earlier[first] as number)
      first = earlier[first] = earlier[next] as number
    return first
  }
  const firstWith = new Map<string, number>()
  for (const [at, { content }] of answers.entries()) {
    for (const text of sharedIn(content)) {
      const other = firstWith.get(text)
      if (other === undefined) firstWith.set(text, at)
      else {
        const [one, two] = [firstOf(other), firstOf(at)]
        earlier[Math.max(one, two)] = Math.min(one, two)
      }
    }
  }
  const groups = Map.groupBy(answers.keys(), firstOf)
  return [...groups.values()]
    .map((group) => group.map((at) => answers[at] as Answer))
    .toSorted((a, b) => b.length - a.length)
    .map((group) => groupOf(group, keptOf))
}

/** Answers with the same records. */
export function allRecords(content: Content): readonly string[] {
  return [JSON.stringify([...content.keys()].toSorted())]
}

/** Answers with the same records, or with as many addresses, of which they share one. */
export function eachAddress(content: Content): readonly string[] {
  const [first] = content.values()
  if (first?.type !== 'A' && first?.type !== 'AAAA') return allRecords(content)
  return [...content.keys()].map((address) => `${content.size} ${address}`)
}

function groupOf(answers: readonly Answer[], keptOf: Lifetime): DnsCheckGroup {
  const records = new Map<string, DnsRecord>()
  for (const { content } of answers) {
    for (const [key, record] of content)
      if (record.ttl > (records.get(key)?.ttl ?? -1)) records.set(key, record)
  }
  const results = answers.map(({ result }) => result)
  return {
    records: [...records.values()],
    rotates: answers.some(({ content }) => content.size < records.size),
    results,
    longestTtlSeconds: longest(results.map(keptOf)),
  }
}

/** Returns for how long any part of an answer may still be kept; null if it does not say. */
export type Lifetime = (result: DnsCheckResult) => number | null

/** An answer that came early has aged by the time that the last one came, or that a resolver was given up. */
export function lifetimesAtTheEndOf(results: readonly DnsCheckResult[]): Lifetime {
  const end = longest(results.map(({ latency_ms: latencyMs }) => latencyMs)) ?? 0
  return ({ dns_results: records, negative_ttl: negative, cname_ttl: alias, latency_ms: latencyMs }) => {
    const whole = longest([...records.map(({ ttl }) => ttl), negative ?? null, alias ?? null])
    return whole === null ? null : Math.max(0, whole - (end - latencyMs) / 1000)
  }
}

export function longest(times: readonly (number | null)[]): number | null {
  // Not `Math.max(...times)`, which fails for more values than the stack has room for.
  return times.reduce((most, time) => (time === null || (most !== null && most >= time) ? most : time), null)
}
