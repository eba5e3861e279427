const nothing = Buffer.alloc(0)
const firstCapacity = 512

/**
 * Octets that come piece by piece, in one buffer that grows, because a stranger may send octet after octet, and a
 * segment that is kept alone takes hundreds of times what it holds.
 */
export class GrowingBuffer {
  #buffer = nothing
  #filled = 0

  get length(): number {
    return this.#filled
  }

  /** Copies a chunk behind what has come. Returns all of that, as a view. */
  append(chunk: Uint8Array): Buffer {
    const needed = this.#filled + chunk.length
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(firstCapacity, 2 * this.#buffer.length, needed))
      this.#buffer.copy(grown, 0, 0, this.#filled)
      this.#buffer = grown
    }
    this.#buffer.set(chunk, this.#filled)
    this.#filled = needed
    return this.#buffer.subarray(0, needed)
  }

  /** Begins anew, in another buffer, because views of this one may be in use. */
  clear(): void {
    this.#buffer = nothing
    this.#filled = 0
  }
}
