import { demand, demandKnown, isOptions } from '../domain/arguments.ts'
import { saysSomething } from '../domain/dns-answer.ts'
import { recordTypes, type RecordType } from '../domain/dns-record.ts'
import { contentOfPresentation, presentationExamples } from '../domain/dns-record-content.ts'
import { canonicalIpAddress, isDnsServerAddress } from '../domain/ip-address.ts'
import type { DnsCheckResult } from './check-dns.ts'
import {
  allRecords,
  answersIn,
  eachAddress,
  groupsOf,
  lifetimesAtTheEndOf,
  longest,
  type DnsCheckGroup,
} from './dns-answer-groups.ts'
import {
  arrivalOf,
  isLocation,
  oldCopiesOf,
  type Arrival,
  type DnsOldCopy,
  type Wanted,
} from './dns-arrival.ts'
import { dnsRecordSchema } from './dns-record-schema.ts'
import { recordTypeText } from './input-schemas.ts'

/**
 * How the answers of a DNS check compare.
 *
 * - `agree`: all locations that answered have the same records.
 * - `nowhere`: all that answered say that there are no such records, as for a name that was mistyped.
 * - `differ`: there are records, but not the same ones everywhere.
 * - `not_everywhere`: some have the records, all the same ones, and others do not have them yet or anymore.
 * - `unanswered`: no location gave an answer that says anything about the name.
 *
 * @group DNS
 */
export type DnsCheckVerdict = 'agree' | 'nowhere' | 'differ' | 'not_everywhere' | 'unanswered'

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
   * Seconds, or parts of one, from the end of the check until the last answer that was given has expired; null if no
   * answer says. A "no" without an SOA record gives no time and does not count. It should not be kept, but some
   * resolvers keep it for up to a minute.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc2308#section-5 | RFC 2308 section 5}
   */
  readonly longestTtlSeconds: number | null
}

/**
 * How far a change has come.
 *
 * - `arrived`: all locations that answered have the records waited for, and nothing is `blocking`.
 * - `partly`: some have them.
 * - `not_yet`: none has them.
 * - `unanswered`: no location gave an answer that says anything about the name.
 *
 * @group DNS
 */
export type DnsArrivalVerdict = 'arrived' | 'partly' | 'not_yet' | 'unanswered'

/**
 * The result of {@link summarizeDnsCheck} where records are expected. Two answers are the same only if all their
 * records are, so parts of a rotating set are not.
 *
 * @group DNS
 */
export interface DnsArrivalSummary extends Omit<DnsCheckSummary, 'verdict'> {
  /** How far the expected records have come. */
  readonly verdict: DnsArrivalVerdict
  /** The locations that have exactly the `expected` records, or those that it `contains`. */
  readonly arrived: readonly DnsCheckResult[]
  /** The locations that answered otherwise. */
  readonly differing: readonly DnsCheckResult[]
  /**
   * The locations that keep the verdict from `arrived`, in the order of the check:
   *
   * - All that answered otherwise.
   * - Those that may still have an old copy of which `oldCopies` knows, whatever they say now, because behind the
   *   address of a public resolver there are many caches, and a silent resolver may speak again.
   * - Those whose status says that nobody gets the records from them: `SERVFAIL`, `MALFORMED`, `TRUNCATED`, `TOO_LARGE`,
   *   `REFERRAL`. The others (`TIMEOUT`, `UNREACHABLE`, `REFUSED`, `FORMERR`) say nothing about the name.
   * - Any of the zone's own servers that did not answer.
   */
  readonly blocking: readonly DnsCheckResult[]
  /** What the next check needs to know of this one and of those before. */
  readonly oldCopies: readonly DnsOldCopy[]
  /**
   * Seconds, or parts of one, from the end of the check until no location may have an old copy any more, if the zone
   * has changed; null if none has one. A "no" without an SOA record gives no time, and counts as a minute, because some
   * resolvers keep it that long.
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
  /**
   * Records that the name is expected to have among others, in presentation form: in place of `expected`, such as for the one
   * TXT record that proves whose domain it is.
   */
  readonly contains?: readonly string[]
  /**
   * The summary of the check before, for the same name and the same records; read from JSON, its `oldCopies` are enough.
   * Without it, old copies that were seen earlier are not waited for.
   */
  readonly previous?: Pick<DnsArrivalSummary, 'oldCopies'> | undefined
  /** When the check ended. Default: now. */
  readonly at?: Date
  /**
   * The addresses of the zone's own servers, if the locations include some. From these, nothing but the records will
   * do. Default: none are.
   */
  readonly authorities?: readonly string[]
}

/**
 * Tells whether the locations of a DNS check agree, which ones differ, and for how long that may last.
 *
 * Two answers are the same if their records are, regardless of their order, TTLs, owner names and, in names, case. Address
 * records (A, AAAA) also agree if both answers have the same number of records and share one, directly or through other
 * answers, because a name server that rotates parts of a large set answers that way. One address of several that was
 * exchanged for another looks the same.
 *
 * Right after a change, all resolvers agree on the old records. With `expected`, the verdict says how far the new ones
 * have come instead, and the longest time that any other answer may still be kept. If checks are repeated, give each
 * the summary of the one before, because a location that said something old has not got the records before that copy
 * must be gone.
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
 * @example
 * ```ts
 * import { summarizeDnsCheck, type DnsArrivalSummary, type UtilityApi } from 'utility-api'
 *
 * declare const api: UtilityApi
 * const recordType = 'A'
 * let previous: DnsArrivalSummary | undefined
 * while (previous?.verdict !== 'arrived') {
 *   const results = await api.checkDns({ domain: 'example.com', recordType })
 *   previous = summarizeDnsCheck(results, { recordType, expected: ['192.0.2.80'], previous })
 *   await new Promise((resolve) => setTimeout(resolve, 30_000))
 * }
 * ```
 *
 * @group DNS
 */
