/** Counts what is asked of a database, so that one step of it can be chosen. */
export class Steps {
  taken = 0
  /** Which step gets a fault; 0: none. */
  chosen = 0
  #counts = false

  /** Begins to count: what sets up a store is not a step. */
  begin(chosen: number): void {
    this.taken = 0
    this.chosen = chosen
    this.#counts = true
  }

  end(): void {
    this.#counts = false
  }

  /** Whether the chosen step has come. */
  get isOver(): boolean {
    return this.taken >= this.chosen && this.chosen > 0
  }

  /** Takes a step, and tells whether it is the chosen one. */
  take(): boolean {
    if (!this.#counts) return false
    this.taken += 1
    return this.taken === this.chosen
  }
}
