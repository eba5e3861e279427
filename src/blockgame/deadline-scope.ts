import { ServerCheckError } from '../domain/server-status.ts'
import { clearTimeout, performance, setTimeout } from '../ports/timers.ts'
import { Connection } from './connection.ts'

/** Strangers choose where a lookup connects, and how often. */
const maxConnections = 8
const lastShare = 0.1

/** The scope of a lookup until its deadline. Every connection and timer of it ends with it. */
export class DeadlineScope {
  /** Whether it has ended, so that nothing more may be opened. */
  over = false
  readonly #endsAt: number
  readonly #lastMs: number
  readonly #timer: NodeJS.Timeout
  readonly #timers: NodeJS.Timeout[] = []
  readonly #connections: Connection[] = []
  #reject: (reason: Error) => void = ignore
  #controller: AbortController | undefined

  /** Starts now and ends after this many milliseconds. */
  constructor(timeoutMs: number) {
    this.#endsAt = performance.now() + timeoutMs
    this.#lastMs = timeoutMs * lastShare
    this.#timer = setTimeout(() => this.abort(new ServerCheckError('timeout')), timeoutMs)
  }

  /** Does the work. Settles by the deadline or when aborted, whatever the work does, and leaves no connection open. */
  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await new Promise((resolve, reject) => {
        this.#reject = reject
        work().then(resolve, reject)
      })
    } finally {
      this.#end()
    }
  }

  /** Ends the scope early, with this reason. */
  abort(reason: Error): void {
    this.#end()
    this.#reject(reason)
  }

  /** Returns the milliseconds until the deadline, at least 0. */
  timeLeftMs(): number {
    return Math.max(0, this.#endsAt - performance.now())
  }

  /** Returns the milliseconds until the deadline is near: its last tenth, in which any answer is better than none. */
  untilNearMs(): number {
    return Math.max(0, this.timeLeftMs() - this.#lastMs)
  }

  /** Does something after this many milliseconds, unless the scope has ended by then. Returns what cancels it. */
  after(delayMs: number, work: () => void): () => void {
    if (this.over) return ignore
    const timer = setTimeout(work, delayMs)
    this.#timers.push(timer)
    return () => clearTimeout(timer)
  }

  /** Resolves after this many milliseconds; never if the scope has ended by then. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.after(delayMs, resolve))
  }

  /** How many more connections may be opened. */
  get connectionsLeft(): number {
    return maxConnections - this.#connections.length
  }

  /** Aborts when the scope ends. Created on demand, because the lookup of an address never needs it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  /** Opens a connection that cannot outlive the scope. */
  open(destination: { readonly ip: string; readonly port: number }): Connection {
    const connection = new Connection(destination)
    this.#connections.push(connection)
    return connection
  }

  #end(): void {
    this.over = true
    clearTimeout(this.#timer)
    for (const timer of this.#timers) clearTimeout(timer)
    this.#controller?.abort(ended)
    for (const connection of this.#connections) connection.cut()
  }
}

const ended = new Error('The lookup has ended.')

function ignore(): void {}
