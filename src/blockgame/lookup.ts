import { connect, type Socket } from 'node:net'
import { ServerCheckError } from '../domain/server-status.ts'

/** One lookup: its deadline, and every socket it opened. */
export class Lookup {
  /** Whether it has ended; nothing may be opened any more. */
  over = false
  readonly #endsAt: number
  readonly #timer: NodeJS.Timeout
  readonly #aborted: Promise<never>
  readonly #sockets: Socket[] = []
  #reject: (reason: Error) => void = ignore
  #controller: AbortController | undefined

  /** Begins a lookup that has this many milliseconds. */
  constructor(timeoutMs: number) {
    this.#endsAt = performance.now() + timeoutMs
    this.#timer = setTimeout(() => this.abort(new ServerCheckError('timeout')), timeoutMs)
    this.#aborted = new Promise((_, reject) => {
      this.#reject = reject
    })
  }

  /** Does the work: settles by the deadline or when aborted, whatever it does, and leaves no socket. */
  async run<Value>(work: Promise<Value>): Promise<Value> {
    try {
      return await Promise.race([work, this.#aborted])
    } finally {
      this.#end()
    }
  }

  /** Ends it early, with this reason. */
  abort(reason: Error): void {
    this.#end()
    this.#reject(reason)
  }

  /** Milliseconds until the deadline, at least 0. */
  timeLeftMs(): number {
    return Math.max(0, this.#endsAt - performance.now())
  }

  /** Aborts when the lookup ends. Made on demand: the lookup of an address never needs it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  /** Opens a connection that cannot outlive the lookup. */
  open({ ip, port }: { readonly ip: string; readonly port: number }): Socket {
    // Every write follows a reply or a long silence, so Nagle's algorithm has nothing to hold back.
    const socket = connect({ host: ip, port })
    this.#sockets.push(socket)
    return socket
  }

  #end(): void {
    this.over = true
    clearTimeout(this.#timer)
    this.#controller?.abort(ended)
    for (const socket of this.#sockets) socket.destroy().once('close', forget)
  }
}

const ended = new Error('The lookup has ended.')

// V8 keeps a closed socket until its next full collection, and with it all that its listeners hold: not a whole reply.
function forget(this: Socket): void {
  this.removeAllListeners()
}

function ignore(): void {}
