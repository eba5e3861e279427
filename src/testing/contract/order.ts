import { StorageError } from '../../ports/storage.ts'
import { show, Unspecified, type Model } from './model.ts'

/** One step of a call, done to the model. It is given the result of the step before. */
export type Step = (model: Model, before: unknown) => unknown

/** A call, and what was seen of it from outside. */
export interface SeenCall {
  /** What it does. Other calls may come between two steps. */
  readonly steps: readonly Step[]
  /** What it answered, as text, or null if nobody knows whether it was done, completely, in part or not at all. */
  readonly answer: string | null
  /** When it was asked, on any scale. */
  readonly from: number
  /** When it was answered, so it comes before every call that was asked later. Of no meaning without an answer. */
  readonly to: number
}

/** A state of the search: how many steps of each call are done, what the last of them said, and the rows so far. */
interface SearchState {
  readonly done: readonly number[]
  readonly said: readonly unknown[]
  readonly model: Model
  /** Returns the rows as text, which takes longest of all. */
  readonly rows: () => string
}

/**
 * Returns whether there is an order of the calls in which the model gives the answers that were seen. A call without an
 * answer is done at any time after it was asked, or never. After so many states, the search ends undecided.
 */
export function hasOrder(
  start: Model,
  calls: readonly SeenCall[],
  maxStates: number = Infinity,
): boolean | 'undecided' {
  const deadEnds = new Set<string>()
  let states = 0

  function isLeft({ done }: SearchState, index: number): boolean {
    return (done[index] ?? 0) < (calls[index]?.steps.length ?? 0)
  }

  /** Returns the state after the next step of a call, or null if its answer was another, or nothing would come of it. */
  function take(state: SearchState, index: number): SearchState | null {
    const { steps, answer } = calls[index] as SeenCall
    const { [index]: done = 0 } = state.done
    const model = state.model.copy()
    const isLast = done + 1 === steps.length
    const said = outcomeOf(() => steps[done]?.(model, state.said[index]))
    if (isLast && answer !== null && said !== open && said.text !== answer) return null
    const rows = once(() => model.text())
    if (isLast && answer === null && rows() === state.rows()) return null
    const value = isLast || said === open ? undefined : said.value
    return { done: state.done.with(index, done + 1), said: state.said.with(index, value), model, rows }
  }

  /** Returns the calls whose next step may be the next of all, those that were answered first. */
  function nextOf(state: SearchState): {
    readonly answered: readonly number[]
    readonly unknown: readonly number[]
  } {
    const left = calls.map((_, index) => index).filter((index) => isLeft(state, index))
    const answered = left.filter((index) => calls[index]?.answer !== null)
    const endOf = (index: number): number => (calls[index] as SeenCall).to
    const firstEnd = Math.min(...answered.map(endOf))
    const mayBegin = (index: number): boolean => (calls[index] as SeenCall).from <= firstEnd
    return {
      // What was answered first was probably done first. Where all could be next, this finds an order soonest.
      answered: answered.filter(mayBegin).toSorted((one, other) => endOf(one) - endOf(other)),
      unknown: left.filter((index) => calls[index]?.answer === null && mayBegin(index)),
    }
  }

  /**
   * Tells whether a call answers as it did if no other comes between its steps, because then it was probably done now.
   */
  function fits(state: SearchState, index: number): boolean {
    let after: SearchState | null = state
    while (after !== null && isLeft(after, index)) after = take(after, index)
    return after !== null
  }

  /** Takes the steps that need no choice. Returns null after the last answer. */
  function goOn(
    from: SearchState,
  ): { readonly state: SearchState; readonly choices: readonly number[] } | null {
    let state = from
    for (;;) {
      const { answered, unknown } = nextOf(state)
      if (answered.length === 0) return null
      const only = answered.length + unknown.length === 1
      const now: SearchState = state
      const sure = only && answered[0] !== undefined ? take(now, answered[0]) : null
      if (sure === null) {
        // First those that change nothing now. A write may do so here and be the one that counts later.
        const idle = answered.filter((index) => {
          const after = take(now, index)
          return after !== null && !isLeft(after, index) && after.rows() === now.rows()
        })
        const fitting = answered.filter((index) => fits(now, index))
        return { state, choices: [...new Set([...idle, ...fitting, ...answered, ...unknown])] }
      }
      state = sure
    }
  }

  function leadsOn(from: SearchState): boolean {
    if (states >= maxStates) return false
    states += 1
    const reached = goOn(from)
    if (reached === null) return true
    const { state, choices } = reached
    // Orders that lead to the same rows with the same steps left count as one.
    const key = `${state.done.join()} ${show(state.said)} ${state.rows()}`
    if (deadEnds.has(key)) return false
    const found = choices.some((index) => {
      const after = take(state, index)
      return after !== null && leadsOn(after)
    })
    if (!found) deadEnds.add(key)
    return found
  }

  const none = { done: calls.map(() => 0), said: calls.map(() => undefined) }
  if (leadsOn({ ...none, model: start, rows: once(() => start.text()) })) return true
  return states < maxStates ? false : 'undecided'
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

/** What the port leaves open, so any answer is right. */
const open = Symbol('open')

function outcomeOf(ask: () => unknown): { readonly text: string; readonly value?: unknown } | typeof open {
  try {
    const value = ask()
    return { text: show(value), value }
  } catch (error) {
    if (error instanceof Unspecified) return open
    if (error instanceof StorageError) return { text: `StorageError '${error.kind}'` }
    throw error
  }
}
