/** What waits for an answer, and is called when its time has come. */
export interface Waiter {
  /** Where the waiting room keeps it. */
  place: number
  /** When to call it, as a moment of `performance.now()`. May be put off, never brought forward. */
  dueAt: number
  /** Called at that moment or up to a millisecond later; what still waits then has put itself off. */
  onDue(): void
}

/**
 * All that waits, behind one timer. It is set for what is due first; most waiters are gone by then, so that it seldom goes
 * off, and looking through all of them costs little.
 */
export class WaitingRoom<Each extends Waiter> {
  /**
   * A gap is filled by the last one. Not a set: one that is added to and deleted from all the time keeps its former tables
   * alive, and what is in them, until a major garbage collection.
   */
  readonly #waiters: Each[] = []
  #timer: NodeJS.Timeout | undefined
  #callsAt = Number.POSITIVE_INFINITY

  add(waiter: Each): void {
    waiter.place = this.#waiters.length
    this.#waiters.push(waiter)
    this.#callBy(waiter.dueAt)
  }

  remove(waiter: Each): void {
    const last = this.#waiters.pop()
    if (last !== undefined && last !== waiter) {
      this.#waiters[waiter.place] = last
      last.place = waiter.place
    }
    if (this.#waiters.length === 0) this.#stopTimer()
  }

  /** All of them, in a list that does not change when they leave. */
  everyone(): Each[] {
    return this.#waiters.slice()
  }

  #callBy(moment: number): void {
    if (moment >= this.#callsAt) return
    clearTimeout(this.#timer)
    this.#callsAt = moment
    // Node warns of a negative delay.
    const delayMs = Math.max(0, Math.ceil(moment - performance.now()))
    this.#timer = setTimeout(() => this.#call(), delayMs)
  }

  #call(): void {
    const now = performance.now()
    this.#stopTimer()
    for (const waiter of this.everyone()) if (waiter.dueAt <= now) waiter.onDue()
    let earliest = Number.POSITIVE_INFINITY
    for (const { dueAt } of this.#waiters) if (dueAt < earliest) earliest = dueAt
    this.#callBy(earliest)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#callsAt = Number.POSITIVE_INFINITY
  }
}
