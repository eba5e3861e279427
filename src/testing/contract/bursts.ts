import { ok } from 'node:assert/strict'
import { answerOf, clip, makeBurst, type Call } from './calls.ts'
import { createModel, show, Unspecified, type Asked, type Model } from './model.ts'
import { createRandom } from './random.ts'
import { StorageError } from '../../ports/storage.ts'

/** The largest number of calls that are made at once. */
const maxBurst = 8

/** A call, and what the store answered. */
interface Answered {
  readonly call: Call
  readonly answer: string
}

/**
 * Makes bursts of calls at once, spread over the stores, with a barrier after each. There must be an order of the calls
 * in which the model gives the same answers and then reads the same rows.
 */
export async function checkBursts(stores: readonly Asked[], seed: number, calls: number): Promise<void> {
  const random = createRandom(seed)
  const bursts = Math.ceil(calls / (maxBurst - 2))
  for (let number = 0; number < bursts; number += 1) {
    const { before, burst, reads } = makeBurst(random, 2 + random.integer(maxBurst - 1))
    // oxlint-disable-next-line no-await-in-loop -- one burst after the other: the barrier
    const first = await askInTurn(stores, before)
    // oxlint-disable-next-line no-await-in-loop -- as above
    const answered = await Promise.all(burst.map((call, index) => ask(stores, call, index)))
    // oxlint-disable-next-line no-await-in-loop -- as above
    const last = await askInTurn(stores, reads)
    // Each burst has its own rows, so that what was stored before does not affect it.
    const started = follow(createModel(), first)
    const isExplained = started !== null && hasOrder(started, answered, last)
    ok(isExplained, describe({ seed, number, first, answered, last }))
  }
}

async function ask(stores: readonly Asked[], call: Call, index: number): Promise<Answered> {
  const store = stores[index % stores.length] as Asked
  return { call, answer: await answerOf(() => call.ask(store)) }
}

async function askInTurn(stores: readonly Asked[], calls: readonly Call[]): Promise<Answered[]> {
  const answered: Answered[] = []
  // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
  for (const [index, call] of calls.entries()) answered.push(await ask(stores, call, index))
  return answered
}

/** Returns the model after these calls in this order, or null if it answers differently. */
function follow(model: Model, answered: readonly Answered[]): Model | null {
  const next = model.copy()
  return answered.every(({ call, answer }) => isAnswer(answer, () => call.ask(next))) ? next : null
}

/** Returns whether the model gives this answer. What the port leaves open may be answered in any way. */
function isAnswer(answer: string, take: () => unknown): boolean {
  try {
    return show(take()) === answer
  } catch (error) {
    if (error instanceof Unspecified) return true
    return error instanceof StorageError && answer === `StorageError '${error.kind}'`
  }
}

/** A state of the search: which steps of each call are taken, what the last of them said, and the rows so far. */
interface SearchState {
  readonly taken: readonly number[]
  readonly said: readonly unknown[]
  readonly model: Model
}

/** Returns whether some order of the calls explains all answers and the rows that were read afterwards. */
function hasOrder(start: Model, answered: readonly Answered[], last: readonly Answered[]): boolean {
  const deadEnds = new Set<string>()
  function leadsOn(state: SearchState): boolean {
    if (state.taken.every((taken, index) => taken === stepsOf(answered[index]).length))
      return follow(state.model, last) !== null
    // Orders that lead to the same rows with the same steps left count as one.
    const key = `${show(state.taken)}${show(state.said)}${state.model.text()}`
    if (deadEnds.has(key)) return false
    const found = answered.some((each, index) => {
      const next = step(state, each, index)
      return next !== null && leadsOn(next)
    })
    if (!found) deadEnds.add(key)
    return found
  }
  return leadsOn({ taken: answered.map(() => 0), said: answered.map(() => undefined), model: start })
}

type Step = (model: Model, before: unknown) => unknown

function stepsOf(answered: Answered | undefined): readonly Step[] {
  if (answered === undefined) return []
  return answered.call.steps ?? [(model) => answered.call.ask(model)]
}

/** Takes the next step of a call. Returns null if there is none left or if the answer was different. */
function step({ taken, said, model }: SearchState, answered: Answered, index: number): SearchState | null {
  const steps = stepsOf(answered)
  const next = steps[taken[index] ?? 0]
  if (next === undefined) return null
  const copy = model.copy()
  const count = (taken[index] ?? 0) + 1
  if (count < steps.length) {
    const value = next(copy, said[index])
    return { taken: taken.with(index, count), said: said.with(index, value), model: copy }
  }
  if (!isAnswer(answered.answer, () => next(copy, said[index]))) return null
  return { taken: taken.with(index, count), said: said.with(index, undefined), model: copy }
}

interface Failure {
  readonly seed: number
  readonly number: number
  readonly first: readonly Answered[]
  readonly answered: readonly Answered[]
  readonly last: readonly Answered[]
}

function describe({ seed, number, first, answered, last }: Failure): string {
  return [
    `Seed ${seed}, burst ${number + 1} has answers, or rows afterwards, that no order of its calls explains. Before the burst:`,
    ...first.map(toLine),
    'At once, on each instance in turn:',
    ...answered.map(toLine),
    'After the burst:',
    ...last.map(toLine),
  ].join('\n')
}

function toLine({ call, answer }: Answered): string {
  return `  ${clip(call.text)} → ${clip(answer)}`
}
