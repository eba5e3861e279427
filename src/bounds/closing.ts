import { Slots } from './slots.ts'

/**
 * A signal for one piece of work, and what ends it once the work is done, because a source of the signal may live
 * longer.
 */
export interface WorkSignal {
  readonly signal: AbortSignal
  /** Called once. */
  stop(): void
}

/** Tells the work in progress that the service closes. */
export class Closing {
  // Not `AbortSignal.any` with one signal for all, which would keep the requests that are answered.
  readonly #open = new Slots<AbortController>()
  aborted = false

  /** Returns a signal that aborts when the client is gone, if `gone` tells that, or when the service closes. */
  workSignal(gone: AbortSignal | undefined): WorkSignal {
    const controller = new AbortController()
    const abort = (): void => controller.abort(gone?.reason)
    gone?.addEventListener('abort', abort)
    if (gone?.aborted === true) abort()
    if (this.aborted) controller.abort()
    const slot = this.#open.add(controller)
    return {
      signal: controller.signal,
      stop: () => {
        gone?.removeEventListener('abort', abort)
        this.#open.free(slot)
      },
    }
  }

  abort(): void {
    this.aborted = true
    for (const controller of this.#open.all()) controller.abort()
  }
}
