import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { randomId } from './random-id.ts'

/** Address and port of a resolver. */
export interface Server {
  readonly ip: string
  readonly port: number
}

/** Who waits for a reply. */
export interface UdpListener {
  /** A datagram came from the resolver with the id of a try of this listener. */
  receive(message: Buffer): void
  /** The socket of a try broke: mostly ICMP saying that nobody listens there. */
  fail(): void
}

/** One try that waits for its reply. */
export interface UdpTicket {
  /** Stops waiting. */
  release(): void
  /** Lets nothing more go out from the port it went out from. */
  retireSocket(): void
}

/** Sockets connected to one resolver. */
export interface UdpPool {
  /** Sends a message with a fresh id, at the end of this turn of the event loop. */
  send(message: Buffer, listener: UdpListener): UdpTicket
  /** Takes sockets out of service that were opened before a moment of `performance.now()`. Tells whether any is left. */
  retire(openedBefore: number): boolean
  /** Closes all sockets, whoever waits. */
  close(): void
}

/** Several at once, so that a port alone does not tell where the next query goes. */
const socketsInService = 4
/** After so many queries a socket gives way to one with another port. */
const maxUses = 64

/** Makes a pool. Sockets are opened when they are needed and never keep a process alive. */
export function createUdpPool(server: Server): UdpPool {
  const open = new Set<UdpSocket>()
  const inService: (UdpSocket | undefined)[] = Array.from({ length: socketsInService })
  /** What goes out at the end of this turn of the event loop. */
  let outbox: UdpTry[] = []

  function pick(): UdpSocket {
    const slot = randomId() % socketsInService
    const current = inService[slot]
    if (current !== undefined && !current.retired) return current
    const socket = new UdpSocket(server, open)
    inService[slot] = socket
    return socket
  }

  /** In the order they were asked. */
  function sendOutbox(): void {
    const tries = outbox
    outbox = []
    for (const each of tries) each.send()
  }

  return {
    send(template, listener) {
      const next = pick().prepare(template, listener)
      if (outbox.push(next) === 1) setImmediate(sendOutbox)
      return next
    },
    retire(openedBefore) {
      for (const socket of open) if (socket.openedAt < openedBefore) socket.retire()
      return open.size > 0
    },
    close() {
      for (const socket of open) socket.close()
    },
  }
}

/** A connected socket: the kernel drops what other sources send, and reports ICMP errors. */
class UdpSocket {
  readonly openedAt: number = performance.now()
  /** Out of service: it only waits for the replies still owed to it. */
  retired = false
  private readonly socket: Socket
  private readonly open: Set<UdpSocket>
  /**
   * The ids sent so far, and who waits for each. Two arrays: a map that is added to and deleted from all the time keeps its
   * former tables alive, and what is in them, until a major garbage collection.
   */
  private readonly ids = new Uint16Array(maxUses)
  private readonly listeners: (UdpListener | undefined)[] = []
  private waiting = 0
  /** Messages from before the connection stood; null once it does. */
  private backlog: Buffer[] | null = []

  /** ICMP errors are told to whatever comes first, sending or receiving; without a callback, sending keeps them to itself. */
  private readonly onSent = (error: Error | null): void => {
    if (error !== null) this.fail()
  }

  constructor({ ip, port }: Server, open: Set<UdpSocket>) {
    const family = isIPv6(ip) ? 6 : 4
    this.open = open
    this.socket = createSocket({
      type: `udp${family}`,
      // The address is one already, so that connecting need not wait for a look-up.
      lookup: (address, _options, callback) => callback(null, address, family),
    })
    this.socket.on('message', (message) => this.receive(message))
    this.socket.on('error', () => this.fail())
    this.socket.on('connect', () => this.flush())
    this.socket.connect(port, ip)
    this.socket.unref()
    open.add(this)
  }

  /** Gives a message an id of its own, and the listener its replies. */
  prepare(template: Buffer, listener: UdpListener): UdpTry {
    const use = this.listeners.length
    const id = this.freshId(use)
    const message = Buffer.from(template)
    message.writeUInt16BE(id, 0)
    this.ids[use] = id
    this.listeners.push(listener)
    this.waiting += 1
    if (use + 1 === maxUses) this.retired = true
    return new UdpTry(this, use, message)
  }

  /** Sends a message, if its reply is still waited for. */
  send(message: Buffer, use: number): void {
    if (this.listeners[use] === undefined) return
    if (!this.open.has(this)) this.fail()
    else if (this.backlog === null) this.socket.send(message, this.onSent)
    else this.backlog.push(message)
  }

  retire(): void {
    this.retired = true
    if (this.waiting === 0) this.close()
  }

  close(): void {
    this.retired = true
    if (this.open.delete(this)) this.socket.close()
  }

  /** An id that this port has not used yet. */
  private freshId(uses: number): number {
    for (;;) {
      const id = randomId()
      if (this.useOf(id, uses) < 0) return id
    }
  }

  private useOf(id: number, uses: number): number {
    const use = this.ids.indexOf(id)
    return use < uses ? use : -1
  }

  release(use: number): void {
    if (this.listeners[use] === undefined) return
    this.listeners[use] = undefined
    this.waiting -= 1
    if (this.retired) this.retire()
  }

  private flush(): void {
    const messages = this.backlog ?? []
    this.backlog = null
    if (!this.open.has(this)) return
    for (const message of messages) this.socket.send(message, this.onSent)
  }

  private receive(message: Buffer): void {
    if (message.length < 2) return
    this.listeners[this.useOf(message.readUInt16BE(0), this.listeners.length)]?.receive(message)
  }

  private fail(): void {
    const listeners = this.listeners.slice()
    this.listeners.fill(undefined)
    this.waiting = 0
    this.close()
    for (const listener of listeners) listener?.fail()
  }
}

class UdpTry implements UdpTicket {
  private readonly socket: UdpSocket
  private readonly use: number
  private readonly message: Buffer

  constructor(socket: UdpSocket, use: number, message: Buffer) {
    this.socket = socket
    this.use = use
    this.message = message
  }

  send(): void {
    this.socket.send(this.message, this.use)
  }

  release(): void {
    this.socket.release(this.use)
  }

  retireSocket(): void {
    this.socket.retire()
  }
}
