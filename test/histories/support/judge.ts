import { createModel } from '../../../src/testing/contract/model.ts'
import { hasOrder, type SeenCall } from '../../../src/testing/contract/order.ts'

/** A call in a history: one that was answered, or one of which nobody knows whether it was done. */
export interface HistoryCall extends SeenCall {
  readonly text: string
  /** What it reads or changes. Calls that have nothing in common are judged apart. */
  readonly touches: readonly string[]
}

/** How far to look for an order: of calls without answers, any could have been done. An order that is there is mostly found soon. */
const maxStates = 20_000

/** How many calls on the same things are judged: of calls at once, the time that it takes grows with the cube of their number. */
const mostCalls = 250

/** What a history shows. */
export interface Verdict {
  /** In words: each group of calls on the same things that has no order in which the model gives the same answers. */
  readonly wrong: readonly string[]
  /** How many groups have an order. */
  readonly right: number
  /** How many groups were too large to be judged, or have too many orders that are possible. */
  readonly undecided: number
}

/**
 * Judges a history by the suite's model. A call without an answer may have been done or not. A call that certainly was
 * not done is no part of a history.
 */
export function judge(history: readonly HistoryCall[], maxCalls: number = mostCalls): Verdict {
  const groups = groupsOf(history)
  const verdicts = groups.map((calls) =>
    calls.length > maxCalls ? 'undecided' : hasOrder(createModel(), calls, maxStates),
  )
  return {
    wrong: groups.filter((_, index) => verdicts[index] === false).map(describe),
    right: verdicts.filter((verdict) => verdict === true).length,
    undecided: verdicts.filter((verdict) => verdict === 'undecided').length,
  }
}

/** What a call touches that may change any row. */
export const anything = '*'

/** Groups calls that touch the same thing, or one that a third call touches too. */
function groupsOf(history: readonly HistoryCall[]): (readonly HistoryCall[])[] {
  if (history.some(({ touches }) => touches.includes(anything))) return [history]
  const groupOf = new Map<string, Set<string>>()
  for (const { touches } of history) {
    const joined = new Set(touches)
    for (const each of touches) for (const other of groupOf.get(each) ?? []) joined.add(other)
    for (const each of joined) groupOf.set(each, joined)
  }
  const calls = new Map<Set<string> | undefined, HistoryCall[]>()
  for (const call of history) {
    const group = groupOf.get(call.touches[0] ?? '')
    const known = calls.get(group)
    if (known === undefined) calls.set(group, [call])
    else known.push(call)
  }
  return [...calls.values()]
}

function describe(calls: readonly HistoryCall[]): string {
  const lines = calls.map(({ text, answer, from, to }) =>
    answer === null ? `  ${from}: ${text} → unknown` : `  ${from} to ${to}: ${text} → ${answer}`,
  )
  return ['No order of these calls explains their answers:', ...lines].join('\n')
}
