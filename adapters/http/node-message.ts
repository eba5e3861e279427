import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Reply, RequestLike } from 'utility-api'
import { noResponse } from './mount-options.ts'

/** How many requests of one HTTP/1 connection may be under way at once, unwritten answers included. */
const mostPerConnection = 16
/** How many headers they may have together. A thousand short ones take up to 200 KB, twenty times what was sent. */
const mostHeaders = 1024
const maxPieces = 1000
const firstCapacity = 1024

/** A response of a connection, and what to call when it is written, or the connection is gone. */
interface UnderWay {
  readonly response: ServerResponse
  readonly callbacks: (() => void)[]
}

const connections = new WeakMap<Socket, UnderWay[]>()
const ended = new WeakSet<Socket>()

/**
 * Counts a request on its HTTP/1 connection. Ends the connection and returns false if it has too many under way, or these
 * too many headers: a client that sends requests and reads no answers would otherwise fill the memory, without
 * credentials. A request that is alone is never too many.
 */
export function admit(request: IncomingMessage, response: ServerResponse): boolean {
  if (typeof (response as ServerResponse | undefined)?.writeHead !== 'function') throw noResponse()
  const { httpVersionMajor, socket } = request
  // A connection of HTTP/2 may carry all users of a proxy, and adapters for functions in a cloud have none.
  if (httpVersionMajor !== 1 || !(socket instanceof Socket)) return true
  if (ended.has(socket)) return false
  if (socket.destroyed) return true
  const underWay = connections.get(socket) ?? watch(socket)
  if (underWay.some((each) => each.response === response)) return true
  if (underWay.length > 0 && isOverrun(underWay, request)) {
    end(socket)
    return false
  }
  underWay.push({ response, callbacks: [] })
  response.on('close', onClose)
  return true
}

/** Tells whether no request of an HTTP/1 connection is under way. */
export function isIdle(socket: Socket & { parser?: unknown }): boolean {
  // One that a host has upgraded to another protocol has no parser.
  return Boolean(socket.parser) && (connections.get(socket) ?? []).length === 0
}

function isOverrun(underWay: readonly UnderWay[], next: IncomingMessage): boolean {
  if (underWay.length >= mostPerConnection) return true
  let headers = headersOf(next)
  for (const { response } of underWay) headers += headersOf(response.req)
  return headers > mostHeaders
}

/** Returns how many headers a request has, before its body and after it. */
function headersOf({ rawHeaders, rawTrailers }: IncomingMessage): number {
  return (rawHeaders.length + rawTrailers.length) / 2
}

/** Calls back when a response has been written, or its connection is gone. */
function whenClosed(response: ServerResponse, callback: () => void): void {
  const underWay = underWayWith(response).find((each) => each.response === response)
  if (underWay === undefined) response.once('close', callback)
  else underWay.callbacks.push(callback)
}

/**
 * Resolves when the response before this one of its connection has been written; undefined if there is none. Rejects if
 * nothing can follow that one.
 */
function turnOf(response: ServerResponse): Promise<void> | undefined {
  const underWay = underWayWith(response)
  if (underWay.length < 2) return undefined
  const before = underWay[underWay.findIndex((each) => each.response === response) - 1]
  if (before === undefined) return undefined
  return new Promise((resolve, reject) => {
    before.callbacks.push(() => {
      if (response.req.socket.writable) resolve()
      else reject(new Error('The client has gone.'))
    })
  })
}

/** Returns all that is under way on a response's connection, itself included. */
function underWayWith({ req }: { readonly req?: IncomingMessage }): UnderWay[] {
  return (req?.socket && connections.get(req.socket)) ?? []
}

function watch(socket: Socket): UnderWay[] {
  const underWay: UnderWay[] = []
  connections.set(socket, underWay)
  // Node closes only the response that is being written; those that wait for it would never end.
  socket.once('close', () => {
    for (const { callbacks } of underWay.splice(0)) for (const callback of callbacks) callback()
  })
  return underWay
}

/** One function for all responses: one for each, with its own wrapper, would cost more than the counting. */
function onClose(this: ServerResponse): void {
  const underWay = underWayWith(this)
  const index = underWay.findIndex(({ response }) => response === this)
  const [closed] = index === -1 ? [] : underWay.splice(index, 1)
  for (const callback of closed?.callbacks ?? []) callback()
}

/**
 * Ends a connection. Node still parses all that came with the request, and keeps what it makes of that until the
 * connection is closed: with a thousand such connections at once, more than a small process has.
 */
function end(socket: Socket & { parser?: { onIncoming?: unknown } | null }): void {
  ended.add(socket)
  socket.destroy()
  if (socket.parser) socket.parser.onIncoming = () => 0
}

/** Writes a reply. Headers with other names that the host has already set are kept. */
export function writeReply(response: ServerResponse, reply: Reply): void {
  const { status, headers, body, written } = reply
  // The client may be gone, or the host may have answered already.
  if (response.destroyed || response.headersSent || isGone(response)) return written()
  whenClosed(response, written)
  if (headers['Connection'] === 'close' && response.req.httpVersionMajor > 1)
    return writeLast(response, reply)
  response.writeHead(status, headers)
  writeBody(response, body)
}

/** A response that waits for an earlier one is not destroyed with its connection. */
function isGone({ req }: { readonly req?: IncomingMessage }): boolean {
  return req?.socket?.destroyed === true
}

