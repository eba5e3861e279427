import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { noResponse } from './mount-options.ts'
import { announcesBody } from './node-headers.ts'

/** How many requests of one HTTP/1 connection may be under way at once, unwritten answers included. */
const mostPerConnection = 16
/** How many headers they may have together. A thousand short ones take up to 200 KB, twenty times what was sent. */
const mostHeaders = 1024

/** What is under way on each connection, in the order of the requests; null once the library has ended it. */
const connections = new WeakMap<Socket, UnderWay[] | null>()

/** A request whose answer is not written yet. */
export class UnderWay {
  readonly response: ServerResponse
  /** All requests of its connection, itself included. */
  readonly #connection: UnderWay[]
  #begin: ((isItsTurn: boolean) => void) | undefined
  #written: (() => void) | undefined
  #gone: AbortController | undefined

  constructor(response: ServerResponse, connection: UnderWay[]) {
    this.response = response
    this.#connection = connection
    response.on('close', () => this.close())
  }

  /**
   * Resolves with true when the answers to all earlier requests of the connection are written, and with false when the
   * connection has closed before that. Undefined if there are none. The work of many pipelined requests at once would
   * take the turns of other connections. A request with a body does not wait, since its body would be kept meanwhile.
   */
  turn(): Promise<boolean> | undefined {
    const [first = this] = this.#connection
    if (first === this || announcesBody(this.response.req)) return undefined
    return new Promise((resolve) => (this.#begin = resolve))
  }

  /** Calls back once, when the answer has been written, or its connection is gone. */
  whenWritten(callback: () => void): void {
    this.#written = callback
  }

  /** Whether nobody can get the answer anymore. */
  get isGone(): boolean {
    const { stream, destroyed, req } = this.response as ServerResponse & { stream?: { destroyed: boolean } }
    // A response that waits for an earlier one is not destroyed with its connection.
    return (
      (stream?.destroyed ?? destroyed) || (req as IncomingMessage | undefined)?.socket?.destroyed === true
    )
  }

  /** Aborts if the connection closes before the answer is written, or already has. */
  get signal(): AbortSignal {
    // Not the request's `aborted`: that is also set when a client has closed only its own half and still waits for the
    // answer.
    if (this.isGone) return AbortSignal.abort()
    this.#gone ??= new AbortController()
    return this.#gone.signal
  }

  close(): void {
    const connection = this.#connection
    const index = connection.indexOf(this)
    if (index !== -1) connection.splice(index, 1)
    if (!this.response.writableEnded) this.#gone?.abort()
    this.#begin?.(false)
    const written = this.#written
    this.#written = undefined
    written?.()
    const [next] = connection
    if (next?.response.req.socket.writable === true) next.#begin?.(true)
  }
}

/**
 * Counts a request on its HTTP/1 connection. Ends the connection and returns undefined if it has too many under way, or
 * these too many headers, because a client that sends requests and reads no answers would otherwise fill the memory,
 * without credentials. A request that is alone is never too many.
 */
export function admit(request: IncomingMessage, response: ServerResponse): UnderWay | undefined {
  if (typeof (response as ServerResponse | undefined)?.writeHead !== 'function') throw noResponse()
  const { httpVersionMajor, socket } = request
  // A connection of HTTP/2 may carry all users of a proxy, and adapters for functions in a cloud have none.
  if (httpVersionMajor !== 1 || !(socket instanceof Socket)) return new UnderWay(response, [])
  const known = connections.get(socket)
  // Another listener of the host may have ended it.
  if (known === null) return undefined
  const connection = known ?? watch(socket)
  if (connection.length > 0) {
    const admitted = connection.find((each) => each.response === response)
    if (admitted !== undefined) return admitted
    if (isOverrun(connection, request)) return end(socket)
  }
  const underWay = new UnderWay(response, connection)
  connection.push(underWay)
  return underWay
}

function isOverrun(underWay: readonly UnderWay[], next: IncomingMessage): boolean {
  // It would not wait for its turn.
  if (isRead(next) && announcesBody(next)) return true
  if (underWay.length >= mostPerConnection) return true
  let headers = headersOf(next)
  for (const { response } of underWay) headers += headersOf(response.req)
  return headers > mostHeaders
}

/** Tells whether a request is of a method for which a body means nothing. */
function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Returns how many headers a request has, before its body and after it. */
function headersOf({ rawHeaders, rawTrailers }: IncomingMessage): number {
  return (rawHeaders.length + rawTrailers.length) / 2
}

function watch(socket: Socket): UnderWay[] {
  const underWay: UnderWay[] = []
  connections.set(socket, underWay)
  // Node 22 closes only the response that is being written; those that wait for it would never end.
  socket.once('close', () => {
    for (const each of underWay.splice(0)) each.close()
  })
  return underWay
}

/**
 * Ends a connection. Node would parse all that came with the request, and keep what it makes of that until the
 * connection is closed, which with a thousand connections at once is more than a small process has. So it is told that
 * what follows is of another protocol.
 */
function end(socket: Socket & { parser?: { onIncoming?: unknown } | null }): undefined {
  connections.set(socket, null)
  socket.destroy()
  if (socket.parser) socket.parser.onIncoming = () => 2
}
