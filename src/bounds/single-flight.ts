import { AsyncResource } from 'node:async_hooks'
import { performance } from '../ports/timers.ts'
import { Callers } from './callers.ts'
import { inNoContext } from './no-context.ts'
import { Progress } from './progress.ts'

/** Lets equal requests share one execution of their work, which runs in the async context of none of them. */
export interface SingleFlight<Value, Part = never> {
  /**
   * Returns the result of the work named by `key`, from the execution under way or a new one.
   *
   * A request leaves if its signal aborts. The work itself is aborted when all requests have left. `onPart` is told of all
   * that the work reports, also of what came before the request. An execution that ends later than the request can wait, or
   * so soon that little of that time would be used, is not joined.
   */
  join(
    key: string,
    caller: string,
    terms: FlightTerms,
    work: (flight: Flight<Part>) => Promise<Value>,
    onPart?: (part: Part) => void,
  ): Promise<Value>
  /** How many executions can be joined. */
  readonly size: number
}

/** How long a request waits, and the longest that the work takes if the request starts it. */
export interface FlightTerms {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** What the work knows about its callers. */
export interface Flight<Part = never> {
  readonly callers: Callers
  /** Aborts when all have left, or when the work has failed, so what it left under way ends as well. */
  readonly signal: AbortSignal
  /** Where the work reports parts of its result. */
  readonly progress: Progress<Part>
  /** Runs work in the async context of the request that has started the execution. */
  readonly inFirst: <Result>(work: () => Result) => Result
}

interface Execution<Value, Part> {
  readonly callers: Callers
  readonly abort: () => void
  readonly result: Promise<Value>
  readonly progress: Progress<Part>
  /** A time on the scale of `performance.now()`. */
  readonly endsAt: number
}

/** Holds an execution. Empty once it can no longer be joined. */
interface Entry<Value, Part> {
  execution: Execution<Value, Part> | undefined
}

export function createSingleFlight<Value, Part = never>(): SingleFlight<Value, Part> {
  const underWay = new Map<string, Entry<Value, Part>>()

  function forget(key: string, execution: Execution<Value, Part>): void {
    const entry = underWay.get(key)
    if (entry?.execution !== execution) return
    underWay.delete(key)
    // A map's former tables keep their entries, and what is in them, until a full garbage collection.
    entry.execution = undefined
  }

  function start(
    key: string,
    caller: string,
    timeoutMs: number,
    work: (flight: Flight<Part>) => Promise<Value>,
  ): Execution<Value, Part> {
    const callers = new Callers(caller)
    const controller = new AbortController()
    const endsAt = performance.now() + timeoutMs
    const progress = new Progress<Part>()
    const first = new AsyncResource('utility-api')
    const inFirst: Flight['inFirst'] = (part) => first.runInAsyncScope(part)
    // Its listeners belong to the work, whoever is the last to leave.
    const abort = (): void => inNoContext(() => controller.abort())
    const flight = { callers, signal: controller.signal, progress, inFirst }
    const result = inNoContext(work, flight).finally(() => forget(key, execution))
    result.catch(abort)
    const execution = { callers, abort, result, progress, endsAt }
    underWay.set(key, { execution })
    return execution
  }

  function joinable(key: string, timeoutMs: number): Execution<Value, Part> | undefined {
    const execution = underWay.get(key)?.execution
    const leftMs = (execution?.endsAt ?? 0) - performance.now()
    return leftMs <= timeoutMs && leftMs * 2 > timeoutMs ? execution : undefined
  }

  function leave(key: string, caller: string, execution: Execution<Value, Part>): void {
    execution.callers.leave(caller)
    if (!execution.callers.isEmpty) return
    // The next request must not join work that is being aborted.
    forget(key, execution)
    execution.abort()
  }

  return {
    async join(key, caller, { signal, timeoutMs }, work, onPart) {
      signal.throwIfAborted()
      const present = joinable(key, timeoutMs)
      present?.callers.join(caller)
      const execution = present ?? start(key, caller, timeoutMs, work)
      if (onPart !== undefined) execution.progress.follow(onPart)
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
    // Perhaps it has aborted already, by one who was just told of a part.
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
