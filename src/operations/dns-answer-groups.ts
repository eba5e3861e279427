import type { DnsRecord } from '../domain/dns-answer.ts'
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

/** Joins each answer with all earlier ones that say the same, so that parts of one set are grouped in any order. */
export function groupsOf(
  answered: readonly DnsCheckResult[],
  isSame: Comparison,
  keptOf: Lifetime,
): DnsCheckGroup[] {
  const contents = new Map(answered.map((result) => [result, contentOf(result)]))
  let groups: DnsCheckResult[][] = []
  for (const result of answered) {
    const saysTheSame = (other: DnsCheckResult): boolean =>
      isSame(contents.get(result) ?? nothing, contents.get(other) ?? nothing)
    const [same, others] = [
      groups.filter((group) => group.some(saysTheSame)),
      groups.filter((group) => !group.some(saysTheSame)),
    ]
    groups = [...others, [...same.flat(), result]]
  }
  const position = new Map(answered.map((result, at) => [result, at]))
  const inOrder = (a: DnsCheckResult, b: DnsCheckResult): number =>
    (position.get(a) ?? 0) - (position.get(b) ?? 0)
  return groups
    .map((group) => group.toSorted(inOrder))
    .toSorted(([a], [b]) => inOrder(a as DnsCheckResult, b as DnsCheckResult))
    .toSorted((a, b) => b.length - a.length)
    .map((group) => groupOf(group, contents, keptOf))
}

/** The records of an answer by their content, without order and TTL. */
export type Content = ReadonlyMap<string, DnsRecord>
type Comparison = (one: Content, other: Content) => boolean
const nothing: Content = new Map()

export function contentOf({ dns_results: records }: DnsCheckResult): Content {
  return new Map(records.map((record) => [contentOfRecord(record), record]))
}

export function sameContent(one: Content, other: Pick<Content, 'size' | 'has'>): boolean {
  return one.size === other.size && [...one.keys()].every((key) => other.has(key))
}

export function sameOrRotated(one: Content, other: Content): boolean {
  if (one.size !== other.size) return false
  const [first] = one.values()
  const mayRotate = first?.type === 'A' || first?.type === 'AAAA'
  return mayRotate ? [...one.keys()].some((key) => other.has(key)) : sameContent(one, other)
}

function groupOf(
  results: readonly DnsCheckResult[],
  contents: ReadonlyMap<DnsCheckResult, Content>,
  keptOf: Lifetime,
): DnsCheckGroup {
  const records = new Map<string, DnsRecord>()
  for (const [key, record] of results.flatMap((result) => [...(contents.get(result) ?? [])])) {
    if (record.ttl > (records.get(key)?.ttl ?? -1)) records.set(key, record)
  }
  return {
    records: [...records.values()],
    rotates: results.some((result) => (contents.get(result)?.size ?? 0) < records.size),
    results,
    longestTtlSeconds: longest(results.map(keptOf)),
  }
}

/** Returns for how long any part of an answer may still be kept; null if it does not say. */
export type Lifetime = (result: DnsCheckResult) => number | null

/** An answer that came early has aged by the time that the last one came, or that a resolver was given up. */
export function lifetimesAtTheEndOf(results: readonly DnsCheckResult[]): Lifetime {
  const end = Math.max(...results.map(({ latency_ms: latencyMs }) => latencyMs))
  return ({ dns_results: records, negative_ttl: negative, cname_ttl: alias, latency_ms: latencyMs }) => {
    const whole = longest([...records.map(({ ttl }) => ttl), negative ?? null, alias ?? null])
    return whole === null ? null : Math.max(0, whole - (end - latencyMs) / 1000)
  }
}

export function longest(ttls: readonly (number | null)[]): number | null {
  const known = ttls.filter((ttl) => ttl !== null)
  return known.length === 0 ? null : Math.max(...known)
}

export function saysSomething({ status }: DnsCheckResult): boolean {
  return status === 'NOERROR' || status === 'NODATA' || status === 'NXDOMAIN'
}
