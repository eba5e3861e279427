import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** An address that stays while what is behind it changes, as a proxy's or a virtual one. */
export class Forwarder {
  /** The port behind; null refuses everybody. */
  target: number | null = null
  readonly #server: Server = createServer((socket) => this.#join(socket))
  readonly #pairs: Set<readonly [Socket, Socket]> = new Set()

  /** Where it listens, on loopback. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** How many connections go through it. */
  get open(): number {
    return this.#pairs.size
  }

  async listen(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return this
  }

  /** Breaks every connection; new ones go on coming. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }

  /** Breaks every connection and refuses new ones. */
  down(): void {
    this.target = null
    this.cut()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #join(near: Socket): void {
    if (this.target === null) return void near.destroy()
    const far = connect(this.target, '127.0.0.1')
    const pair = [near, far] as const
    this.#pairs.add(pair)
    const part = (): void => {
      this.#pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of pair) socket.setNoDelay(true).on('error', part).on('close', part)
    near.pipe(far)
    far.pipe(near)
  }
}
