/** Is told when callers join or leave a piece of work. */
export interface CallersListener {
  /** Called when a caller joins who was not there before. */
  joined(caller: string): void
  /** Called when the last request of a caller has left. */
  left(caller: string): void
}

/** The callers that a piece of work is done for, by their keys. Each may have several requests. */
export class Callers {
  readonly #requests = new Map<string, number>()
  readonly #listeners = new Set<CallersListener>()

  constructor(first: string) {
    this.#requests.set(first, 1)
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0
  }

  /** Returns the key of each caller once, in the order in which they joined. */
  keys(): IterableIterator<string> {
    return this.#requests.keys()
  }

  join(caller: string): void {
    const requests = this.#requests.get(caller) ?? 0
    this.#requests.set(caller, requests + 1)
    if (requests === 0) for (const listener of this.#listeners) listener.joined(caller)
  }

  leave(caller: string): void {
    const requests = this.#requests.get(caller) ?? 0
    if (requests > 1) {
      this.#requests.set(caller, requests - 1)
      return
    }
    this.#requests.delete(caller)
    for (const listener of this.#listeners) listener.left(caller)
  }

  /** Tells a listener about all changes. Returns a function that ends this. */
  listen(listener: CallersListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
