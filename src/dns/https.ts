import { setImmediate } from '../ports/timers.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import { overStream, type ReplyListener } from './reply-listener.ts'

/** The host's `fetch`, as far as it is used. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>

const mediaType = 'application/dns-message'
/** No DNS message is longer. */
const maxLength = 65_535

/**
 * Sends a message in a request of its own. By POST, since no cache on the way answers that: it would have to be asked for
 * the age of its answer. Returns a function that ends the request early.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8484#section-4.1 | RFC 8484 section 4.1}
 */
export function sendOverHttps(
  fetch: Fetch,
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
    listener.fail(overStream, (error as Partial<Error> | null)?.cause ?? error)
  }
  exchange(fetch, url, message, signal).then((reply) => {
    if (signal.aborted || listener.receive(reply, overStream)) return
    // Not at once: the listener may be about to ask again, which ends this request.
    setImmediate(fail, new Error(`${url} sent no answer to the question.`))
  }, fail)
  return () => ending.abort()
}

async function exchange(
  fetch: Fetch,
  url: string | null,
  message: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  if (url === null) throw new Error('No endpoint for DNS over HTTPS is known of this resolver.')
  const response = await fetch(url, {
    method: 'POST',
    headers: { Accept: mediaType, 'Content-Type': mediaType },
    body: new Uint8Array(message),
    redirect: 'error',
    credentials: 'omit',
    signal,
  })
  const type = response.headers.get('Content-Type') ?? 'nothing'
  if (!response.ok || type.split(';')[0]?.trim().toLowerCase() !== mediaType) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${response.status} with ${type}, not a DNS message.`)
  }
  const received = new GrowingBuffer()
  let reply = received.append(new Uint8Array())
  // Cancels the response if it is too long, or when the signal aborts.
  await response.body?.pipeTo(
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
