import { StorageError, type AdminStorage } from 'utility-api/storage'
import { show, Unspecified } from '../../../src/testing/contract/model.ts'
import type { BoundAdmin } from '../../../src/testing/contract/bound.ts'
import { judge, type HistoryCall, type Verdict } from './judge.ts'
import { portCall, touches, type Method } from './port-call.ts'

interface Recorded extends HistoryCall {
  answer: string | null
  to: number
  readonly method: Method
  readonly args: readonly unknown[]
  /** Whether the store refused to do it: it is no part of the history. */
  refused: boolean
}

/** What the callers of a store saw, in their order. */
export class History {
  readonly calls: Recorded[] = []
  /** Errors that no store may throw. */
  readonly mistakes: string[] = []
  /** The sentences of the errors after which nobody knows whether a call was done. */
  readonly sentences: Set<string> = new Set()
  readonly #open: Set<Promise<unknown>> = new Set()
  #now = 0

  /** The same history, as it is now, to go on with. */
  copy(): History {
    const copy = new History()
    copy.calls.push(...this.calls.map((call) => ({ ...call })))
    copy.mistakes.push(...this.mistakes)
    copy.#now = this.#now
    return copy
  }

  /** Returns the same store, whose calls are written down. */
  record(storage: AdminStorage): AdminStorage {
    const recorded = Object.keys(touches).map((method) => [
      method,
      (...args: unknown[]) =>
        this.#ask(method as Method, structuredClone(args.slice(0, -1)), () =>
          (storage[method as Method] as (...of: unknown[]) => unknown)(...args),
        ),
    ])
    return { ...storage, ...(Object.fromEntries(recorded) as BoundAdmin) } as AdminStorage
  }

  /** Writes down another call of a method of several transactions, whose count of rows is not known. */
  anyAnswer(call: Recorded): void {
    const last = call.steps.at(-1)
    const open: Recorded['steps'][number] = (model, before) => {
      last?.(model, before)
      throw new Unspecified()
    }
    Object.assign(call, { steps: [...call.steps.slice(0, -1), open] })
  }

  get unknown(): Recorded[] {
    return this.calls.filter(({ answer, refused }) => answer === null && !refused)
  }

  /** Resolves when every call has been answered, or with false after a time. */
  async settled(timeoutMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), timeoutMs)))
    const all = Promise.allSettled(this.#open).then(() => true as const)
    return Promise.race([all, late]).finally(() => clearTimeout(timer))
  }

  judge(): Verdict {
    const { wrong, ...others } = judge(this.calls.filter(({ refused }) => !refused))
    return { ...others, wrong: [...this.mistakes, ...wrong] }
  }

  async #ask(method: Method, args: readonly unknown[], ask: () => unknown): Promise<unknown> {
    const call: Recorded = {
      ...described(method, args),
      method,
      args,
      answer: null,
      from: this.#tick(),
      to: Infinity,
      refused: false,
    }
    this.calls.push(call)
    const answer = (async () => ask())()
    this.#open.add(answer)
    try {
      const value = await answer
      call.answer = show(value)
      return value
    } catch (error) {
      if (!(error instanceof StorageError)) this.mistakes.push(`${call.text}: ${String(error)}`)
      else if (error.kind === 'conflict') call.answer = "StorageError 'conflict'"
      else if (error.kind === 'invalid') call.refused = true
      else if (error.kind === 'unavailable') this.sentences.add(error.message)
      else this.mistakes.push(`${call.text}: ${error.message}`)
      throw error
    } finally {
      call.to = this.#tick()
      this.#open.delete(answer)
    }
  }

  #tick(): number {
    return (this.#now += 1)
  }
}

/** Returns what a call should do, which for a row without a name is nothing: the case that makes it expects a refusal. */
function described(method: Method, args: readonly unknown[]): ReturnType<typeof portCall> {
  try {
    return portCall(method, ...(args as Parameters<BoundAdmin[typeof method]>))
  } catch {
    return { text: `${method}(${args.map(show).join(', ')})`, touches: [], steps: [] }
  }
}