export function summarizeDnsCheck(
  results: readonly DnsCheckResult[],
  expectation: DnsExpectation &
    ({ readonly expected: readonly string[] } | { readonly contains: readonly string[] }),
): DnsArrivalSummary
export function summarizeDnsCheck(
  results: readonly DnsCheckResult[],
  expectation?: DnsExpectation & { readonly expected?: undefined; readonly contains?: undefined },
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
  const wanted = expectation === undefined ? undefined : wantedBy(expectation)
  const answers = answersIn(results)
  const unanswered = results.filter((result) => !saysSomething(result))
  const keptOf = lifetimesAtTheEndOf(results)
  const groups = groupsOf(answers, wanted === undefined ? eachAddress : allRecords, keptOf)
  const majority = groups.find((group) => group.results.length * 2 > answers.length) ?? null
  if (wanted !== undefined) {
    const arrival = arrivalOf(results, answers, wanted, keptOf)
    return { verdict: arrivalVerdictOf(arrival), groups, majority, unanswered, ...arrival }
  }
  const answered = answers.map(({ result }) => result)
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

function wantedBy(expectation: DnsExpectation): Wanted | undefined {
  demand(isOptions(expectation), 'expectation must be an object: write { recordType, expected }.')
  const { expected, contains, previous, at = new Date() } = expectation
  // One that is there, but undefined, is refused, because their failures would count as those of resolvers.
  const { authorities = 'authorities' in expectation ? undefined : [] } = expectation
  demandKnown(expectation, expectationMembers)
  const { data: recordType } = recordTypeText().safeParse(expectation.recordType)
  demand(recordType !== undefined, `expectation.recordType must be one of ${recordTypes.join(', ')}.`)
  const endedAt = at instanceof Date ? at.getTime() : Number.NaN
  demand(Number.isFinite(endedAt), 'at must be a Date: when the check ended.')
  const areAddresses = areTexts(authorities) && authorities.every(isDnsServerAddress)
  demand(areAddresses, 'authorities must be a list of IP addresses.')
  const oldCopies = previous === undefined ? [] : oldCopiesOf(previous)
  demand(expected === undefined || contains === undefined, 'expected and contains exclude each other.')
  demand(contains?.length !== 0, 'contains must name a record.')
  const texts = expected ?? contains
  if (texts === undefined) return undefined
  const name = expected === undefined ? 'contains' : 'expected'
  demand(areTexts(texts), `${name} must be a list of records in presentation form.`)
  const contents = texts.map((text) => contentOfText(name, recordType, text))
  const count = expected === undefined ? undefined : new Set(contents).size
  return {
    isIn: ({ content }) =>
      content.size === (count ?? content.size) && contents.every((each) => content.has(each)),
    oldCopies,
    endedAt,
    authorities: new Set(authorities.map((ip) => canonicalIpAddress(ip) ?? ip)),
  }
}

const expectationMembers: ReadonlySet<string> = new Set<keyof DnsExpectation>([
  'recordType',
  'expected',
  'contains',
  'previous',
  'at',
  'authorities',
])

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

function contentOfText(name: string, recordType: RecordType, text: string): string {
  const content = contentOfPresentation(recordType, text)
  const example = presentationExamples[recordType]
  demand(content !== null, `${name}: ${JSON.stringify(text)} is no ${recordType} record such as ${example}.`)
  return content
}

function arrivalVerdictOf({ arrived, differing, blocking }: Arrival): DnsArrivalVerdict {
  if (arrived.length === 0) return differing.length === 0 ? 'unanswered' : 'not_yet'
  return blocking.length === 0 ? 'arrived' : 'partly'
}

function isResult(value: unknown): boolean {
  const result = (value ?? {}) as Partial<DnsCheckResult>
  const { status, dns_results: records, latency_ms: ms } = result
  const { negative_ttl: negative = 0, cname_ttl: alias = 0 } = result
  const hasAll =
    isLocation(result) && typeof status === 'string' && [ms, negative, alias].every(Number.isFinite)
  return hasAll && Array.isArray(records) && records.every(isRecord)
}

let recordSchema: ReturnType<typeof dnsRecordSchema> | undefined

/** Tells whether a record has all the members of its type, which are compared without another look. */
function isRecord(value: unknown): boolean {
  recordSchema ??= dnsRecordSchema()
  return recordSchema.safeParse(value).success
}

function verdictOf(groups: readonly DnsCheckGroup[]): DnsCheckVerdict {
  const withRecords = groups.filter(({ records }) => records.length > 0).length
  if (groups.length === 0) return 'unanswered'
  if (withRecords === 0) return 'nowhere'
  if (withRecords > 1) return 'differ'
  return groups.length === 1 ? 'agree' : 'not_everywhere'
}
