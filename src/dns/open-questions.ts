import { isSameQuestion, type EncodedQuery } from './wire/encoded-query.ts'

/** A question that is not answered yet. */
export interface OpenQuestion<Self> {
  readonly encoded: EncodedQuery
  /** Whether it is asked over TCP from the start. */
  readonly tcpOnly: boolean
  /** The one before it in its chain. */
  earlier: Self | undefined
}

/** As many as the highest octet of a hash can tell apart. */
const chainCount = 256

/**
 * The questions to one resolver that are under way, found by what they ask.
 *
 * Not a map, because one that fills and empties all the time gets a new table every few questions.
 */
export class OpenQuestions<Each extends OpenQuestion<Each>> {
  /** The latest question of each chain. */
  readonly #chains: (Each | undefined)[] = Array.from({ length: chainCount })

  /** Returns the latest that asks the same over the same transport. */
  find(encoded: EncodedQuery, tcpOnly: boolean): Each | undefined {
    let each = this.#chains[chainOf(encoded)]
    while (each !== undefined && !(each.tcpOnly === tcpOnly && isSameQuestion(each.encoded, encoded)))
      each = each.earlier
    return each
  }

  add(question: Each): void {
    const chain = chainOf(question.encoded)
    question.earlier = this.#chains[chain]
    this.#chains[chain] = question
  }

  remove(question: Each): void {
    const chain = chainOf(question.encoded)
    let later = this.#chains[chain]
    if (later === question) this.#chains[chain] = question.earlier
    else {
      while (later !== undefined && later.earlier !== question) later = later.earlier
      if (later !== undefined) later.earlier = question.earlier
    }
    // What is over must not keep others in memory.
    question.earlier = undefined
  }
}

function chainOf({ hash }: EncodedQuery): number {
  return hash >>> 24
}
