import type { Clock } from '../ports/clock.ts'

/** Work whose equal requests share one execution, and for a while its result. */
export interface SharedWork<Value> {
  /**
   * The result of the work named by `key`: one that is kept, one that is under way, or a new one.
   *
   * A caller whose signal aborts leaves; the work itself is aborted when all have left.
   */
  get(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value>
}

interface Execution<Value> {
  readonly result: Promise<Value>
  readonly controller: AbortController
  callers: number
}

export interface SharedWorkOptions<Value> {
  readonly clock: Clock
  /** How long a result may be given out again, in milliseconds; 0: not at all. */
  lifetimeMs(value: Value): number
}

const maxKept = 1000

export function createSharedWork<Value>(options: SharedWorkOptions<Value>): SharedWork<Value> {
  const { clock, lifetimeMs } = options
  const underWay = new Map<string, Execution<Value>>()
  const kept = new Map<string, { readonly value: Value; readonly until: number }>()

  function keep(key: string, value: Value): void {
    const lifetime = lifetimeMs(value)
    if (lifetime <= 0) return
    // The oldest goes first; it is also the first to expire, near enough.
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? '')
    kept.delete(key)
    kept.set(key, { value, until: clock.now() + lifetime })
  }

  function start(key: string, work: (signal: AbortSignal) => Promise<Value>): Execution<Value> {
    const controller = new AbortController()
    const forget = (): void => {
      if (underWay.get(key) === execution) underWay.delete(key)
    }
    const result = work(controller.signal).finally(forget)
    const execution = { result, controller, callers: 0 }
    result.then(
      (value) => keep(key, value),
      () => undefined,
    )
    underWay.set(key, execution)
    return execution
  }

  function leave(key: string, execution: Execution<Value>): void {
    execution.callers -= 1
    if (execution.callers > 0) return
    // Whoever asks next must not join work that is being aborted.
    if (underWay.get(key) === execution) underWay.delete(key)
    execution.controller.abort()
  }

  return {
    async get(key, signal, work) {
      signal.throwIfAborted()
      const hit = kept.get(key)
      if (hit !== undefined && clock.now() < hit.until) return hit.value
      kept.delete(key)
      const execution = underWay.get(key) ?? start(key, work)
      execution.callers += 1
      return untilAborted(signal, execution.result, () => leave(key, execution))
    },
  }
}

function untilAborted<Value>(signal: AbortSignal, result: Promise<Value>, leave: () => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      leave()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
