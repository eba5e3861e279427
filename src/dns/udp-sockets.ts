import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { nextTick, performance, setImmediate } from '../ports/timers.ts'
import { randomId } from './random-id.ts'
import type { ReplyListener, ServerAddress } from './transport-types.ts'

/** Several at once, so that knowing one port does not reveal the port of the next query. */
const socketsInService = 4
/** After this many queries, a socket is replaced by one with another port. */
const maxUses = 256

/**
 * The sockets to one resolver. They are opened when needed, and never keep a process alive.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc5452#section-9.2 | RFC 5452 section 9.2}
 */
export class UdpPool {
  readonly server: ServerAddress
  readonly #open = new Set<UdpSocket>()
  readonly #inService: (UdpSocket | undefined)[] = Array.from({ length: socketsInService })

  constructor(server: ServerAddress) {
    this.server = server
  }

  /** Sends a query with a fresh id, together with all others of this turn of the event loop. */
  send(message: Buffer, listener: ReplyListener): UdpQuery {
    // While no reply is awaited, there are no reads that sending could hold up.
    const alone = queriesUnderWay === 0
    const query = this.#pick().prepare(message, listener)
    if (outbox.push(query) === 1) {
      if (alone) nextTick(sendIfConnected)
      else setImmediate(sendOutbox)
    }
    return query
  }

  /** Retires the sockets opened before a time of `performance.now()`. Returns whether any socket is still open. */
  retire(openedBefore: number): boolean {
    for (const socket of this.#open) if (socket.openedAt < openedBefore) socket.retire()
    return this.#open.size > 0
  }

  /** Closes all sockets, even those that still wait for replies. */
  close(): void {
    for (const socket of this.#open) socket.close()
  }

  #pick(): UdpSocket {
    const slot = randomId() % socketsInService
    const current = this.#inService[slot]
    if (current !== undefined && !current.retired) return current
    const socket = new UdpSocket(this.server, (closed) => this.#open.delete(closed))
    // Opening can fail at once, for instance without free file descriptors.
    if (!socket.retired) this.#open.add(socket)
    this.#inService[slot] = socket
    return socket
  }
}

/** A query that has its id and goes out with the others of its turn. */
export interface UdpQuery {
  readonly socket: UdpSocket
  readonly message: Buffer
  /** How many queries its socket had before this one. */
  readonly use: number
}

/** The queries to send to all resolvers, in order. */
let outbox: UdpQuery[] = []
/** How many queries to all resolvers wait for their replies. */
let queriesUnderWay = 0

/** A new socket sends when it is connected, at the end of the turn. If the others sent before, the order would change. */
function sendIfConnected(): void {
  if (outbox.every(({ socket }) => socket.connected)) sendOutbox()
  else setImmediate(sendOutbox)
}

function sendOutbox(): void {
  const queries = outbox
  outbox = []
  for (const query of queries) query.socket.send(query)
}

/** A connected socket: the kernel drops what other sources send, and reports ICMP errors. */
class UdpSocket {
  readonly openedAt: number = performance.now()
  connected = false
  /** Whether the socket is out of service and only waits for outstanding replies. */
  retired = false
  readonly #socket: Socket
  readonly #onClose: (socket: UdpSocket) => void
  /**
   * The ids sent so far, and the listener that waits for each. Two arrays, because a map with constant additions and
   * deletions keeps its former tables, and what is in them, alive until a major garbage collection.
   */
  readonly #ids = new Uint16Array(maxUses)
  readonly #listeners: (ReplyListener | undefined)[] = []
  #waiting = 0
  /** How many queries were sent, or dropped because nobody waited any more. */
  #sent = 0
  /** How many prepared queries are still to be sent. */
  #unsent = 0
  #closed = false
  #failure: Error | undefined

  constructor({ ip, port }: ServerAddress, onClose: (socket: UdpSocket) => void) {
    const family = isIPv6(ip) ? 6 : 4
    this.#onClose = onClose
    this.#socket = createSocket({
      type: `udp${family}`,
      // The address is already an IP address, so connecting does not have to wait for a lookup.
      lookup: (address, _options, callback) => callback(null, address, family),
    })
    this.#socket.setMaxListeners(maxUses + 1)
    this.#socket.on('message', (message) => this.#receive(message))
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.once('connect', () => (this.connected = true))
    this.#socket.connect(port, ip)
    this.#socket.unref()
  }

  /** Gives a query an id that this port has not used yet, and a listener that gets its reply. */
  prepare(encoded: Buffer, listener: ReplyListener): UdpQuery {
    const message = Buffer.from(encoded)
    const use = this.#listeners.length
    const id = this.#freshId()
    message.writeUInt16BE(id, 0)
    this.#ids[use] = id
    this.#listeners.push(listener)
    this.#waiting += 1
    queriesUnderWay += 1
    this.#unsent += 1
    if (this.#listeners.length === maxUses) this.retired = true
    return { socket: this, message, use }
  }

  /** Sends a prepared query, if its listener still waits for the reply. */
  send(query: UdpQuery): void {
    if (!this.connected && !this.#closed) {
      this.#socket.once('connect', () => this.send(query))
      return
    }
    this.#sent = query.use + 1
    const listener = this.#listeners[query.use]
    if (listener === undefined) return
    this.#unsent -= 1
    if (this.#closed) listener.fail(this, this.#failure)
    else this.#socket.send(query.message, this.#unsent === 0 ? this.#onSent : undefined)
  }

  /** Stops waiting for the reply to a query. */
  release({ use }: UdpQuery): void {
    if (this.#listeners[use] === undefined) return
    this.#listeners[use] = undefined
    this.#waiting -= 1
    queriesUnderWay -= 1
    if (use >= this.#sent) this.#unsent -= 1
    if (this.retired) this.retire()
  }

  /** Lets no more queries use this port. */
  retire(): void {
    this.retired = true
    if (this.#waiting === 0) this.close()
  }

  close(): void {
    this.retired = true
    if (this.#closed) return
    this.#closed = true
    this.#socket.close()
    this.#onClose(this)
  }

  #freshId(): number {
    for (;;) {
      const id = randomId()
      if (this.#useOf(id) < 0) return id
    }
  }

  /** Looks from the latest on, because most replies are to one of the last queries; `indexOf` would be a call into C++. */
  #useOf(id: number): number {
    let use = this.#listeners.length - 1
    while (use >= 0 && this.#ids[use] !== id) use -= 1
    return use
  }

  /**
   * Handles ICMP errors, which go to the next send or receive. A send without a callback hides them, but a callback
   * takes time, so only the last of several sends has one. What a closed port refused is refused again, and seen then.
   */
  readonly #onSent = (error: Error | null): void => {
    if (error !== null) this.#fail(error)
  }

  #receive(message: Buffer): void {
    if (message.length >= 2) this.#listeners[this.#useOf(message.readUInt16BE(0))]?.receive(message, this)
  }

  #fail(error: Error): void {
    this.#failure = error
    const listeners = this.#listeners.slice()
    this.#listeners.fill(undefined)
    queriesUnderWay -= this.#waiting
    this.#waiting = 0
    this.close()
    for (const listener of listeners) listener?.fail(this, error)
  }
}
