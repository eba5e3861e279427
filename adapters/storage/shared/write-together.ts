import { AsyncResource } from 'node:async_hooks'
import type { StorageCall } from 'utility-api/storage'
import { nobodyWaits } from './call-time.ts'
import { inNoContext } from './no-context.ts'
import { clearTimeout, nextTick, setTimeout } from './timers.ts'

/** The maximum number of writes in one statement. */
const maxWrites = 256

/** How long a statement that has not been answered holds up the writes that arrive after it. */
const patienceMs = 10

/** A kind of write, of which one statement or transaction, here called a statement, can make many. */
export interface WriteKind<Write, Outcome> {
  /** Returns what it is known by. Of writes that have one of these in common, one is made after the other. */
  readonly keysOf: (write: Write) => readonly [key: string, ...others: string[]]
  /**
   * Makes the writes that need not wait for a locked row, by one commit, and returns the first key of each. The
   * writes are taken once there is a connection.
   */
  readonly together: (call: StorageCall, takeWrites: () => readonly Write[]) => Promise<readonly string[]>
  /** The outcome of a write that it has made. */
  readonly made: Outcome
  /** Makes a write by a separate statement, which waits as long as it must and finds out why it is refused. */
  readonly alone: (write: Write, call: StorageCall) => Promise<Outcome>
}

/** The database that makes the writes. */
export interface Database {
  /** Its name, for messages. */
  readonly name: string
  /** Tells whether it has undone a statement for a reason that may be one of its writes. */
  readonly isUndone: (error: unknown) => boolean
}

/** Makes a write of one kind. */
export type MakeWrite<Write, Outcome> = (call: StorageCall, write: Write) => Promise<Outcome>

interface Job<Write, Outcome> extends PromiseWithResolvers<Outcome> {
  readonly write: Write
  readonly call: StorageCall
  /** The async context of its caller. */
  readonly context: AsyncResource
  readonly keys: readonly [key: string, ...others: string[]]
}

/**
 * Creates a function that makes writes of one kind. Those that arrive together, or while a statement of their kind is
 * under way, share one statement and its commit. A write that finds nothing under way is sent at once, by itself.
 *
 * The shared statement makes what can be made at once. Every other write goes alone, because its row is locked, it is
 * refused, or one of them has undone the statement. So no write waits for another's row, and none gets another's error.
 * If nobody knows whether the statement was carried out, nobody knows it of any of its writes.
 */
export function writeTogether<Write, Outcome>(
  { name, isUndone }: Database,
  { keysOf, together, made, alone }: WriteKind<Write, Outcome>,
): MakeWrite<Write, Outcome> {
  let waiting: Job<Write, Outcome>[] = []
  const keysUnderWay: Set<string> = new Set()
  let scheduled = false
  let heldUp = false

  function schedule(): void {
    if (scheduled || heldUp || waiting.length === 0) return
    scheduled = true
    nextTick(sendNext)
  }

  function sendNext(): void {
    scheduled = false
    const jobs = takeJobs()
    const [first, second] = jobs
    if (first === undefined) return
    heldUp = true
    const timer = setTimeout(letNext, patienceMs)
    function letNext(): void {
      clearTimeout(timer)
      heldUp = false
      schedule()
    }
    const answered = second === undefined ? sendAlone(first) : inNoContext(sendTogether, jobs)
    answered.then(letNext, letNext)
  }

  /** Takes the jobs that have no key in common with one that is under way or before them. */
  function takeJobs(): Job<Write, Outcome>[] {
    const taken: Job<Write, Outcome>[] = []
    waiting = stillAwaited(waiting).filter((job) => {
      if (taken.length === maxWrites || job.keys.some((key) => keysUnderWay.has(key))) return true
      for (const key of job.keys) keysUnderWay.add(key)
      const free = (): void => freeKeys(job.keys)
      job.promise.then(free, free)
      taken.push(job)
      return false
    })
    return taken
  }

  function freeKeys(keys: readonly string[]): void {
    for (const key of keys) keysUnderWay.delete(key)
    schedule()
  }

  /** Resolves when the statement has been answered, whatever goes alone after it. */
  async function sendTogether(jobs: Job<Write, Outcome>[]): Promise<void> {
    let sent = jobs
    // Is sent as long as any of its callers waits, without those who do not.
    const call = { timeLeftMs: () => Math.max(...jobs.map((job) => job.call.timeLeftMs())) }
    function takeWrites(): readonly Write[] {
      sent = stillAwaited(jobs)
      return sent.map((job) => job.write)
    }
    try {
      const keys = new Set(await together(call, takeWrites))
      for (const job of sent)
        if (keys.has(job.keys[0])) job.resolve(made)
        else void sendAlone(job)
    } catch (error) {
      const then = isUndone(error) ? sendAlone : (job: Job<Write, Outcome>) => job.reject(error)
      for (const job of sent) void then(job)
    }
  }

  /** Returns the jobs that somebody waits for, and rejects the others. */
  function stillAwaited(jobs: readonly Job<Write, Outcome>[]): Job<Write, Outcome>[] {
    return jobs.filter((job) => {
      const isAwaited = job.call.timeLeftMs() > 0
      if (!isAwaited) job.reject(nobodyWaits(name))
      return isAwaited
    })
  }

  function sendAlone(job: Job<Write, Outcome>): Promise<Outcome> {
    job.resolve(job.context.runInAsyncScope(alone, undefined, job.write, job.call))
    return job.promise
  }

  return (call, write) => {
    // `AsyncLocalStorage.snapshot` takes as long as the rest of a write.
    const context = new AsyncResource('utility-api')
    const job = { write, call, context, keys: keysOf(write), ...Promise.withResolvers<Outcome>() }
    waiting.push(job)
    schedule()
    return job.promise
  }
}
