/** Requests that no server has read from a socket, as libraries for tests and for functions in a cloud make them. */
import fastify from 'fastify'
import { EventEmitter } from 'node:events'
import {
  IncomingMessage,
  ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { answerOf, type TestAnswer, type TestRequest } from './send.ts'

export type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** Answers a request through a listener. */
export type Inject = (listener: Listener, request: TestRequest) => Promise<TestAnswer>

type Values = Record<string, string | number | readonly string[]>

/** Headers by their names in lower case, as all of these libraries have them. */
function lowerCase({ headers = {} }: TestRequest): Values {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Answers a request with a response that only keeps what it is given: no event comes of it. */
async function answered(listener: Listener, request: object): Promise<TestAnswer> {
  const sent: Record<string, string> = {}
  const chunks: Buffer[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  // Members of its own, because Express gives it another prototype.
  const response = {
    statusCode: 200,
    headersSent: false,
    writableEnded: false,
    on: () => response,
    once: () => response,
    setHeader: (name: string, value: string) => void (sent[name.toLowerCase()] = value),
    writeHead(status: number, headers: Record<string, string>) {
      Object.assign(response, { statusCode: status, headersSent: true })
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    },
    write: (chunk: string | Uint8Array) => void chunks.push(Buffer.from(chunk)),
    end(chunk: string | Uint8Array = '') {
      response.write(chunk)
      response.writableEnded = true
      resolve()
    },
  }
  await listener(request as IncomingMessage, response as unknown as ServerResponse)
  await promise
  return textOf(response.statusCode, sent, chunks)
}

function textOf(status: number, headers: OutgoingHttpHeaders, chunks: readonly Buffer[]): TestAnswer {
  return answerOf(status, headers as Record<string, string>, Buffer.concat(chunks).toString())
}

/** The body as a program of tests writes it: an object, which the library hands over as it is. */
function parsedBody({ headers = {}, body }: TestRequest): unknown {
  if (typeof body !== 'string') return body
  if (String(headers['Content-Type']).includes('urlencoded'))
    return Object.fromEntries(new URLSearchParams(body))
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

/** A response on which `write` answers true, as that of Hapi's `inject` does, and which is never closed. */
class InjectedResponse extends ServerResponse {
  readonly chunks: Buffer[] = []
  override write(chunk: string | Uint8Array): boolean {
    super.write(chunk)
    this.chunks.push(Buffer.from(chunk))
    return true
  }
  override end(chunk?: unknown): this {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk)
    super.end()
    this.emit('finish')
    return this
  }
}

/** A response on a socket that says nothing of what becomes of it, as that of serverless-http. */
function functionResponse(method: string): { response: ServerResponse; chunks: Buffer[] } {
  const response = new ServerResponse({ method } as IncomingMessage)
  const chunks: Buffer[] = []
  const nothing = (): void => {}
  response.assignSocket({
    _writableState: {},
    writable: true,
    on: nothing,
    removeListener: nothing,
    destroy: nothing,
    cork: nothing,
    uncork: nothing,
    write(chunk: string | Uint8Array, encoding: unknown, done?: () => void) {
      chunks.push(Buffer.from(chunk as string, typeof encoding === 'string' ? 'latin1' : undefined))
      const callback = typeof encoding === 'function' ? encoding : done
      callback?.()
    },
  } as unknown as Socket)
  return { response, chunks }
}

export const socketless: Readonly<Record<string, Inject>> = {
  async 'light-my-request'(listener, { method, path, headers = {}, body }) {
    const app = fastify()
    app.addHook('onRequest', async (request, reply) => {
      reply.hijack()
      await listener(request.raw, reply.raw)
    })
    app.all('/*', () => {})
    const answer = await app.inject({
      method: method as 'GET',
      url: path,
      headers: headers as IncomingHttpHeaders,
      ...(body !== undefined && { payload: typeof body === 'string' ? body : Buffer.from(body) }),
    })
    return answerOf(answer.statusCode, answer.headers as Record<string, string>, answer.payload)
  },

  /** No raw list, no major version, and values as the test has written them. */
  async 'Hapi inject'(listener, sent) {
    const { method, path, body } = sent
    const request = Object.assign(Readable.from(body === undefined ? [] : [Buffer.from(body)]), {
      method,
      url: path,
      httpVersion: '1.1',
      headers: { host: 'localhost', ...lowerCase(sent), ...(body && { 'content-length': body.length }) },
      socket: Object.assign(new EventEmitter(), { remoteAddress: '127.0.0.1' }),
    }) as unknown as IncomingMessage
    const response = new InjectedResponse({ method, httpVersionMajor: 1, httpVersionMinor: 1 } as never)
    const finished = new Promise((resolve) => response.once('finish', resolve))
    await listener(request, response)
    await finished
    return textOf(response.statusCode, response.getHeaders(), response.chunks)
  },

  /** The length of the body is a number, also of one that is empty; so the versions are text. */
  async 'serverless-http'(listener, sent) {
    const { method, path, body = '' } = sent
    const octets = Buffer.from(body)
    const socket = { encrypted: true, readable: false, remoteAddress: '192.0.2.1', destroy() {}, end() {} }
    const request = Object.assign(new IncomingMessage(socket as unknown as Socket), {
      method,
      url: path,
      httpVersion: '1.1',
      httpVersionMajor: '1' as unknown as number,
      complete: true,
      headers: { ...lowerCase(sent), 'content-length': octets.length } as unknown as IncomingHttpHeaders,
      body: octets,
    })
    // oxlint-disable-next-line no-underscore-dangle -- as a stream reads
    request._read = () => {
      request.push(octets)
      request.push(null)
    }
    const { response, chunks } = functionResponse(method)
    const finished = new Promise((resolve) => response.once('finish', resolve))
    await listener(request, response)
    await finished
    const text = Buffer.concat(chunks).toString()
    return answerOf(response.statusCode, {}, text.slice(text.indexOf('\r\n\r\n') + 4))
  },

  /** Events, but no stream; the body is an object, empty if there is none. */
  'node-mocks-http': (listener, sent) =>
    answered(
      listener,
      Object.assign(new EventEmitter(), {
        method: sent.method,
        url: sent.path,
        headers: lowerCase(sent),
        body: parsedBody(sent) ?? {},
        socket: {},
        ip: '127.0.0.1',
        destroy() {},
      }),
    ),

  'a bare object': (listener, sent) =>
    answered(listener, {
      method: sent.method,
      url: sent.path,
      headers: lowerCase(sent),
      ...(sent.body !== undefined && { body: parsedBody(sent) }),
    }),
}
