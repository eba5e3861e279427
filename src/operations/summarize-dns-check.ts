import { demand, demandKnown, isOptions } from '../domain/arguments.ts'
import { recordTypes, type DnsRecord, type RecordType } from '../domain/dns-answer.ts'
import { contentOfPresentation, contentOfRecord, presentationExamples } from '../domain/dns-record-content.ts'
import type { DnsCheckResult } from './check-dns.ts'
import { dnsRecordSchema } from './dns-record-schema.ts'
import { recordTypeText } from './input-schemas.ts'

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
  /**
   * Seconds, or parts of one, from the end of the check for which the longest-lived part of these answers may still be
   * kept: a record, an alias, or that there is no record; null if no answer says.
   */
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
  /**
   * Seconds, or parts of one, from the end of the check until all that answered must have asked again; null if no answer
   * says. A "no" without an SOA record gives no time and does not count: it should not be kept, but some resolvers keep it
   * for up to a minute.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc2308#section-5 | RFC 2308 section 5}
   */
  readonly longestTtlSeconds: number | null
}

/**
 * How far a change has come.
 *
 * - `arrived`: all locations that answered have the expected records.
 * - `partly`: some do.
 * - `not_yet`: none does.
 * - `unanswered`: no location gave an answer that says anything about the name.
 *
 * @group DNS
 */
export type DnsArrivalVerdict = 'arrived' | 'partly' | 'not_yet' | 'unanswered'

/**
 * The result of {@link summarizeDnsCheck} where records are expected. Two answers are the same only if all their records
 * are: parts of a rotating set are not.
 *
 * @group DNS
 */
export interface DnsArrivalSummary extends Omit<DnsCheckSummary, 'verdict'> {
  /** How far the expected records have come. */
  readonly verdict: DnsArrivalVerdict
  /** The locations that have exactly the expected records. */
  readonly arrived: readonly DnsCheckResult[]
  /** The locations that answered otherwise. */
  readonly differing: readonly DnsCheckResult[]
  /**
   * Seconds, or parts of one, from the end of the check until those that answered otherwise must have asked again, if the
   * zone has changed; null if there are none, or if no answer says. A "no" without an SOA record gives no time and does not
   * count.
   */
  readonly longestTtlSeconds: number | null
}

/**
 * What a change is expected to bring.
 *
 * @group DNS
 */
export interface DnsExpectation {
  /** The type that the check asked for, in upper or lower case. */
  readonly recordType: RecordType | Lowercase<RecordType>
  /**
   * All records of the name in presentation form, without owner, TTL and type, such as `10 mail.example.com` for MX; `[]`
   * for a deletion. Default: none are expected, and answers are compared with each other.
   */
  readonly expected?: readonly string[]
}

/**
 * Tells whether the locations of a DNS check agree, which ones differ, and for how long that may last.
 *
 * Two answers are the same if their records are, regardless of their order, TTLs, owner names and, in names, case. Address
 * records (A, AAAA) also agree if both answers have the same number of records and share one, directly or through other
 * answers, because a name server that rotates parts of a large set answers that way. One address of several that was
 * exchanged for another looks the same.
 *
 * Right after a change, all resolvers agree on the old records. With `expected`, the verdict says how far the new ones have
 * come instead, and the longest time that any other answer may still be kept.
 *
 * @param results - The elements of one check, for one record type, as the operation answers them.
 * @param expectation - The records to wait for.
 *
 * @throws `UtilityApiError` `invalid_argument` for anything else, such as the body of an error or a text that is no record
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
 * @example
 * ```ts
 * import { summarizeDnsCheck, type DnsCheckResult } from 'utility-api'
 *
 * declare const results: DnsCheckResult[]
 * const { verdict, longestTtlSeconds } = summarizeDnsCheck(results, { recordType: 'A', expected: ['192.0.2.80'] })
 * if (verdict !== 'arrived') console.log(`${verdict}; all have asked again in ${longestTtlSeconds} s`)
 * ```
 *
 * @group DNS
 */
