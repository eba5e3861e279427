/** What is aborted when the service closes. */
export class Closing {
  // Places, neither a Set nor an `AbortSignal.any` with one signal for all: these two keep whatever has left, and all of its
  // request, until a full garbage collection.
  readonly #open: (AbortController | undefined)[] = []
  readonly #free: number[] = []
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  /** Takes one in; what it returns lets it go again. */
  add(controller: AbortController): () => void {
    if (this.#aborted) controller.abort()
    const place = this.#free.pop() ?? this.#open.length
    this.#open[place] = controller
    return () => {
      this.#open[place] = undefined
      this.#free.push(place)
    }
  }

  abort(): void {
    this.#aborted = true
    for (const controller of this.#open) controller?.abort()
  }
}
