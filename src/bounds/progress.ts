/** The parts of a result as they come, for those who wait for the whole and may have come late. */
export class Progress<Part> {
  readonly #parts: Part[] = []
  readonly #listeners: ((part: Part) => void)[] = []

  add(part: Part): void {
    this.#parts.push(part)
    for (const listener of this.#listeners) listener(part)
  }

  /** Tells a listener, which must not throw, of each part, including those that are there already. */
  follow(listener: (part: Part) => void): void {
    for (const part of this.#parts) listener(part)
    this.#listeners.push(listener)
  }
}
