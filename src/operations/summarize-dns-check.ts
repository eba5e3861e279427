import type { DnsRecord } from '../domain/dns-answer.ts'
import { UtilityApiError } from '../domain/errors.ts'
import type { DnsCheckResult } from './check-dns.ts'

/**
 * How the answers of a DNS check compare.
 *
 * - `agree`: whoever answered says the same; also where all say that there are no such records.
 * - `differ`: there are records, and not the same ones.
 * - `not_everywhere`: some have the records, all the same, and others have none yet or no more.
 * - `unanswered`: nobody gave an answer that says anything of the name.
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
  /** What they have: every record that one of them has, once, with its longest TTL; empty where there are none. */
  readonly records: readonly DnsRecord[]
  /** Whether they were given different parts of one rotating set. */
  readonly rotates: boolean
  /** Their results, in the order of the check. */
  readonly results: readonly DnsCheckResult[]
  /** Seconds that the longest-lived of the records may still be cached; null where there is no record. */
  readonly longestTtlSeconds: number | null
}

/**
 * What {@link summarizeDnsCheck} makes of a check.
 *
 * @group DNS
 */
export interface DnsCheckSummary {
  /** How the answers compare. */
  readonly verdict: DnsCheckVerdict
  /** Those who say the same, the largest group first, equally large ones in the order of the check. */
  readonly groups: readonly DnsCheckGroup[]
  /** The group that has more than half of those who answered; null where none has. */
  readonly majority: DnsCheckGroup | null
  /** Who answered something else than the majority; everybody who answered where there is none and they disagree. */
  readonly differing: readonly DnsCheckResult[]
  /** Who gave no answer that says anything of the name: failures, refusals, time-outs. They count for no verdict. */
  readonly unanswered: readonly DnsCheckResult[]
  /** Seconds until every cache must have asked again for the records it has; null where there is no record. */
  readonly longestTtlSeconds: number | null
}

/**
 * Tells whether the locations of a DNS check agree, who differs, and for how long that may last.
 *
 * Two answers are the same if their records are, whatever their order, TTLs, owner names and, in names, upper case. Address
 * records (A, AAAA) also agree where both answers have as many and share one, directly or by others: so a name server
 * answers that gives out parts of a large set in rotation. One address of several exchanged for another looks the same.
 *
 * @param results - Elements of one check, for one record type, as the operation answers them.
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
  if (!Array.isArray(results) || !results.every(isResult)) {
    throw new UtilityApiError('invalid_argument', 'results must be what the DNS check answers with 200.')
  }
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

/** Joins each answer with all before it that say the same, so that parts of one set find together whatever their order. */
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

/** The records of an answer by what they say: order and lifetime are no part of it. */
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
