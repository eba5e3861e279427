/** The controllers to abort when the service closes. */
export class Closing {
  // An array: a Set, or `AbortSignal.any` with one signal for all, would keep whatever was removed, and all of its
  // request, in memory until a full garbage collection.
  readonly #open: (AbortController | undefined)[] = []
  readonly #free: number[] = []
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  /** Adds a controller. Returns a function that removes it. */
  add(controller: AbortController): () => void {
    if (this.#aborted) controller.abort()
    const slot = this.#free.pop() ?? this.#open.length
    this.#open[slot] = controller
    return () => {
      this.#open[slot] = undefined
      this.#free.push(slot)
    }
  }

  abort(): void {
    this.#aborted = true
    for (const controller of this.#open) controller?.abort()
  }
}
