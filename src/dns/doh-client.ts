import { AsyncResource } from 'node:async_hooks'
import { invalidOption, requireOptions } from '../domain/arguments.ts'
import { GrowingBuffer } from '../domain/growing-buffer.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { setImmediate } from '../ports/timers.ts'
import { checkedServer, clientOver } from './client-over.ts'
import { overStream, type ReplyListener, type Stream } from './transport-types.ts'

/**
 * Options of {@link createDohClient}.
 *
 * @group DNS
 */
export interface DohClientOptions {
  /**
   * Returns the URL to ask for a resolver, or null if there is none, and then the answer is `UNREACHABLE`.
   *
   * Default: the server's `doh`.
   */
  readonly endpoint?: (server: DnsQuestion['server']) => string | null
  /** What sends the requests, for instance by HTTP/2 or through a proxy. Default: the global `fetch`. */
  readonly fetch?: (
    url: string,
    init: {
      readonly method: 'POST'
      readonly headers: Record<string, string>
      readonly body: ArrayBuffer
      readonly redirect: 'error'
      readonly credentials: 'omit'
      readonly signal: AbortSignal
    },
  ) => Promise<
    Pick<Response, 'ok' | 'status'> & {
      readonly headers: Pick<Headers, 'get'>
      /** A `ReadableStream` of octets, of any library. */
      readonly body: Pick<ReadableStream, 'cancel'> | null
    }
  >
}

/**
 * Creates a client that asks resolvers over HTTPS, for hosts that cannot send DNS, such as serverless ones, and those
 * whose firewall closes UDP port 53.
 *
 * Answers, limits and deadlines are as with {@link createDnsClient}. What is no DNS message, such as a redirect or another
 * status than 2xx, is `UNREACHABLE`, and the `cause` says what came.
 *
 * @example
 * ```ts
 * import { createDohClient } from 'utility-api/dns'
 *
 * const client = createDohClient()
 * const server = { ip: '8.8.8.8', doh: 'https://dns.google/dns-query' }
 * const { status, cause } = await client.query({ name: 'example.com', type: 'MX', server })
 * console.log(status, cause)
 * await client.close()
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8484 | RFC 8484}
 *
 * @group DNS
 */
export function createDohClient(options: DohClientOptions = {}): DnsClient {
  requireOptions(options, ['endpoint', 'fetch'])
  const { endpoint = ({ doh }) => doh ?? null, fetch = globalThis.fetch } = options
  for (const [name, value] of Object.entries({ endpoint, fetch }))
    if (typeof value !== 'function') throw invalidOption(name, 'must be a function')
  return clientOver({
    name: 'https',
    timeoutMs: 5000,
    routeTo({ server }) {
      checkedServer(server)
      const url = endpoint(server)
      // It may be called in another query's turn. The host's function would then act for that one's caller.
      const own = new AsyncResource('utility-api')
      const send: Stream['send'] = (message, listener) => {
        const end = own.runInAsyncScope(sendOverHttps, undefined, fetch, url, message, listener)
        return () => own.runInAsyncScope(end)
      }
      return { pool: undefined, stream: { name: 'https', send } }
    },
    close() {},
  })
}

const mediaType = 'application/dns-message'
const plainType = /^[\w.+-]{1,64}\/[\w.+-]{1,64}/
/** No DNS message is longer. */
const maxLength = 65_535

/**
 * Sends a message in a separate request, by POST, because a cache on the way could answer a GET, with TTLs of the past.
 * Returns a function that ends the request early.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8484#section-4.1 | RFC 8484 section 4.1}
 */
function sendOverHttps(
  fetch: NonNullable<DohClientOptions['fetch']>,
  url: string | null,
  message: Buffer,
  listener: ReplyListener,
): () => void {
  const ending = new AbortController()
  const { signal } = ending
  const fail = (error: unknown): void => {
    if (signal.aborted) return
    ending.abort()
    // `fetch` wraps the system's error.
    const cause: unknown = (error as Partial<Error> | null)?.cause ?? error
    // There, Node.js keeps anything that a server sent that is no HTTP, and a log would have all of it.
    if (cause instanceof Error) Reflect.deleteProperty(cause, 'data')
    listener.fail(overStream, cause)
  }
  exchange(fetch, url, message, signal).then((reply) => {
    if (signal.aborted || listener.receive(reply, overStream)) return
    // Not at once: the listener may be about to ask again, which ends this request.
    setImmediate(fail, new Error(`${url} sent no answer to the question.`))
  }, fail)
  return () => ending.abort()
}

async function exchange(
  fetch: NonNullable<DohClientOptions['fetch']>,
  url: string | null,
  message: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  if (url === null) throw new Error('No endpoint for DNS over HTTPS is known of this resolver.')
  const response = await fetch(url, {
    method: 'POST',
    headers: { Accept: mediaType, 'Content-Type': mediaType },
    body: new Uint8Array(message).buffer,
    redirect: 'error',
    credentials: 'omit',
    signal,
  })
  // No more of what the server says, because the sentence may come to a terminal.
  const [type = 'nothing'] = plainType.exec(response.headers.get('Content-Type') ?? '') ?? []
  if (!response.ok || type.toLowerCase() !== mediaType) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${response.status} with ${type}, not a DNS message.`)
  }
  const received = new GrowingBuffer()
  let reply = received.append(new Uint8Array())
  // Cancels the response if it is too long, or when the signal aborts.
  const stream = response.body as ReadableStream<Uint8Array> | null
  await stream?.pipeTo(
    new WritableStream<Uint8Array>({
      write(chunk) {
        if (received.length + chunk.length > maxLength)
          throw new Error(`${url} sent more than a DNS message can hold.`)
        reply = received.append(chunk)
      },
    }),
    { signal },
  )
  return reply
}
