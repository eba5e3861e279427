import { setTimeout as delay } from 'node:timers/promises'
import {
  summarizeDnsCheck,
  type DnsArrivalSummary,
  type DnsCheckResult,
  type RecordType,
  type UtilityApi,
} from 'utility-api'
import type { DnsClient } from '../../../src/ports/dns-client.ts'
import type { ResolverLocation } from '../../../src/domain/resolver-location.ts'
import type { ChangingZone } from './changing-zone.ts'
import type { Change } from './changes.ts'

/** How long to wait between two checks. */
const intervalMs = 500
/** TTLs are whole seconds, so a time said from one is right within a second, and the time that the answer was on its way. */
const slackMs = 1000
/** More than any TTL here allows. */
const maxChecks = 40

/** What was seen of one change. */
export interface Seen {
  readonly checks: number
  /** Each thing that was wrong, in words. */
  readonly wrong: readonly string[]
  /** By resolver: the answers that were still old after the change, and the times that they said. */
  readonly times: readonly Time[]
}

/** A time said by one answer that was still the old one. */
export interface Time {
  readonly resolver: string
  readonly isNo: boolean
  /** How long the answer was to be kept, in seconds; null if it did not say. */
  readonly seconds: number | null
  /** How much too early or too late the time was, in milliseconds; 0 within the time between two checks. */
  readonly earlyMs: number
  readonly lateMs: number
}

interface Check {
  readonly startedAt: number
  readonly endedAt: number
  readonly results: readonly DnsCheckResult[]
  readonly summary: DnsArrivalSummary
}

interface World {
  readonly zone: ChangingZone
  readonly api: Pick<UtilityApi, 'checkDns'>
  readonly client: DnsClient
  readonly locations: readonly ResolverLocation[]
}

/** Fills all caches at times of their own, makes the change, and checks until it has arrived, and once more. */
export async function runSchedule(world: World, change: Change, random: () => number): Promise<Seen> {
  const { zone, api, client, locations } = world
  const { name, type, expected, ttl } = change
  change.before(zone)
  const fill = async ({ ip, port = 53 }: ResolverLocation): Promise<void> => {
    await delay(random() * ttl * 1000)
    await client.query({ name, type, server: { ip, port } })
  }
  await Promise.all(locations.map(fill))
  change.make(zone)
  const changedAt = performance.now()

  const checks: Check[] = []
  for (let more = 1; more >= 0 && checks.length < maxChecks;) {
    const startedAt = performance.now()
    const results = await api.checkDns({ domain: name, recordType: type }, { caller: name })
    const summary = summarizeDnsCheck(results, {
      recordType: type,
      expected,
      previous: checks.at(-1)?.summary,
    })
    const endedAt = performance.now()
    checks.push({ startedAt, endedAt, results, summary })
    if (summary.verdict === 'arrived') more -= 1
    await delay(Math.max(0, startedAt + intervalMs - performance.now()))
  }
  const fetched = zone.fetchedBy(change.changedName)
  return {
    checks: checks.length,
    wrong: wrongIn(checks, fetched, change, changedAt),
    times: change.isExact ? timesIn(checks, fetched, type, expected) : [],
  }
}

function wrongIn(
  checks: readonly Check[],
  fetched: ReadonlyMap<string, number>,
  change: Change,
  changedAt: number,
): string[] {
  const wrong: string[] = []
  const say = (text: string): void => void wrong.push(`${change.kind}, ${change.name}: ${text}`)
  const answered = (check: Check): readonly DnsCheckResult[] => check.results.filter(saysSomething)
  /** When the last resolver was told of the change: the truth. */
  const arrivedAt = Math.max(
    ...checks.flatMap(answered).map(({ provider }) => fetched.get(provider) ?? Infinity),
  )
  const lastOldAt = Math.max(
    changedAt,
    ...checks.filter(({ summary }) => summary.differing.length > 0).map(({ startedAt }) => startedAt),
  )
  for (const [at, { startedAt, endedAt, summary, results }] of checks.entries()) {
    const { verdict, longestTtlSeconds } = summary
    const isBefore = results.some(
      (each) => saysSomething(each) && (fetched.get(each.provider) ?? Infinity) > endedAt,
    )
    if (verdict === 'arrived' && isBefore) say(`arrived before the truth, in check ${at}`)
    if (verdict === 'unanswered') say(`unanswered, in check ${at}`)
    // The last TTL may have been rounded up, and a second more is waited for those that were rounded down.
    if (change.isExact && verdict !== 'arrived' && startedAt > arrivedAt + 2 * slackMs)
      say(`${verdict} after the truth, in check ${at}`)
    if (summary.differing.length === 0 || longestTtlSeconds === null) continue
    const saidAt = endedAt + longestTtlSeconds * 1000
    const early = lastOldAt - saidAt
    // Nobody can tell when, on its way, an answer was right; and this program may be busy when the last one comes.
    const onTheWay = slowest(summary.differing)
    const lag = endedAt - startedAt - slowest(results)
    const late = change.isExact ? saidAt - onTheWay - lag - arrivedAt : 0
    if (early > slackMs) say(`the time said was ${Math.round(early)} ms too early, in check ${at}`)
    if (late > slackMs) say(`the time said was ${Math.round(late)} ms too late, in check ${at}`)
  }
  if (checks.at(-1)?.summary.verdict !== 'arrived') say('never arrived')
  return wrong
}

function timesIn(
  checks: readonly Check[],
  fetched: ReadonlyMap<string, number>,
  recordType: RecordType,
  expected: readonly string[],
): Time[] {
  const times = checks.flatMap(({ startedAt, summary }) => {
    return summary.differing.map((result): Time => {
      const { longestTtlSeconds: seconds } = summarizeDnsCheck([result], { recordType, expected })
      const { provider: resolver } = result
      const answeredAt = startedAt + result.latency_ms
      const saidAt = answeredAt + (seconds ?? 0) * 1000
      const lastOldAt = Math.max(
        ...checks
          .filter((each) => each.summary.differing.some(({ provider }) => provider === resolver))
          .map((each) => each.startedAt),
      )
      const isSaid = seconds !== null
      return {
        resolver,
        isNo: result.dns_results.length === 0,
        seconds,
        earlyMs: isSaid ? Math.max(0, lastOldAt - saidAt) : 0,
        lateMs: isSaid ? Math.max(0, saidAt - (fetched.get(resolver) ?? Infinity)) : 0,
      }
    })
  })
  return times
}

function slowest(results: readonly DnsCheckResult[]): number {
  return Math.max(...results.map(({ latency_ms: ms }) => ms))
}

function saysSomething({ status }: DnsCheckResult): boolean {
  return status === 'NOERROR' || status === 'NODATA' || status === 'NXDOMAIN'
}
