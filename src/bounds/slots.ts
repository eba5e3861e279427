/**
 * What is under way, in slots that are used again.
 *
 * Not a Set or a Map, because V8 leaves each table that one of them has outgrown with a pointer to the next, and so
 * keeps all that was ever in them, with its requests and answers, until a full garbage collection.
 */
export class Slots<Value> {
  readonly #values: (Value | undefined)[] = []
  readonly #free: number[] = []

  /** How many are under way. */
  get size(): number {
    return this.#values.length - this.#free.length
  }

  /** Returns the slot that frees the place again. */
  add(value: Value): number {
    const slot = this.#free.pop() ?? this.#values.length
    this.#values[slot] = value
    return slot
  }

  /** Frees a slot, once. */
  free(slot: number): void {
    this.#values[slot] = undefined
    this.#free.push(slot)
  }

  /** Returns all that are under way, in a list that does not change when they leave. */
  all(): Value[] {
    return this.#values.filter((value) => value !== undefined)
  }
}
