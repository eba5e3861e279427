import { refused, type Refusal } from '../domain/errors.ts'
import type { RequestLike } from './request-like.ts'

const maxBodyBytes = 64 * 1024
/** How long a body may take to arrive. */
const timeoutMs = 10_000
/** How many bodies are read at once: at most 32 MB, if all of them have the maximum size. */
const maxBodies = 512

const tooLarge: Refusal = {
  code: 'payload_too_large',
  message: `The body is larger than ${maxBodyBytes} bytes.`,
}
const incomplete: Refusal = {
  code: 'invalid_request',
  message: 'The body did not arrive whole, or arrived in too many pieces.',
}
const tooSlow: Refusal = { code: 'request_timeout', message: 'The body took too long to arrive.' }

/** The refusal of a body that cannot be read or dropped. */
export const bodyWithheld: Refusal = {
  code: 'invalid_request',
  message: 'The request must have no body.',
}

export const bodyReaderRefusals: readonly Refusal[] = [tooLarge, incomplete, tooSlow]

/** A client that has sent part of a body will send the rest, so the connection cannot serve another request. */
export const closeConnection = { headers: { Connection: 'close' } }

const bodyGone =
  'The body was read before the request was passed on. Mount the operations before whatever reads bodies.'

/** Why a body cannot be read although the client has sent it. */
class HostFault extends Error {
  override readonly name: string = 'HostFault'
}

/** A body that is being read. */
interface Reading {
  readonly slot: number
  /** How many bodies were started before this one. */
  readonly before: number
  readonly giveUp: () => void
}

/** Reads bodies. Limits their size, how many are read at once, and how long each may take. */
export class BodyReader {
  // An array instead of a Set: V8 leaves each table that a Set has outgrown with a pointer to the next. That keeps all
  // bodies, with their requests and answers, in memory until a full collection, and each of the short ones before it
  // took 20 ms.
  readonly #slots: (Reading | undefined)[] = Array.from({ length: maxBodies }, () => undefined)
  readonly #free: number[] = [...this.#slots.keys()]
  #begun = 0

  /**
   * Returns the bytes of a request's body. If too many bodies are being read, the one that has taken longest is given
   * up, so that slow senders cannot keep others out, however many there are.
   *
   * @throws `payload_too_large`, `request_timeout`, `invalid_request`
   */
  read(request: RequestLike): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#giveBack(reading)
      }
      const giveUp = (): void => {
        end()
        request.drain?.()
        reject(refused(tooSlow, closeConnection))
      }
      const timer = setTimeout(giveUp, timeoutMs)
      const reading = { slot: this.#takeSlot(), before: this.#begun, giveUp }
      this.#begun += 1
      this.#slots[reading.slot] = reading
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

  #takeSlot(): number {
    let slot = this.#free.pop()
    while (slot === undefined) {
      this.#giveUpLongest()
      slot = this.#free.pop()
    }
    return slot
  }

  #giveUpLongest(): void {
    const all = this.#slots.filter((each) => each !== undefined)
    all.reduce((longest, each) => (each.before < longest.before ? each : longest)).giveUp()
  }

  #giveBack(reading: Reading): void {
    if (this.#slots[reading.slot] !== reading) return
    this.#slots[reading.slot] = undefined
    this.#free.push(reading.slot)
  }
}

/** Reads a body. Rejects whatever a mount does instead of that: what it throws elsewhere would end the process. */
async function bodyOf(request: RequestLike): Promise<Uint8Array> {
  const bytes: unknown = await request.body(maxBodyBytes)
  if (bytes instanceof Uint8Array) return bytes
  if (bytes === null) throw new HostFault(bodyGone)
  throw new HostFault(`The mount's body() gave ${typeof bytes} instead of a Uint8Array.`)
}
