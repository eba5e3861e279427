import { AsyncResource } from 'node:async_hooks'
import { closeConnection, refusal, refused, type Refusal } from '../domain/errors.ts'
import { Slots } from '../bounds/slots.ts'
import { clearTimeout, setTimeout } from '../ports/timers.ts'
import type { RequestLike } from './request-like.ts'

const maxBodyBytes = 64 * 1024
/** How long a body may take to arrive. */
const timeoutMs = 10_000
/** How many bodies are read at once: at most 32 MB, if all of them have the maximum size. */
const maxBodies = 512

const tooLarge = refusal('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`)
const incomplete = refusal('invalid_request', 'The body did not arrive whole, or arrived in too many pieces.')
const tooSlow = refusal('request_timeout', 'The body took too long to arrive.')

/** The refusal of a body that cannot be read or dropped. */
export const bodyWithheld: Refusal = refusal('invalid_request', 'The request must have no body.')

export const bodyReaderRefusals: readonly Refusal[] = [tooLarge, incomplete, tooSlow]

const bodyGone =
  'The body was read before the request was passed on. Mount the operations before whatever reads bodies.'

/** Why a body cannot be read although the client has sent it. */
class HostFault extends Error {
  override readonly name: string = 'HostFault'
}

/** A body that is being read. */
interface Reading {
  /** How many bodies were started before this one. */
  readonly before: number
  readonly giveUp: () => void
}

/** Reads bodies. Limits their size, how many are read at once, and how long each may take. */
export class BodyReader {
  readonly #readings = new Slots<Reading>()
  #begun = 0

  /**
   * Returns the bytes of a request's body. If too many bodies are being read, the one that has taken longest is given
   * up, so that slow senders cannot keep others out, however many there are.
   *
   * @throws `payload_too_large`, `request_timeout`, `invalid_request`
   */
  read(request: RequestLike): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        clearTimeout(timer)
        this.#readings.free(slot)
      }
      const giveUp = (): void => {
        end()
        request.drain?.()
        reject(refused(tooSlow, closeConnection))
      }
      const timer = setTimeout(giveUp, timeoutMs)
      while (this.#readings.size >= maxBodies) this.#giveUpLongest()
      // `AsyncResource.bind` takes fifty times as long, and keeps what it binds until a full garbage collection.
      const context = new AsyncResource('utility-api')
      const slot = this.#readings.add({ before: this.#begun, giveUp: () => context.runInAsyncScope(giveUp) })
      this.#begun += 1
      bodyOf(request).then(
        (bytes) => {
          end()
          if (bytes.length > maxBodyBytes) reject(refused(tooLarge))
          else resolve(bytes)
        },
        (cause: unknown) => {
          end()
          reject(cause instanceof HostFault ? cause : refused(incomplete, { ...closeConnection, cause }))
        },
      )
    })
  }

  #giveUpLongest(): void {
    this.#readings
      .all()
      .reduce((longest, each) => (each.before < longest.before ? each : longest))
      .giveUp()
  }
}

/**
 * Reads a body. Rejects whatever a mount does instead of that, because what it throws elsewhere would end the process.
 */
async function bodyOf(request: RequestLike): Promise<Uint8Array> {
  const bytes: unknown = await request.body(maxBodyBytes)
  if (bytes instanceof Uint8Array) return bytes
  if (bytes === null) throw new HostFault(bodyGone)
  throw new HostFault(`The mount's body() gave ${typeof bytes} instead of a Uint8Array.`)
}
