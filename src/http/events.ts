import { ServerCheckError } from '../domain/server-status.ts'
import type { OperationId } from '../operations/operation.ts'
import type { Logger } from '../ports/logger.ts'
import { channels, trace } from '../ports/diagnostics.ts'
import { performance } from '../ports/timers.ts'
import type { Call } from './call.ts'
import { harmless } from './log.ts'
import type { Reply } from './request-like.ts'

/**
 * The event of the tracing channel `utility-api.request`. At the start it has what is known about the request then, at
 * the end everything in {@link RequestEndEvent} but the license key.
 *
 * @group Operation
 */
export type RequestTraceEvent = Pick<RequestEndEvent, 'operation' | 'method' | 'requestId'> &
  Partial<Omit<RequestEndEvent, 'licenseKey'>>

/**
 * What a finished request reports to a function of yours. It contains no secrets and no personal text, but the key of the
 * license that the request was about.
 *
 * @group Operation
 */
export interface RequestEndEvent {
  /** The requested operation; absent if no path matched. */
  readonly operation?: OperationId
  /** The HTTP method. */
  readonly method: string
  /** The HTTP status of the answer. */
  readonly status: number
  /** The error's code, if the answer is an error. */
  readonly errorCode?: string
  /**
   * Why a game server lookup failed: `dns`, `blocked`, `refused`, `timeout`, `closed`, `protocol` or `local`. Or
   * `aborted`, if the request was given up because the client left or the service closed.
   */
  readonly reason?: string
  /** The time from the first look at the request to the finished answer, in milliseconds. */
  readonly durationMs: number
  /** The id sent as `X-Request-Id`. */
  readonly requestId: string
  /** The id of the client, the reseller or the API key, once it is known; for an access token without a client, its own. */
  readonly callerId?: string
  /**
   * The license that was generated, now or for an earlier request that this one repeats, or that an update found,
   * whoever owns it. Only `onRequestEnd` is told it, because it makes a product run, so keep it out of logs and metrics
   * that others read.
   */
  readonly licenseKey?: string
}

/** The functions that are told about requests. */
export interface Observers {
  readonly logger: Logger
  readonly onRequestEnd: ((event: RequestEndEvent) => void) | undefined
}

/** Answers a request and reports it to `onRequestEnd` and the tracing channel. */
export function observed(
  { logger, onRequestEnd }: Observers,
  operation: OperationId | undefined,
  call: Call,
  answer: () => Promise<Reply>,
): Promise<Reply> {
  const started = performance.now()
  const { request, requestId } = call
  const known = { ...(operation !== undefined && { operation }), method: request.method, requestId }
  // The channel's own object, because its subscribers may put things of theirs into it.
  const event: RequestTraceEvent = { ...known }
  return trace(channels.request, event, async () => {
    const reply = await answer()
    const end = {
      ...known,
      ...whatBecameKnown(call),
      status: reply.status,
      durationMs: performance.now() - started,
    }
    Object.assign(event, end)
    const { licenseKey } = call
    harmless(
      () => onRequestEnd?.(licenseKey === undefined ? end : { ...end, licenseKey }),
      (cause) => logger.error('onRequestEnd failed.', { requestId, cause }),
    )
    return reply
  })
}

function whatBecameKnown({ caller, error, aborted }: Call): Partial<RequestEndEvent> {
  return {
    ...(caller !== undefined && { callerId: caller.id }),
    ...(error !== undefined && { errorCode: error.code }),
    ...(error instanceof ServerCheckError && { reason: error.reason }),
    ...(error?.code === 'unavailable' && aborted && { reason: 'aborted' }),
  }
}
