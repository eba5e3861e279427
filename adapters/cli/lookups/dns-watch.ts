import {
  summarizeDnsCheck,
  type DnsArrivalSummary,
  type DnsCheckResult,
  type DnsCheckSummary,
  type DnsExpectation,
  type DnsOldCopy,
  type RecordType,
} from 'utility-api'
import { UsageError } from '../terminal/command.ts'

/** How the answers to one question compare with each other, or with what is expected. */
export type Comparison = DnsCheckSummary | DnsArrivalSummary

/** What is waited for. */
export type Awaited = Pick<DnsExpectation, 'expected' | 'contains'>

/** Returns what `--expect` and `--contains` name. `--expect none` expects that there are no records. */
export function awaitedOf(expect: readonly string[], contains: readonly string[]): Awaited {
  if (contains.length > 0 && expect.length > 0)
    throw new UsageError('--expect names all records, --contains some of them: give one of the two.')
  if (contains.length > 0) return { contains }
  if (expect.length === 0) return {}
  return { expected: expect.length === 1 && expect[0] === 'none' ? [] : expect }
}

/** Tells when a watch is over. */
export interface Watch {
  /** Compares the answers of a check that has just ended, some of them by the zone's own servers at these addresses. */
  compare(results: readonly DnsCheckResult[], authorities?: readonly string[]): Comparison
  /** Tells whether what is waited for has come with the check that was compared last. */
  isOver(): boolean
}

/** Waits for records, or until all agree on something else than at first. */
export function createWatch(recordType: RecordType, { expected, contains }: Awaited): Watch {
  if (expected !== undefined) return watchFor({ recordType, expected })
  if (contains !== undefined) return watchFor({ recordType, contains })
  return watchForChange()
}

type Waiting = DnsExpectation & ({ expected: readonly string[] } | { contains: readonly string[] })

function watchFor(waiting: Waiting): Watch {
  let last: DnsArrivalSummary | undefined
  return {
    compare: (results, authorities = []) =>
      (last = summarizeDnsCheck(results, { ...waiting, authorities, previous: last })),
    isOver: () => last !== undefined && hasArrived(last),
  }
}

/** A server of the zone that is asked no more, because another one has its place, may have given copies to others. */
function hasArrived({ verdict, oldCopies }: DnsArrivalSummary): boolean {
  return verdict === 'arrived' && oldCopies.length === 0
}

function watchForChange(): Watch {
  let first: readonly DnsCheckResult[] | undefined
  let last: DnsCheckSummary | undefined
  let ofZone: readonly string[] = []
  /** What each location has said. Which of it is old is known only when all agree on something else. */
  const seen = new Map<string, { readonly result: DnsCheckResult; readonly copy: DnsOldCopy }>()
  const remember = (result: DnsCheckResult): void => {
    const { location, ip, provider, dns_results: records } = result
    // Expecting something else than any answer says when a copy of it expires.
    const expected = records.length === 0 ? ['192.0.2.1'] : []
    const { oldCopies } = summarizeDnsCheck([result], { recordType: 'A', expected })
    const key = JSON.stringify([
      location,
      ip,
      provider,
      records.map(({ ttl: _, ...record }) => JSON.stringify(record)).toSorted(),
    ])
    for (const copy of oldCopies)
      if (copy.until >= (seen.get(key)?.copy.until ?? 0)) seen.set(key, { result, copy })
  }
  return {
    compare(results, authorities = []) {
      ofZone = authorities
      last = summarizeDnsCheck(results)
      if (last.verdict !== 'unanswered') first ??= results
      for (const [key, { copy }] of seen) if (copy.until < Date.now() - 1000) seen.delete(key)
      for (const result of results) remember(result)
      return last
    },
    isOver() {
      const [agreed] = last?.groups ?? []
      // Right after a change, all agree on the old records.
      if (last === undefined || agreed === undefined || last.groups.length > 1) return false
      if (agrees([...(first ?? []), ...agreed.results])) return false
      const old = [...seen.values()].filter(({ result }) => !agrees([...agreed.results, result]))
      // All that answered say what is new. Whether something else is in the way is asked as of a deletion that has arrived.
      const arrived = agreed.results.map((result) => ({
        ...result,
        dns_results: [],
        status: 'NODATA' as const,
      }))
      const previous = { oldCopies: old.map(({ copy }) => copy) }
      const results = [...arrived, ...last.unanswered]
      const terms = { recordType: 'A', expected: [], authorities: ofZone, previous } as const
      return hasArrived(summarizeDnsCheck(results, terms))
    },
  }
}

function agrees(results: readonly DnsCheckResult[]): boolean {
  const { verdict } = summarizeDnsCheck(results)
  return verdict === 'agree' || verdict === 'nowhere'
}

const exitCodes = {
  arrived: 0,
  agree: 0,
  nowhere: 5,
  unanswered: 1,
  differ: 3,
  not_yet: 3,
  not_everywhere: 4,
  partly: 4,
} as const
/** Which exit code wins if there are several types. */
const precedence: readonly number[] = [1, 3, 4, 0, 5]

export function exitCodeOf(comparisons: readonly Comparison[]): number {
  const codes = new Set<number>(comparisons.map(({ verdict }) => exitCodes[verdict]))
  return precedence.find((code) => codes.has(code)) ?? 0
}
