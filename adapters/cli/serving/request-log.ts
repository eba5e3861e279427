import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger, RequestEndEvent, UtilityApi, UtilityApiOptions } from 'utility-api'
import { printLog, printLogJson, printLogLine } from '../terminal/output.ts'

/** How requests are logged: a line for people, a line of JSON, or not at all. */
export const logFormats = ['line', 'json', 'none'] as const
export type LogFormat = (typeof logFormats)[number]

/** The request log of a server: the options it needs, and how it learns where a request comes from. */
export interface RequestLog {
  /** The options to create the service with. */
  readonly options: Pick<UtilityApiOptions, 'logger' | 'onRequestEnd'>
  /** Returns the service, with the address of its clients known to the log. */
  watch(api: UtilityApi): UtilityApi
  /** Says something about the server itself. */
  say(message: string): void
}

/**
 * Creates a request log, in which `redact` is applied to errors. Standard output says only where the server listens;
 * the log goes to standard error.
 */
export function requestLog(format: LogFormat, redact: (error: unknown) => void = () => {}): RequestLog {
  const { warn, error, info } = format === 'json' ? jsonLogger : lineLogger
  const requests = new AsyncLocalStorage<KnownRequest>()
  const redacted = (fields?: object): object | undefined => {
    Object.values(fields ?? {}).forEach(redact)
    return fields
  }
  const logger: Logger = {
    debug: (message, fields) => keepCause(requests.getStore(), message, fields),
    info,
    warn: (message, fields) => warn(message, redacted(fields)),
    error: (message, fields) => error(message, redacted(fields)),
  }
  const say = format === 'json' ? sayJson : printLogLine
  if (format === 'none') return { options: { logger }, watch: (api) => api, say }
  const print = format === 'json' ? printJsonOf : printLineOf
  return {
    options: {
      logger,
      // Whoever reads a log could use a license key.
      onRequestEnd: ({ licenseKey, ...event }) => print(event, requests.getStore()),
    },
    watch: (api) => ({
      ...api,
      dispatch: (request, context) =>
        requests.run({ address: context?.ip }, () => api.dispatch(request, context)),
    }),
    say,
  }
}

/** What a request's line has besides what the request reports at its end. */
interface KnownRequest {
  readonly address: string | undefined
  /** Why it was refused, which its caller may not be told. */
  cause?: string
}

/** Keeps why a request is refused. Causes that are not texts of the library's own are logged with failures. */
function keepCause(request: KnownRequest | undefined, message: string, fields: object = {}): void {
  const { code, cause } = fields as { readonly code?: unknown; readonly cause?: unknown }
  // This one names an address, which the caller wrote.
  if (code === 'address_not_allowed' || request === undefined) return
  if (typeof cause === 'string') request.cause = cause
  // The answer's message, which names what is wrong and quotes nothing of the request.
  else if (code === 'invalid_request') request.cause = message
}

const lineLogger: Pick<Logger, 'info' | 'warn' | 'error'> = {
  // A game server that does not answer is reported in the line of its request.
  info: () => {},
  warn: (message, fields) => printLog('warn', message, fields),
  error: (message, fields) => printLog('error', message, fields),
}

const jsonLogger: typeof lineLogger = {
  info: () => {},
  warn: (message, fields) => printLogJson({ time: now(), level: 'warn', message, ...fields }),
  error: (message, fields) => printLogJson({ time: now(), level: 'error', message, ...fields }),
}

/**
 * `2026-11-22T08:30:00.000Z 192.0.2.7 GET lookUpGameServer 500 server_check_failed timeout 5001 ms caller=… request=…`,
 * and after that, where a refusal has one, `cause="The code has expired."`
 */
function printLineOf(event: RequestEndEvent, { address = '-', cause }: Partial<KnownRequest> = {}): void {
  const { method, operation = '-', status, errorCode, reason, durationMs, callerId, requestId } = event
  const outcome = [status, errorCode, reason].filter((each) => each !== undefined)
  const who = callerId === undefined ? [] : [`caller=${callerId}`]
  const ids = [...who, `request=${requestId}`]
  const why = cause === undefined ? [] : [`cause=${JSON.stringify(cause)}`]
  const took = `${Math.round(durationMs)} ms`
  printLogLine([now(), address, method, operation, ...outcome, took, ...ids, ...why].join(' '))
}

function printJsonOf({ durationMs, ...event }: RequestEndEvent, known: KnownRequest | undefined): void {
  const rounded = Math.round(durationMs * 1000) / 1000
  printLogJson({ time: now(), level: 'info', message: 'request', ...known, ...event, durationMs: rounded })
}

function sayJson(message: string): void {
  printLogJson({ time: now(), level: 'info', message })
}

function now(): string {
  return new Date().toISOString()
}
