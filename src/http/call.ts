import { randomUUID } from 'node:crypto'
import type { UtilityApiError } from '../domain/errors.ts'
import type { OperationCall } from '../operations/operation.ts'
import type { Presented } from '../security/scheme.ts'
import type { BodyMembers } from './body-parser.ts'
import type { Closing } from './closing.ts'
import type { RequestContext, RequestLike } from './request-like.ts'

/** A request id that is taken: short, and safe to log and to send. */
export const safeRequestId: RegExp = /^[\w.~:+/=-]{1,64}$/
const noMembers: BodyMembers = new Map()

/** A request on its way, and what becomes known about it. */
export class Call implements OperationCall, Presented {
  readonly request: RequestLike
  readonly context: RequestContext
  /** Path parameters. */
  readonly params: Readonly<Record<string, string>>
  /** The host's id or the client's, if it is short and safe to log and to send; or a new one. */
  readonly requestId: string
  /** The members of the body, once it is read. */
  body: BodyMembers = noMembers
  /** Who asks, as soon as that is known. */
  callerId: string | undefined
  /** Why it was refused. */
  error: UtilityApiError | undefined
  readonly #closing: Closing
  #endsAt = Number.POSITIVE_INFINITY
  #controller: AbortController | undefined
  #stopListening: (() => void) | undefined

  constructor(
    request: RequestLike,
    context: RequestContext,
    params: Readonly<Record<string, string>>,
    closing: Closing,
  ) {
    const givenId = context.requestId ?? request.header('X-Request-Id')
    this.request = request
    this.context = context
    this.params = context.params ?? params
    this.requestId = givenId !== null && safeRequestId.test(givenId) ? givenId : randomUUID()
    this.#closing = closing
  }

  header(name: string): string | null {
    return this.request.header(name)
  }

  /** From now on storage has this many milliseconds, for all that this request asks of it. */
  startStorageDeadline(timeoutMs: number): void {
    this.#endsAt = performance.now() + timeoutMs
  }

  timeLeftMs(): number {
    return this.#endsAt - performance.now()
  }

  /** Made when first asked for: operations that wait for storage alone never do. */
  get signal(): AbortSignal {
    this.#controller ??= this.#listenTo(this.context.signal ?? this.request.signal)
    return this.#controller.signal
  }

  /** Whether the client has gone or the service closes, as far as an operation has listened to it. */
  get aborted(): boolean {
    return this.#controller?.signal.aborted === true
  }

  /** The work is done: nothing is left to abort. */
  end(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
  }

  #listenTo(gone: AbortSignal | undefined): AbortController {
    const controller = new AbortController()
    const abort = (): void => controller.abort(gone?.reason)
    gone?.addEventListener('abort', abort)
    if (gone?.aborted === true) abort()
    const leave = this.#closing.add(controller)
    this.#stopListening = () => {
      gone?.removeEventListener('abort', abort)
      leave()
    }
    return controller
  }
}
