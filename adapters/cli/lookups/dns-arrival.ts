import {
  summarizeDnsCheck,
  type DnsArrivalSummary,
  type DnsCheckResult,
  type DnsCheckSummary,
  type RecordType,
} from 'utility-api'

/** How the answers to one question compare with each other, or with what is expected. */
export type Comparison = DnsCheckSummary | DnsArrivalSummary

/** Returns the records that `--expect` names; undefined if it is not given. `none` expects that there are none. */
export function expectedOf(values: readonly string[]): readonly string[] | undefined {
  if (values.length === 0) return undefined
  return values.length === 1 && values[0] === 'none' ? [] : values
}

/** Tells when a watch is over. */
export interface Watch {
  /** Compares the answers of a round. */
  compare(results: readonly DnsCheckResult[]): Comparison
  /** Tells whether what is waited for has come with this round. */
  isOver(results: readonly DnsCheckResult[], comparison: Comparison): boolean
}

/** Waits for the expected records, or until all agree on something else than at first. */
export function createWatch(type: string, expected: readonly string[] | undefined): Watch {
  const recordType = type as RecordType
  let first: readonly DnsCheckResult[] | undefined
  return {
    compare: (results) =>
      expected === undefined
        ? summarizeDnsCheck(results)
        : summarizeDnsCheck(results, { recordType, expected }),
    isOver(results, { verdict }) {
      if (verdict === 'arrived') return true
      if (verdict === 'unanswered') return false
      first ??= results
      // Right after a change, all agree on the old records.
      return agrees(verdict) && !agrees(summarizeDnsCheck([...first, ...results]).verdict)
    },
  }
}

function agrees(verdict: Comparison['verdict']): boolean {
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
