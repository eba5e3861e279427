import { refused, type Refusal } from '../domain/errors.ts'
import type { RequestLike } from './request-like.ts'

const maxBodyBytes = 64 * 1024
/** How long a body may take to arrive. */
const timeoutMs = 10_000
/** How many bodies are read at once: 32 MB, were all of them as large as they may be. */
const maxBodies = 512

const tooLarge: Refusal = {
  code: 'payload_too_large',
  message: `The body is larger than ${maxBodyBytes} bytes.`,
}
const incomplete: Refusal = {
  code: 'invalid_request',
  message: 'The body did not arrive whole, or in too many pieces.',
}
const tooSlow: Refusal = { code: 'request_timeout', message: 'The body took too long to arrive.' }

/** The refusal of a body that can neither be read nor dropped. */
export const bodyWithheld: Refusal = {
  code: 'invalid_request',
  message: 'The request must have no body.',
}

export const bodyReaderRefusals: readonly Refusal[] = [tooLarge, incomplete, tooSlow]

/** Who has sent a part of a body will send the rest: the connection cannot serve another request. */
export const closeConnection = { headers: { Connection: 'close' } }

/** Reads bodies: so many bytes, so many at once, each within so long. */
export class BodyReader {
  /** What gives up on each body that is being read, the longest first. */
  readonly #reading = new Set<() => void>()

  /**
   * The bytes of a request's body. Where too many are being read, the one that takes longest is given up for it, so that
   * any number of slow senders cannot keep others out.
   *
   * @throws `payload_too_large`, `request_timeout`, `invalid_request`
   */
  async read(request: RequestLike): Promise<Uint8Array> {
    const bytes = await this.#readWithin(request)
    if (bytes.length > maxBodyBytes) throw refused(tooLarge)
    return bytes
  }

  #readWithin(request: RequestLike): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        end()
        request.drain?.()
        reject(refused(tooSlow, closeConnection))
      }
      const timer = setTimeout(giveUp, timeoutMs)
      const end = (): void => {
        clearTimeout(timer)
        this.#reading.delete(giveUp)
      }
      this.#makeRoom()
      this.#reading.add(giveUp)
      request
        .body(maxBodyBytes)
        .finally(end)
        .then(resolve, (cause: unknown) => reject(refused(incomplete, { ...closeConnection, cause })))
    })
  }

  #makeRoom(): void {
    if (this.#reading.size < maxBodies) return
    const [longest] = this.#reading
    longest?.()
  }
}
