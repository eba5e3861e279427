import { Slots } from '../bounds/slots.ts'
import { clearTimeout, performance, setTimeout } from '../ports/timers.ts'

/** Something that waits for an answer and is called when its time has come. */
export interface Waiter {
  /** Its slot in the waiting room. */
  slot: number
  /** When to call it, as a time of `performance.now()`. May be moved later, never earlier. */
  dueAt: number
  /** Called at that time or up to a millisecond later. If it keeps waiting, it has set a later time. */
  onDue(): void
}

/**
 * All waiters, behind one timer. The timer is set for the waiter that is due first. Most waiters are gone by then, so
 * the timer seldom fires, and looking through all of them costs little. While nobody waits, it stays set for those to
 * come, who are due later, but does not keep the process alive.
 */
export class WaitingRoom<Each extends Waiter> {
  readonly #waiters = new Slots<Each>()
  #timer: NodeJS.Timeout | undefined
  #callsAt = Number.POSITIVE_INFINITY

  add(waiter: Each): void {
    waiter.slot = this.#waiters.add(waiter)
    this.#callBy(waiter.dueAt)
    if (this.#waiters.size === 1) this.#timer?.ref()
  }

  remove(waiter: Each): void {
    this.#waiters.free(waiter.slot)
    if (this.#waiters.size === 0) this.#timer?.unref()
  }

  /** Returns all waiters, in a list that does not change when they leave. */
  everyone(): Each[] {
    return this.#waiters.all()
  }

  #callBy(moment: number): void {
    if (moment >= this.#callsAt) return
    clearTimeout(this.#timer)
    this.#callsAt = moment
    // Node warns about a negative delay.
    const delayMs = Math.max(0, Math.ceil(moment - performance.now()))
    this.#timer = setTimeout(() => this.#call(), delayMs)
  }

  #call(): void {
    const now = performance.now()
    this.#stopTimer()
    for (const waiter of this.everyone()) if (waiter.dueAt <= now) waiter.onDue()
    let earliest = Number.POSITIVE_INFINITY
    for (const { dueAt } of this.everyone()) if (dueAt < earliest) earliest = dueAt
    this.#callBy(earliest)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#callsAt = Number.POSITIVE_INFINITY
  }
}
