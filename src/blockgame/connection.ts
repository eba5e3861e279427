import { Socket } from 'node:net'
import { setImmediate } from '../ports/timers.ts'

/** Is told what happens on a connection. */
export interface Listener {
  /** Called when the connection is open. */
  opened?(): void
  /** Called with received bytes, which are valid only until it returns. */
  received?(bytes: Uint8Array): void
  /** Called when the connection has ended: by itself, by an error, or cut. */
  closed(error?: Error): void
}

/** Both ends of a connection. */
export interface Ends {
  readonly localIp: string
  readonly localPort: number
  readonly remoteIp: string
  readonly remotePort: number
}

const nobody: Listener = { closed() {} }

/** A TCP connection that tells one listener at a time. */
export class Connection {
  #listener: Listener = nobody
  readonly #socket: Socket

  /** Starts to connect. */
  constructor({ ip, port }: { readonly ip: string; readonly port: number }) {
    let failure: Error | undefined
    // Every write follows a reply or a long silence, so Nagle's algorithm has nothing to hold back.
    this.#socket = socketFor((bytes) => this.#listener.received?.(bytes))
      .on('connect', () => this.#listener.opened?.())
      .on('error', (error) => (failure = error))
      .on('close', () => this.#listener.closed(failure))
    gather(() => {
      if (!this.#socket.destroyed) this.#socket.connect({ host: ip, port })
    })
  }

  /** Makes this the only listener from now on. */
  tell(listener: Listener): void {
    this.#listener = listener
  }

  /** Both ends of this connection, while it is open. */
  get ends(): Ends {
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = this.#socket
    return { localIp: localAddress, localPort, remoteIp: remoteAddress, remotePort }
  }

  /** Sends these bytes in this turn of the event loop, and then calls `sent`. */
  write(bytes: Uint8Array, sent: () => void): void {
    gather(() => {
      this.#socket.write(bytes)
      sent()
    })
  }

  /** Ends the connection and tells the listener. */
  cut(): void {
    this.#socket.destroy()
  }

  /** Ends it and tells nobody. V8 keeps a closed socket until its next full collection, but not what it received. */
  close(): void {
    this.#listener = nobody
    this.#socket.destroy()
  }
}

/** What waits for the end of this turn; undefined before the turn's first. */
let outbox: (() => void)[] | undefined

/**
 * Does the first work of a turn of the event loop at once, and all other at its end. If all were done at once, between
 * reads, each would wake a nearby server again.
 */
function gather(work: () => void): void {
  if (outbox !== undefined) return void outbox.push(work)
  outbox = []
  setImmediate(sendOutbox)
  work()
}

function sendOutbox(): void {
  const works = outbox ?? []
  outbox = undefined
  for (const work of works) work()
}

const buffer = Buffer.allocUnsafe(65_536)

/** Creates a socket that reads into a buffer shared by all, because one per read would cost a tenth of a lookup. */
function socketFor(received: (bytes: Uint8Array) => void): Socket {
  // Deno before 2.8 throws if `onread` is set.
  if ('Deno' in globalThis) return new Socket().on('data', received)
  const callback = (size: number): boolean => {
    received(buffer.subarray(0, size))
    return true
  }
  // A socket with `onread` has no data for listeners, except those that msw and nock put in its place.
  return new Socket({ onread: { buffer, callback } }).on('data', received)
}
