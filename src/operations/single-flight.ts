import { Callers } from './callers.ts'

/** Lets equal requests share one execution of their work while it is under way. */
export interface SingleFlight<Value> {
  /**
   * Returns the result of the work named by `key`, from the execution under way or a new one.
   *
   * A request leaves if its signal aborts. The work itself is aborted when all requests have left.
   */
  join(
    key: string,
    caller: string,
    signal: AbortSignal,
    work: (flight: Flight) => Promise<Value>,
  ): Promise<Value>
  /** How many executions can be joined. */
  readonly size: number
}

/** What the work knows about its callers. */
export interface Flight {
  readonly callers: Callers
  /** Aborts when all have left. */
  readonly signal: AbortSignal
}

interface Execution<Value> {
  readonly callers: Callers
  readonly controller: AbortController
  readonly result: Promise<Value>
  /** A time on the scale of `performance.now()`. */
  readonly joinableUntil: number
}

/** Holds an execution. Empty once it can no longer be joined. */
interface Entry<Value> {
  execution: Execution<Value> | undefined
}

/**
 * @param joinableMs - How long an execution may be joined. Later requests get their own, because an older execution has
 * little of its time left.
 */
export function createSingleFlight<Value>(joinableMs: number): SingleFlight<Value> {
  const underWay = new Map<string, Entry<Value>>()

  function forget(key: string, execution: Execution<Value>): void {
    const entry = underWay.get(key)
    if (entry?.execution !== execution) return
    underWay.delete(key)
    // A map's former tables keep their entries, and what is in them, until a full garbage collection.
    entry.execution = undefined
  }

  function start(key: string, caller: string, work: (flight: Flight) => Promise<Value>): Execution<Value> {
    const callers = new Callers(caller)
    const controller = new AbortController()
    const joinableUntil = performance.now() + joinableMs
    const result = work({ callers, signal: controller.signal }).finally(() => forget(key, execution))
    const execution = { callers, controller, result, joinableUntil }
    underWay.set(key, { execution })
    return execution
  }

  function joinable(key: string): Execution<Value> | undefined {
    const execution = underWay.get(key)?.execution
    return execution !== undefined && performance.now() < execution.joinableUntil ? execution : undefined
  }

  function leave(key: string, caller: string, execution: Execution<Value>): void {
    execution.callers.leave(caller)
    if (!execution.callers.isEmpty) return
    // The next request must not join work that is being aborted.
    forget(key, execution)
    execution.controller.abort()
  }

  return {
    async join(key, caller, signal, work) {
      signal.throwIfAborted()
      const present = joinable(key)
      present?.callers.join(caller)
      const execution = present ?? start(key, caller, work)
      return untilAborted(signal, execution.result, () => leave(key, caller, execution))
    },
    get size() {
      return underWay.size
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
