import { clearTimeout, setTimeout } from '../ports/timers.ts'
import type { Callers } from './callers.ts'

/**
 * Limits how many tasks run at once. A single caller may run at most half as many, but at least one. The other tasks
 * wait. A free place goes to the waiting callers in turn, and within a caller to the task that has waited longest.
 *
 * A task with several callers waits in the line of each and runs on the first turn that comes. It takes a place of only
 * that caller. When that caller leaves, it takes a place of another who stays, even if that one already has half of the
 * places.
 */
export interface Semaphore {
  /**
   * Runs a task as soon as a place is free. Rejects with the signal's reason if it aborts before that, and with a
   * `NoTurnError` after `maxWaitMs`. Once the task runs, it must observe both itself.
   */
  run<Value>(task: () => Promise<Value>, terms: SemaphoreTerms): Promise<Value>
  /** How many callers hold a place or wait for one. */
  readonly callers: number
}

export interface SemaphoreTerms {
  /** The callers that the task runs for. */
  readonly callers: Callers
  readonly signal: AbortSignal
  /**
   * How long it may wait for its turn. Half of its time, so that the other half is for the work. If it started at the
   * last moment, it would fail, and that would be taken for an answer.
   */
  readonly maxWaitMs: number
}

/** Thrown if a task has waited for its turn as long as it may. */
export class NoTurnError extends Error {
  override readonly name: string = 'NoTurnError'
}

/** What one caller holds and waits for. Removed once it is nothing. */
interface Account {
  readonly caller: string
  held: number
  readonly waiting: Set<Job>
}

interface Job {
  readonly callers: Callers
  /** The account whose place it takes; undefined while it waits. */
  holder: Account | undefined
  /** Called when its turn comes. */
  start: () => void
}

export function createSemaphore(maxConcurrent: number): Semaphore {
  const maxPerCaller = Math.max(1, Math.floor(maxConcurrent / 2))
  const accounts = new Map<string, Account>()
  /** The accounts that wait and may have another place, in the order of their turns. Empty while a place is free. */
  const ready = new Set<Account>()
  let running = 0

  function accountOf(caller: string): Account {
    const known = accounts.get(caller)
    if (known !== undefined) return known
    const account = { caller, held: 0, waiting: new Set<Job>() }
    accounts.set(caller, account)
    return account
  }

  /** Updates who is ready, after each change of an account. An account that is already ready keeps its turn. */
  function settle(account: Account): void {
    if (account.waiting.size > 0 && account.held < maxPerCaller) ready.add(account)
    else ready.delete(account)
    if (account.waiting.size === 0 && account.held === 0) accounts.delete(account.caller)
  }

  function enqueue(job: Job, caller: string): void {
    const account = accountOf(caller)
    account.waiting.add(job)
    settle(account)
  }

  function dequeue(job: Job, caller: string): void {
    const account = accountOf(caller)
    account.waiting.delete(job)
    settle(account)
  }

  function take(job: Job, caller: string): void {
    const account = accountOf(caller)
    account.held += 1
    job.holder = account
    settle(account)
  }

  function giveBack(holder: Account): void {
    holder.held -= 1
    settle(holder)
  }

  /** Returns the first of a job's callers whose place it may take, if any. */
  function callerWithRoom({ callers }: Job): string | undefined {
    for (const caller of callers.keys()) if ((accounts.get(caller)?.held ?? 0) < maxPerCaller) return caller
    return undefined
  }

  /** Gives the free places to those whose turn it is. */
  function fillPlaces(): void {
    for (const account of ready) {
      if (running >= maxConcurrent) return
      const [job] = account.waiting
      // An account with more jobs waiting is added again, behind the others.
      ready.delete(account)
      if (job === undefined) continue
      for (const caller of job.callers.keys()) dequeue(job, caller)
      running += 1
      take(job, account.caller)
      job.start()
    }
  }

  function join(job: Job, caller: string): void {
    if (job.holder !== undefined) return
    enqueue(job, caller)
    fillPlaces()
  }

  function leave(job: Job, caller: string): void {
    const { holder } = job
    if (holder === undefined) dequeue(job, caller)
    else if (holder.caller === caller)
      moveTo(callerWithRoom(job) ?? job.callers.keys().next().value, job, holder)
  }

  /** Moves a job to an heir's place. Without an heir it keeps its place, since an aborted task runs until it ends. */
  function moveTo(heir: string | undefined, job: Job, holder: Account): void {
    if (heir === undefined) return
    take(job, heir)
    giveBack(holder)
    fillPlaces()
  }

  function end(job: Job): void {
    if (job.holder === undefined) {
      for (const caller of job.callers.keys()) dequeue(job, caller)
      return
    }
    running -= 1
    giveBack(job.holder)
    fillPlaces()
  }

  async function turnOf(job: Job, { callers, signal, maxWaitMs }: SemaphoreTerms): Promise<void> {
    const turn = Promise.withResolvers<void>()
    const giveUp = (): void => turn.reject(signal.reason)
    const timer = setTimeout(() => turn.reject(new NoTurnError('No place became free in time.')), maxWaitMs)
    signal.addEventListener('abort', giveUp, { once: true })
    job.start = turn.resolve
    for (const caller of callers.keys()) enqueue(job, caller)
    try {
      await turn.promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    }
  }

  return {
    async run(task, terms) {
      terms.signal.throwIfAborted()
      const job: Job = { callers: terms.callers, holder: undefined, start: () => {} }
      const stopListening = terms.callers.listen({
        joined: (caller) => join(job, caller),
        left: (caller) => leave(job, caller),
      })
      try {
        const caller = running < maxConcurrent ? callerWithRoom(job) : undefined
        if (caller === undefined) await turnOf(job, terms)
        else {
          running += 1
          take(job, caller)
        }
        return await task()
      } finally {
        stopListening()
        end(job)
      }
    },
    get callers() {
      return accounts.size
    },
  }
}
