import { AsyncResource } from 'node:async_hooks'

/** The parts of a result as they come, for those who wait for the whole and may have come late. */
export class Progress<Part> {
  readonly #parts: Part[] = []
  readonly #listeners: ((part: Part) => void)[] = []

  add(part: Part): void {
    this.#parts.push(part)
    for (const listener of this.#listeners) listener(part)
  }

  /**
   * Tells a listener, which must not throw, of each part, including those that are there already. It is called in the
   * async context of this call, because in that of the work, one user's listener would act as whoever asked first.
   */
  follow(listener: (part: Part) => void): void {
    for (const part of this.#parts) listener(part)
    const own = new AsyncResource('utility-api')
    this.#listeners.push((part) => own.runInAsyncScope(listener, undefined, part))
  }
}
