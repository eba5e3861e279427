import { randomUUID } from 'node:crypto'
import type { UtilityApiError } from '../domain/errors.ts'
import { hasSecretPrefix } from '../domain/secret.ts'
import type { OperationCall } from '../operations/operation.ts'
import type { Logger } from '../ports/logger.ts'
import { performance } from '../ports/timers.ts'
import type { BodyMembers, Presented } from '../security/scheme.ts'
import type { Closing, WorkSignal } from '../bounds/closing.ts'
import type { KnownCaller } from '../bounds/in-flight.ts'
import { harmless } from './log.ts'
import type { Answered } from './reply.ts'
import type { Reply, RequestContext, RequestLike } from './request-like.ts'

/** Matches the request ids that are accepted: short, and safe to log and to send. */
export const safeRequestId: RegExp = /^[\w.~:+/=-]{1,64}$/
const noMembers: BodyMembers = new Map()

/** Returns the id that the host gives the request, or else the client. */
function givenId(request: RequestLike, { requestId }: RequestContext, logger: Logger): unknown {
  let id: unknown
  const ask = (): unknown =>
    (id = typeof requestId === 'function' ? requestId() : (requestId ?? request.header('X-Request-Id')))
  harmless(ask, (cause) => logger.error('The request id could not be read.', { cause }))
  return id
}

/** A secret in a field of the wrong name would be answered and logged. */
function isSafeId(id: unknown): id is string {
  return typeof id === 'string' && safeRequestId.test(id) && !hasSecretPrefix(id)
}

/** Answers whose `written` nobody holds anymore, so that nobody will call it. */
const forgotten = new FinalizationRegistry((letGo: () => void) => letGo())

/** A request in progress, and what is known about it so far. */
export class Call implements OperationCall, Presented, Answered {
  readonly request: RequestLike
  readonly context: RequestContext
  /** Path parameters. */
  readonly params: Readonly<Record<string, string>>
  /** The host's or the client's id if it is short and safe to log and to send, otherwise a new one. */
  readonly requestId: string
  /** The members of the body, empty until it has been read. */
  body: BodyMembers = noMembers
  /** The caller, once it is known. */
  caller: KnownCaller | undefined
  /** The license that the request is about, once the operation knows it. */
  licenseKey: string | undefined
  /** Whose share of the bounds it takes: the caller's, or its part of it if the caller has proved nothing. */
  share: KnownCaller | undefined
  /** Why the path leads nowhere, for the log. */
  noRoute: string | undefined
  /** The error that the request was refused with. */
  error: UtilityApiError | undefined
  /** Whether it counts as under way, so that closing waits for it. */
  isUnderWay = false
  /** Ends the count of the request on its connection. */
  leaveConnection: (() => void) | undefined
  /** Ends the count of its answer's octets. */
  #letGo: (() => void) | undefined
  readonly #closing: Closing
  readonly #logger: Logger
  #endsAt = Number.POSITIVE_INFINITY
  #work: WorkSignal | undefined

  constructor(
    request: RequestLike,
    context: RequestContext,
    params: Readonly<Record<string, string>>,
    closing: Closing,
    logger: Logger,
  ) {
    const id = givenId(request, context, logger)
    this.request = request
    this.context = context
    this.params = context.params === undefined ? params : { ...params, ...context.params }
    this.requestId = isSafeId(id) ? id : randomUUID()
    this.#closing = closing
    this.#logger = logger
  }

  header(name: string): string | null {
    return this.request.header(name)
  }

  get callerKey(): string {
    return `${this.share?.scheme}:${this.share?.id}`
  }

  written(failure?: unknown): void {
    if (failure !== undefined)
      this.#logger.error('The answer could not be written.', { requestId: this.requestId, cause: failure })
    this.leaveConnection?.()
    this.leaveConnection = undefined
    if (this.#letGo === undefined) return
    forgotten.unregister(this)
    this.#letGo()
    this.#letGo = undefined
  }

  /** Counts the octets of its answer until `written` is called, or has been collected as garbage. */
  holdUntil(written: Reply['written'], letGo: () => void): void {
    this.#letGo = letGo
    // Not this object: it has the host's request, which may hold the reply.
    forgotten.register(written, letGo, this)
  }

  /** Gives storage this many milliseconds from now, for all calls of this request together. */
  startStorageDeadline(timeoutMs: number): void {
    this.#endsAt = performance.now() + timeoutMs
  }

  /** Gives storage so many milliseconds more, because the request waited for something else. */
  extendStorageDeadline(byMs: number): void {
    this.#endsAt += byMs
  }

  timeLeftMs(): number {
    return this.#endsAt - performance.now()
  }

  /** Created on first use, because operations that wait only for storage never need it. */
  get signal(): AbortSignal {
    this.#work ??= this.#closing.workSignal(this.context.signal ?? this.request.signal)
    return this.#work.signal
  }

  /** Whether the client has gone or the service is closing; false if no operation has used `signal`. */
  get aborted(): boolean {
    return this.#work?.signal.aborted === true
  }

  /** Stops listening, because the work is done and nothing is left to abort. */
  end(): void {
    this.#work?.stop()
  }
}
