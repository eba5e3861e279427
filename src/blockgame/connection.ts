import { connect, type Socket, type TcpSocketConnectOpts } from 'node:net'

/** Who is told what happens on a connection. */
export interface Listener {
  /** It stands. */
  opened?(): void
  /** Bytes came; they are good until this returns. */
  received?(bytes: Uint8Array): void
  /** It ended; by itself, by an error, or cut. */
  closed(error?: Error): void
}

const nobody: Listener = { closed() {} }

/** A TCP connection that tells one listener at a time. */
export class Connection {
  #listener: Listener = nobody
  readonly #socket: Socket

  /** Begins to connect. */
  constructor({ ip, port }: { readonly ip: string; readonly port: number }) {
    let failure: Error | undefined
    // Every write follows a reply or a long silence, so Nagle's algorithm has nothing to hold back.
    this.#socket = connectAndRead({ host: ip, port }, (bytes) => this.#listener.received?.(bytes))
      .on('connect', () => this.#listener.opened?.())
      .on('error', (error) => (failure = error))
      .on('close', () => this.#listener.closed(failure))
  }

  /** From now on this listener is told, and no other. */
  tell(listener: Listener): void {
    this.#listener = listener
  }

  /** Sends these bytes at the end of this turn of the event loop, and calls `sent` then. */
  write(bytes: Uint8Array, sent: () => void): void {
    const send = (): void => {
      this.#socket.write(bytes)
      sent()
    }
    if (outbox.push(send) === 1) setImmediate(sendOutbox)
  }

  /** Ends it; the listener is told. */
  cut(): void {
    this.#socket.destroy()
  }

  /** Ends it and tells nobody. V8 keeps a closed socket until its next full collection: not what was received on it. */
  close(): void {
    this.#listener = nobody
    this.#socket.destroy()
  }
}

/** What is written in this turn. Sent between readings, each would wake a server that is near anew. */
let outbox: (() => void)[] = []

function sendOutbox(): void {
  const sends = outbox
  outbox = []
  for (const send of sends) send()
}

const buffer = Buffer.allocUnsafe(65_536)

/** Connects and reads into one buffer for all connections: one for each read would cost a tenth of a lookup. */
function connectAndRead(options: TcpSocketConnectOpts, received: (bytes: Uint8Array) => void): Socket {
  // Before 2.8, Deno throws at `onread`.
  if ('Deno' in globalThis) return connect(options).on('data', received)
  const callback = (size: number): boolean => {
    received(buffer.subarray(0, size))
    return true
  }
  return connect({ ...options, onread: { buffer, callback } })
}
