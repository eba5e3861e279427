import type { DnsCheckGroup, DnsCheckResult } from 'utility-api'
import type { Comparison } from './dns-watch.ts'

/** What the zone's own servers say, and which resolvers say something else. */
export interface ZoneVerdict {
  readonly sentence: string
  /** The groups to list below the sentence. */
  readonly groups: readonly DnsCheckGroup[]
  /** How long resolvers may keep what is out of date; null if nothing is, or if no answer says. */
  readonly secondsLeft: number | null
  /** Whether that time begins only when the zone changes. */
  readonly waitsForZone: boolean
}

/**
 * Compares resolvers with the zone; null if none of the zone's servers has answered.
 *
 * @param own - The answers of the zone's servers. They keep nothing, so their TTLs are no time to wait for.
 * @param textOf - Returns what a group says, with its verb.
 */
export function zoneVerdictOf(
  summary: Comparison,
  own: ReadonlySet<DnsCheckResult | undefined>,
  textOf: (group: DnsCheckGroup) => string,
): ZoneVerdict | null {
  const { groups, longestTtlSeconds, verdict } = summary
  const [ofZone, another] = groups.filter(({ results }) => results.some((each) => own.has(each)))
  if (ofZone === undefined) return null
  const isUnexpected = 'arrived' in summary && summary.arrived.every((each) => !own.has(each))
  if (another !== undefined || isUnexpected) {
    const says = `the zone itself ${textOf(ofZone)}, not what is expected`
    return {
      sentence: sentenceOf(
        verdict,
        another === undefined ? says : 'the servers of the zone differ from each other',
      ),
      groups,
      secondsLeft: longestTtlSeconds,
      waitsForZone: true,
    }
  }
  const others = groups.filter((group) => group !== ofZone)
  const same = ofZone.results.filter((each) => !own.has(each)).length
  const differing = others.reduce((sum, { results }) => sum + results.length, 0)
  return {
    sentence: sentenceOf(verdict, `the zone ${textOf(ofZone)}${resolversText(same, differing)}`),
    groups: others,
    secondsLeft: 'arrived' in summary ? longestTtlSeconds : longest(others),
    waitsForZone: false,
  }
}

const arrivals: Readonly<Record<string, string>> = {
  arrived: 'Arrived',
  partly: 'Partly',
  not_yet: 'Not yet',
}

function sentenceOf(verdict: Comparison['verdict'], text: string): string {
  const arrival = arrivals[verdict]
  return arrival === undefined ? `${text.charAt(0).toUpperCase()}${text.slice(1)}.` : `${arrival}: ${text}.`
}

function resolversText(same: number, differing: number): string {
  if (differing > 0) {
    const all = same + differing
    const which = all === 1 ? 'the resolver' : `${differing} of ${all} resolvers`
    return `; ${which} ${differing === 1 ? 'says' : 'say'} something else`
  }
  if (same === 0) return '; no resolver answered'
  if (same === 1) return ', and so does the resolver that answered'
  return `, and so do ${same === 2 ? 'both' : `all ${same}`} resolvers that answered`
}

function longest(groups: readonly DnsCheckGroup[]): number | null {
  const known = groups.map(({ longestTtlSeconds }) => longestTtlSeconds).filter((each) => each !== null)
  return known.length === 0 ? null : Math.max(...known)
}
