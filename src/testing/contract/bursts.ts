import { ok } from 'node:assert/strict'
import { answerOf, clip, makeBurst, type Call } from './calls.ts'
import { createModel, type Asked } from './model.ts'
import { hasOrder, type SeenCall } from './order.ts'
import { createRandom } from './random.ts'

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
    const [began, ended] = [first.length, first.length + 1]
    // Each burst has its own rows, so that what was stored before does not affect it.
    const isExplained = hasOrder(createModel(), [
      ...inTurn(first, 0),
      ...answered.map((each) => seen(each, began, ended)),
      ...inTurn(last, ended + 1),
    ])
    ok(isExplained === true, describe({ seed, number, first, answered, last }))
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

/** Returns the calls as they were seen: one after the other, from a time on. */
function inTurn(answered: readonly Answered[], from: number): SeenCall[] {
  return answered.map((each, index) => seen(each, from + index, from + index))
}

function seen({ call, answer }: Answered, from: number, to: number): SeenCall {
  return { steps: call.steps ?? [(model) => call.ask(model)], answer, from, to }
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
