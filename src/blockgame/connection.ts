import { connect, type Socket, type TcpSocketConnectOpts } from 'node:net'

/** Is told what happens on a connection. */
export interface Listener {
  /** Called when the connection is open. */
  opened?(): void
  /** Called with received bytes, which are valid only until it returns. */
  received?(bytes: Uint8Array): void
  /** Called when the connection has ended: by itself, by an error, or cut. */
  closed(error?: Error): void
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
    this.#socket = connectAndRead({ host: ip, port }, (bytes) => this.#listener.received?.(bytes))
      .on('connect', () => this.#listener.opened?.())
      .on('error', (error) => (failure = error))
      .on('close', () => this.#listener.closed(failure))
  }

  /** Makes this the only listener from now on. */
  tell(listener: Listener): void {
    this.#listener = listener
  }

  /** Sends these bytes at the end of this turn of the event loop, and then calls `sent`. */
  write(bytes: Uint8Array, sent: () => void): void {
    const send = (): void => {
      this.#socket.write(bytes)
      sent()
    }
    if (outbox.push(send) === 1) setImmediate(sendOutbox)
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

/** What is written in this turn. If sent between reads, each write would wake a nearby server again. */
let outbox: (() => void)[] = []

function sendOutbox(): void {
  const sends = outbox
  outbox = []
  for (const send of sends) send()
}

const buffer = Buffer.allocUnsafe(65_536)

/** Connects and reads into a buffer shared by all connections: one per read would cost a tenth of a lookup. */
function connectAndRead(options: TcpSocketConnectOpts, received: (bytes: Uint8Array) => void): Socket {
  // Deno before 2.8 throws if `onread` is set.
  if ('Deno' in globalThis) return connect(options).on('data', received)
  const callback = (size: number): boolean => {
    received(buffer.subarray(0, size))
    return true
  }
  return connect({ ...options, onread: { buffer, callback } })
}
