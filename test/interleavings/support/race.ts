import { answerOf } from '../../../src/testing/contract/calls.ts'
import type { Choose } from './every-way.ts'

type State = 'busy' | 'waiting' | 'blocked' | 'hangs' | 'done'

/** One of two calls: its next step waits to be taken, or it waits for something else. */
export class Lane {
  state: State = 'busy'
  /** Takes the next step. */
  next: () => void = () => {}
  /** When its first step was taken, and when it was answered: calls that nobody has to order were not one after the other. */
  from: number = 0
  to: number = Infinity
  /** As text. Null if it had a fault, after which nobody knows whether it was done. */
  answer: string | null = null
  hadFault: boolean = false
  readonly #race: Race

  constructor(race: Race) {
    this.#race = race
  }

  /** Its next step has come. */
  wait(next: () => void): void {
    this.next = next
    this.become('waiting')
  }

  become(state: State): void {
    this.state = state
    this.#race.moved()
  }

  /** Follows a call to its end. */
  async follow(asked: Promise<unknown>): Promise<void> {
    const answer = await answerOf(() => asked)
    this.answer = this.hadFault && answer === "StorageError 'unavailable'" ? null : answer
    this.to = this.#race.steps
    this.become('done')
  }
}

interface Watching {
  readonly watch?: () => Promise<void>
  readonly goOn: () => Promise<void>
}

/** Two calls whose steps are taken in an order that is chosen. */
export class Race {
  readonly lanes: readonly [Lane, Lane] = [new Lane(this), new Lane(this)]
  steps: number = 0
  #moved = Promise.withResolvers<void>()

  #busy(): readonly Lane[] {
    return this.lanes.filter(({ state }) => state === 'busy')
  }

  moved(): void {
    this.#moved.resolve()
    this.#moved = Promise.withResolvers()
  }

  /**
   * Takes steps until both calls are done. `watch` looks whether a step that was taken waits for the other call, and
   * `goOn` lets go on what waits for something else.
   */
  async run(choose: Choose, { watch, goOn }: Watching): Promise<void> {
    for (;;) {
      for (let busy = this.#busy(); busy.length > 0; busy = this.#busy())
        // If both are, one of them may be about to let the other go on.
        // oxlint-disable-next-line no-await-in-loop -- one step after the other
        await Promise.race([this.#moved.promise, ...(busy.length === 1 && watch ? [watch()] : [])])
      if (this.lanes.every(({ state }) => state === 'done')) return
      const ready = this.lanes.filter(({ state }) => state === 'waiting')
      const lane = ready[ready.length > 1 ? choose(2) : 0]
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (lane === undefined) await goOn()
      else {
        for (const each of this.lanes) if (each.state === 'blocked') each.state = 'busy'
        this.steps += 1
        if (lane.from === 0) lane.from = this.steps
        lane.state = 'busy'
        lane.next()
      }
    }
  }
}