export function summarizeDnsCheck(
  results: readonly DnsCheckResult[],
  expectation: DnsExpectation & { readonly expected: readonly string[] },
): DnsArrivalSummary
export function summarizeDnsCheck(
  results: readonly DnsCheckResult[],
  expectation?: DnsExpectation & { readonly expected?: undefined },
): DnsCheckSummary
export function summarizeDnsCheck(
  results: readonly DnsCheckResult[],
  expectation?: DnsExpectation,
): DnsCheckSummary | DnsArrivalSummary
export function summarizeDnsCheck(
  results: readonly DnsCheckResult[],
  expectation?: DnsExpectation,
): DnsCheckSummary | DnsArrivalSummary {
  const areResults = Array.isArray(results) && results.every(isResult)
  const isPromise = typeof (results as { then?: unknown } | undefined)?.then === 'function'
  demand(!isPromise, 'results is a promise: write await before it.')
  demand(areResults, 'results must be what the DNS check answers with 200.')
  const expected = expectation === undefined ? undefined : expectedContent(expectation)
  const answered = results.filter(saysSomething)
  const unanswered = results.filter((result) => !saysSomething(result))
  const keptOf = lifetimesAtTheEndOf(results)
  const groups = groupsOf(answered, expected === undefined ? sameOrRotated : sameContent, keptOf)
  const majority = groups.find((group) => group.results.length * 2 > answered.length) ?? null
  if (expected !== undefined) {
    const arrived = answered.filter((result) => sameContent(contentOf(result), expected))
    const differing = answered.filter((result) => !arrived.includes(result))
    const verdict = arrivalOf(arrived.length, differing.length)
    const longestTtlSeconds = longest(differing.map(keptOf))
    return { verdict, groups, majority, arrived, differing, unanswered, longestTtlSeconds }
  }
  const agreeing = new Set(groups.length > 1 ? majority?.results : answered)
  return {
    verdict: verdictOf(groups),
    groups,
    majority,
    differing: answered.filter((result) => !agreeing.has(result)),
    unanswered,
    longestTtlSeconds: longest(answered.map(keptOf)),
  }
}

function expectedContent(expectation: DnsExpectation): ReadonlySet<string> | undefined {
  demand(isOptions(expectation), 'The expectation must be an object: write { recordType, expected }.')
  const { expected } = expectation
  demandKnown(expectation, expectationMembers)
  const { data: recordType } = recordTypeText().safeParse(expectation.recordType)
  demand(recordType !== undefined, `The expectation's recordType must be one of ${recordTypes.join(', ')}.`)
  if (expected === undefined) return undefined
  const areTexts = Array.isArray(expected) && expected.every((text) => typeof text === 'string')
  demand(areTexts, 'expected must be a list of records in presentation form.')
  return new Set(expected.map((text) => contentOfExpected(recordType, text)))
}

const expectationMembers: ReadonlySet<string> = new Set<keyof DnsExpectation>(['recordType', 'expected'])

function contentOfExpected(recordType: RecordType, text: string): string {
  const content = contentOfPresentation(recordType, text)
  const example = presentationExamples[recordType]
  demand(content !== null, `expected: ${JSON.stringify(text)} is no ${recordType} record such as ${example}.`)
  return content
}

function arrivalOf(arrived: number, differing: number): DnsArrivalVerdict {
  if (arrived === 0) return differing === 0 ? 'unanswered' : 'not_yet'
  return differing === 0 ? 'arrived' : 'partly'
}

function isResult(value: unknown): boolean {
  const { status, dns_results: records, latency_ms: ms } = (value ?? {}) as Partial<DnsCheckResult>
  const hasAll = typeof status === 'string' && typeof ms === 'number' && Array.isArray(records)
  return hasAll && records.every(isRecord)
}

let recordSchema: ReturnType<typeof dnsRecordSchema> | undefined

/** Tells whether a record has all the members of its type, which are compared without another look. */
function isRecord(value: unknown): boolean {
  recordSchema ??= dnsRecordSchema()
  return recordSchema.safeParse(value).success
}

function saysSomething({ status }: DnsCheckResult): boolean {
  return status === 'NOERROR' || status === 'NODATA' || status === 'NXDOMAIN'
}

function verdictOf(groups: readonly DnsCheckGroup[]): DnsCheckVerdict {
  if (groups.length < 2) return groups.length === 1 ? 'agree' : 'unanswered'
  return groups.filter(({ records }) => records.length > 0).length > 1 ? 'differ' : 'not_everywhere'
}

/** Joins each answer with all earlier ones that say the same, so that parts of one set are grouped in any order. */
function groupsOf(
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
type Content = ReadonlyMap<string, DnsRecord>
type Comparison = (one: Content, other: Content) => boolean
const nothing: Content = new Map()

function contentOf({ dns_results: records }: DnsCheckResult): Content {
  return new Map(records.map((record) => [contentOfRecord(record), record]))
}

function sameContent(one: Content, other: Pick<Content, 'size' | 'has'>): boolean {
  return one.size === other.size && [...one.keys()].every((key) => other.has(key))
}

function sameOrRotated(one: Content, other: Content): boolean {
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
type Lifetime = (result: DnsCheckResult) => number | null

/** An answer that came early has aged by the time that the last one came, or that a resolver was given up. */
function lifetimesAtTheEndOf(results: readonly DnsCheckResult[]): Lifetime {
  const end = Math.max(...results.map(({ latency_ms: latencyMs }) => latencyMs))
  return ({ dns_results: records, negative_ttl: negative, cname_ttl: alias, latency_ms: latencyMs }) => {
    const whole = longest([...records.map(({ ttl }) => ttl), negative ?? null, alias ?? null])
    return whole === null ? null : Math.max(0, whole - (end - latencyMs) / 1000)
  }
}

function longest(ttls: readonly (number | null)[]): number | null {
  const known = ttls.filter((ttl) => ttl !== null)
  return known.length === 0 ? null : Math.max(...known)
}
