/** Hears of those who come to a piece of work and of those who leave it. */
export interface CallersListener {
  /** A caller has come who was not there before. */
  joined(caller: string): void
  /** The last request of a caller has left. */
  left(caller: string): void
}

/** Those for whom one piece of work is done, by their keys; each may be there with several requests. */
export class Callers {
  readonly #requests = new Map<string, number>()
  readonly #listeners = new Set<CallersListener>()

  constructor(first: string) {
    this.#requests.set(first, 1)
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0
  }

  /** The key of each caller once, who came first first. */
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

  /** Tells a listener of all changes until it calls what it gets. */
  listen(listener: CallersListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
