import { randomUUID } from 'node:crypto'
import type { UtilityApiError } from '../domain/errors.ts'
import type { OperationId } from '../operations/operation.ts'
import type { Logger } from '../ports/logger.ts'
import type { RequestContext, RequestLike } from './messages.ts'

/**
 * The event of the tracing channel `utility-api.request`: at its start what is known of the request then, at its end all of
 * {@link RequestEndEvent}.
 *
 * @group Operation
 */
export type RequestTraceEvent = Pick<RequestEndEvent, 'operation' | 'method' | 'requestId'> &
  Partial<RequestEndEvent>

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

/** The id of a request: the host's or the client's, if it is short and safe to log and to send; or a new one. */
export function requestIdOf(request: RequestLike, context: RequestContext): string {
  const given = context.requestId ?? request.header('X-Request-Id')
  return given !== null && safeRequestId.test(given) ? given : randomUUID()
}

/** A logger that cannot fail a request: what it throws is ignored. */
export function harmlessLogger(logger: Logger | false): Logger {
  const call =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      // A full disk under the log is no reason to answer 500.
      if (logger !== false) harmless(() => logger[level](message, fields), ignore)
    }
  return { debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}

/** Calls a hook of the host's; an `async` one that rejects would otherwise end the process. */
export function harmless(hook: () => unknown, onFailure: (cause: unknown) => void): void {
  try {
    const result = hook()
    if (result instanceof Promise) result.catch(onFailure)
  } catch (cause) {
    onFailure(cause)
  }
}

function ignore(): void {}

/** Logs an error by whose fault it is: ours as `error`, a server that was looked up as `info`, a refusal as `debug`. */
export function logError(logger: Logger, error: UtilityApiError, fields: object): void {
  const { code, message, status, cause } = error
  if (status < 500 || code === 'unavailable') logger.debug(message, { ...fields, code })
  else logger[code === 'server_check_failed' ? 'info' : 'error'](message, { ...fields, code, cause })
}
