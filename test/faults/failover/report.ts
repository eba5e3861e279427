import type { HistoryCounts } from '../../histories/support/http-history.ts'
import type { Tally } from './probe.ts'
import type { RoundResult } from './run.ts'

/** A line of the table for each fault, over all of its rounds. */
export function summarize(results: readonly RoundResult[], deadlineMs: number): Record<string, object> {
  const byFault = Object.groupBy(results, ({ fault }) => fault)
  return Object.fromEntries(
    Object.entries(byFault).map(([fault, rounds]) => [fault, lineOf(rounds, deadlineMs)]),
  )
}

function lineOf(rounds: readonly RoundResult[], deadlineMs: number): object {
  const longestMs = Math.max(...rounds.map(({ ledger }) => ledger.longestMs))
  const probes = rounds.flatMap((round) => round.probes ?? [])
  return {
    rounds: rounds.length,
    acknowledged: sum(rounds.map(({ ledger }) => ledger.acknowledged)),
    lost: sum(rounds.map(({ lost }) => lost.length)),
    doubled: sum(rounds.map(({ doubled }) => doubled.length)),
    'histories with an order': sum(rounds.map(({ history }) => history.right)),
    'histories without': sum(rounds.map(({ history }) => history.wrong.length + history.undecided)),
    ...countsOf(rounds),
    'longest answer / deadline, ms': `${Math.round(longestMs)} / ${deadlineMs}`,
    'longest stall of clients + servers, ms': Math.round(Math.max(...rounds.map(({ stallMs }) => stallMs))),
    'answers too late': rounds.filter((round) => isLate(round, deadlineMs)).length,
    'reads in a blocked commit': tally(probes.map(({ reads }) => reads)),
    'health in a blocked commit': tally(probes.map(({ health }) => health)),
    'writes back, s': rounds.some(({ backAfterMs }) => backAfterMs === null)
      ? 'never'
      : (Math.max(...rounds.map(({ backAfterMs }) => backAfterMs ?? 0)) / 1000).toFixed(2),
    'connections left hanging': Math.max(...rounds.map(({ abandoned = 0 }) => abandoned)),
    statuses: statusesOf(rounds),
  }
}

/** Tells whether somebody got an answer after its deadline, but for what the machine let all of us wait. */
export function isLate({ ledger, stallMs }: RoundResult, deadlineMs: number): boolean {
  return ledger.longestMs > deadlineMs + stallMs
}

/** How often each of the things happened that must happen, over all rounds. */
export function countsOf(rounds: readonly RoundResult[]): Record<keyof HistoryCounts, number> {
  const of = (what: keyof HistoryCounts): number => sum(rounds.map(({ history }) => history.counts[what]))
  return {
    ok: of('ok'),
    unknown: of('unknown'),
    raceLost: of('raceLost'),
    replaySeen: of('replaySeen'),
    retryAfterUnknown: of('retryAfterUnknown'),
  }
}

function tally(tallies: readonly Tally[]): string {
  if (tallies.length === 0) return ''
  return `${sum(tallies.map(({ answered }) => answered))} of ${sum(tallies.map(({ asked }) => asked))}`
}

function statusesOf(rounds: readonly RoundResult[]): string {
  const all = rounds.flatMap(({ ledger }) => [...ledger.statuses])
  const statuses = [...new Set(all.map(([status]) => status))].toSorted((a, b) => a - b)
  return statuses
    .map((status) => `${status}: ${sum(all.filter(([each]) => each === status).map(([, count]) => count))}`)
    .join(', ')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
