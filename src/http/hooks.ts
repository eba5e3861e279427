import { randomUUID } from 'node:crypto'
import type { UtilityApiError } from '../domain/errors.ts'
import type { OperationId } from '../operations/operation.ts'
import type { Logger } from '../ports/logger.ts'
import type { RequestContext, RequestLike } from './messages.ts'

/**
 * What a finished request tells a metrics system. Holds no secret and no personal text.
 *
 * @group Operation
 */
export interface RequestEndEvent {
  /** The operation asked for; absent when no path matched. */
  readonly operation?: OperationId
  /** The HTTP method. */
  readonly method: string
  /** The status answered. */
  readonly status: number
  /** The error's code, where the answer is one. */
  readonly errorCode?: string
  /** From the first look at the request to the finished answer, in milliseconds. */
  readonly durationMs: number
  /** The id sent as `X-Request-Id`. */
  readonly requestId: string
  /** Who asked, as soon as that is known: the id of a client, reseller or key holder. */
  readonly callerId?: string
}

const safeRequestId = /^[\w.~:+/=-]{1,64}$/

/** The id of a request: the host's, the client's if it is short and safe to log, or a new one. */
export function requestIdOf(request: RequestLike, context: RequestContext): string {
  if (context.requestId !== undefined) return context.requestId
  const sent = request.header('X-Request-Id')
  return sent !== null && safeRequestId.test(sent) ? sent : randomUUID()
}

/** A logger that cannot fail a request: what it throws is ignored. */
export function harmlessLogger(logger: Logger | false): Logger {
  const call =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      if (logger === false) return
      try {
        logger[level](message, fields)
      } catch {
        // A full disk under the log is no reason to answer 500.
      }
    }
  return { debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}

/** Logs an error by whose fault it is: ours as `error` with its cause, a refusal as `debug` without one. */
export function logError(logger: Logger, error: UtilityApiError, fields: object): void {
  if (error.status < 500 || error.code === 'unavailable')
    logger.debug(error.message, { ...fields, code: error.code })
  else logger.error(error.message, { ...fields, code: error.code, cause: error.cause })
}