const pieceBytes = 64 * 1024

/** Writes a body. A long one in pieces, so that a server can see whether its client takes any of them. */
function writeBody(response: ServerResponse, body: string | Uint8Array, at = 0): void {
  if (typeof body === 'string' || body.length - at <= pieceBytes)
    return void response.end(typeof body === 'string' ? body : body.subarray(at))
  if (response.write(body.subarray(at, at + pieceBytes))) writeBody(response, body, at + pieceBytes)
  else response.once('drain', () => writeBody(response, body, at + pieceBytes))
}

/**
 * Writes a reply over HTTP/2, which forbids the header, and closes the stream instead, so that the rest of the body is
 * not sent.
 */
function writeLast(
  response: ServerResponse & { stream?: { close(): void } },
  { status, headers: { Connection: _, ...headers }, body }: Reply,
): void {
  response.writeHead(status, headers)
  response.end(body, () => response.stream?.close())
}

/** A view of the request that copies nothing until it is needed. */
export class NodeRequest implements RequestLike {
  readonly method: string
  readonly url: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #signal: AbortSignal | undefined
  /**
   * The listener that receives the body. Not a function that removes it: that kept each request in memory until a full
   * garbage collection.
   */
  #take: ((chunk: Buffer) => void) | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? 'GET'
    this.url = request.url ?? '/'
    this.#request = request
    this.#response = response
  }

  header(name: string): string | null {
    // `headers` keeps only the first of two Authorization headers; the raw list keeps both.
    const { rawHeaders, headers } = this.#request
    // Adapters for functions in a cloud make requests that have no raw list.
    if (rawHeaders.length === 0) return joined(headers[name.toLowerCase()])
    let value: string | null = null
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (!isSameName(rawHeaders[index] ?? '', name)) continue
      const part = rawHeaders[index + 1] ?? ''
      value = value === null ? part : `${value}, ${part}`
    }
    return value
  }

  isRepeated(name: string): boolean {
    const { rawHeaders, headers } = this.#request
    // A list, if a cloud's adapter has put one there.
    if (rawHeaders.length === 0) return Array.isArray(headers[name.toLowerCase()])
    let count = 0
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (isSameName(rawHeaders[index] ?? '', name)) count += 1
    }
    return count > 1
  }

  body(maxBytes: number): Promise<Uint8Array | null> {
    const request = this.#request
    return new Promise((resolve, reject) => {
      // A stream that has already ended or broken does not report it again.
      if (request.readableEnded) return resolve(this.#announcesBody() ? null : new Uint8Array())
      if (request.destroyed) return reject(new Error('The client has gone.'))
      const collected = new CollectedBody(maxBytes)
      const take = (chunk: Buffer | string): void => {
        // A host may have set an encoding, for a listener of its own.
        collected.add(
          typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk,
        )
        if (!collected.isTooMuch) return
        this.drain()
        if (collected.isTooLong) resolve(collected.bytes)
        else reject(new Error(`The body came in more than ${maxPieces} pieces.`))
      }
      this.#take = take
      request
        .on('data', take)
        .on('end', () => resolve(collected.bytes))
        .on('error', reject)
        .on('close', () => {
          // An error that nobody sees would cost every request a stack trace.
          if (!request.readableEnded) reject(new Error('The client has gone.'))
        })
    })
  }

  /**
   * Reads and drops the rest of the body. Otherwise, a client that is still sending would not see the answer, and the
   * next request on this connection could not be told apart from this body.
   */
  drain(): void {
    if (this.#take !== undefined) this.#request.off('data', this.#take)
    if (this.#take !== undefined || this.#announcesBody()) this.#request.resume()
  }

  /** Work of many pipelined requests at once would take the turns of other connections. */
  turn(): Promise<void> | undefined {
    return turnOf(this.#response)
  }

  #announcesBody(): boolean {
    return (
      this.#request.httpVersionMajor > 1 ||
      this.header('Transfer-Encoding') !== null ||
      Number(this.header('Content-Length')) > 0
    )
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response)
    return this.#signal
  }
}

/**
 * The part of a body received so far, in one buffer that grows: a hundred thousand buffers of one octet would take
 * thirty megabytes.
 */
class CollectedBody {
  readonly #maxBytes: number
  #buffer = Buffer.allocUnsafe(firstCapacity)
  #length = 0
  #pieces = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(chunk: Buffer): void {
    const needed = Math.min(this.#length + chunk.length, this.#maxBytes + 1)
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, needed))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#length, 0, needed - this.#length)
    this.#length = needed
    this.#pieces += 1
  }

  get isTooLong(): boolean {
    return this.#length > this.#maxBytes
  }

  get isTooMuch(): boolean {
    return this.isTooLong || this.#pieces > maxPieces
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }
}

function joined(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && (one === other || one.toLowerCase() === other.toLowerCase())
}

/** Returns a signal that aborts if the connection closes before the answer is written, or already has. */
function signalOf(response: ServerResponse & { stream?: { destroyed: boolean } }): AbortSignal {
  // Not the request's `aborted`: that is also set when a client has closed only its own half and still waits for the
  // answer.
  if (response.stream?.destroyed ?? response.destroyed) return AbortSignal.abort()
  const controller = new AbortController()
  whenClosed(response, () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
