import type { DnsRecord } from '../domain/dns-answer.ts'
import { demand } from '../domain/arguments.ts'
import type { DnsCheckResult } from './check-dns.ts'

/**
 * How the answers of a DNS check compare.
 *
 * - `agree`: all locations that answered say the same, which may be that there are no such records.
 * - `differ`: there are records, but not the same ones everywhere.
 * - `not_everywhere`: some have the records, all the same ones, and others do not have them yet or anymore.
 * - `unanswered`: no location gave an answer that says anything about the name.
 *
 * @group DNS
 */
export type DnsCheckVerdict = 'agree' | 'differ' | 'not_everywhere' | 'unanswered'

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
  /** Seconds for which the longest-lived record may still be cached; null if there are no records. */
  readonly longestTtlSeconds: number | null
}

/**
 * The result of {@link summarizeDnsCheck}.
 *
 * @group DNS
 */
export interface DnsCheckSummary {
  /** How the answers compare. */
  readonly verdict: DnsCheckVerdict
  /** Groups of locations that say the same, largest first. Groups of equal size are in the order of the check. */
  readonly groups: readonly DnsCheckGroup[]
  /** The group with more than half of the locations that answered; null if there is none. */
  readonly majority: DnsCheckGroup | null
  /** The locations that disagree with the majority, or all that answered if they disagree without a majority. */
  readonly differing: readonly DnsCheckResult[]
  /** The locations whose answer says nothing about the name: failures, refusals, timeouts. The verdict ignores them. */
  readonly unanswered: readonly DnsCheckResult[]
  /** Seconds until every cache must have asked again for its records; null if there are no records. */
  readonly longestTtlSeconds: number | null
}

/**
 * Tells whether the locations of a DNS check agree, which ones differ, and for how long that may last.
 *
 * Two answers are the same if their records are, regardless of their order, TTLs, owner names and, in names, case. Address
 * records (A, AAAA) also agree if both answers have the same number of records and share one, directly or through other
 * answers, because a name server that rotates parts of a large set answers that way. One address of several that was
 * exchanged for another looks the same.
 *
 * @param results - The elements of one check, for one record type, as the operation answers them.
 *
 * @throws `UtilityApiError` `invalid_argument` for anything else, such as the body of an error
 *
 * @example
 * ```ts
 * import { summarizeDnsCheck, type DnsCheckResult } from 'utility-api'
 *
 * const response = await fetch('http://localhost:3000/v3/tools/dnscheck', {
 *   headers: { Authorization: 'Bearer …', 'X-Domain': 'example.com', 'X-Record-Type': 'A' },
 * })
 * const { verdict, differing } = summarizeDnsCheck((await response.json()) as DnsCheckResult[])
 * if (verdict !== 'agree') console.log(verdict, differing.map(({ location }) => location))
 * ```
 *
 * @group DNS
 */
export function summarizeDnsCheck(results: readonly DnsCheckResult[]): DnsCheckSummary {
  const areResults = Array.isArray(results) && results.every(isResult)
  demand(areResults, 'results must be what the DNS check answers with 200.')
  const answered = results.filter(saysSomething)
  const groups = groupsOf(answered)
  const majority = groups.find((group) => group.results.length * 2 > answered.length) ?? null
  const agreeing = new Set(groups.length > 1 ? majority?.results : answered)
  return {
    verdict: verdictOf(groups),
    groups,
    majority,
    differing: answered.filter((result) => !agreeing.has(result)),
    unanswered: results.filter((result) => !saysSomething(result)),
    longestTtlSeconds: longest(groups.flatMap(({ longestTtlSeconds }) => longestTtlSeconds ?? [])),
  }
}

function isResult(value: unknown): boolean {
  const { status, dns_results: records } = (value ?? {}) as Partial<DnsCheckResult>
  return typeof status === 'string' && Array.isArray(records) && records.every(isRecord)
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function saysSomething({ status }: DnsCheckResult): boolean {
  return status === 'NOERROR' || status === 'NODATA' || status === 'NXDOMAIN'
}

function verdictOf(groups: readonly DnsCheckGroup[]): DnsCheckVerdict {
  if (groups.length < 2) return groups.length === 1 ? 'agree' : 'unanswered'
  return groups.filter(({ records }) => records.length > 0).length > 1 ? 'differ' : 'not_everywhere'
}

/** Joins each answer with all earlier ones that say the same, so that parts of one set are grouped in any order. */
function groupsOf(answered: readonly DnsCheckResult[]): DnsCheckGroup[] {
  const contents = new Map(answered.map((result) => [result, contentOf(result)]))
  let groups: DnsCheckResult[][] = []
  for (const result of answered) {
    const isSame = (other: DnsCheckResult): boolean => sameAnswer(contents.get(result), contents.get(other))
    const [same, others] = [
      groups.filter((group) => group.some(isSame)),
      groups.filter((group) => !group.some(isSame)),
    ]
    groups = [...others, [...same.flat(), result]]
  }
  const place = new Map(answered.map((result, at) => [result, at]))
  const inOrder = (a: DnsCheckResult, b: DnsCheckResult): number => (place.get(a) ?? 0) - (place.get(b) ?? 0)
  return groups
    .map((group) => group.toSorted(inOrder))
    .toSorted(([a], [b]) => inOrder(a as DnsCheckResult, b as DnsCheckResult))
    .toSorted((a, b) => b.length - a.length)
    .map((group) => groupOf(group, contents))
}

/** Returns the records of an answer by their content, without order and TTL. */
type Content = ReadonlyMap<string, DnsRecord>

function contentOf({ dns_results: records }: DnsCheckResult): Content {
  return new Map(records.map((record) => [keyOf(record), record]))
}

const names: ReadonlySet<string> = new Set(['target', 'mname', 'rname', 'ip', 'ipv6'])

function keyOf({ host: _host, ttl: _ttl, ...fields }: DnsRecord): string {
  const entries = Object.entries(fields).map(([name, value]): [string, unknown] => [
    name,
    names.has(name) ? String(value).toLowerCase() : value,
  ])
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function sameAnswer(one: Content = new Map(), other: Content = new Map()): boolean {
  if (one.size !== other.size) return false
  const shared = [...one.keys()].filter((key) => other.has(key)).length
  const [first] = one.values()
  const mayRotate = first?.type === 'A' || first?.type === 'AAAA'
  return shared === one.size || (mayRotate && shared > 0)
}

function groupOf(
  results: readonly DnsCheckResult[],
  contents: ReadonlyMap<DnsCheckResult, Content>,
): DnsCheckGroup {
  const records = new Map<string, DnsRecord>()
  for (const [key, record] of results.flatMap((result) => [...(contents.get(result) ?? [])])) {
    if (record.ttl > (records.get(key)?.ttl ?? -1)) records.set(key, record)
  }
  return {
    records: [...records.values()],
    rotates: results.some((result) => (contents.get(result)?.size ?? 0) < records.size),
    results,
    longestTtlSeconds: longest([...records.values()].map(({ ttl }) => ttl)),
  }
}

function longest(ttls: readonly number[]): number | null {
  return ttls.length === 0 ? null : Math.max(...ttls)
}
