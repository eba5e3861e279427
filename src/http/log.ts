import { UtilityApiError } from '../domain/errors.ts'
import { isPromise } from '../domain/maybe-promise.ts'
import { ServerCheckError } from '../domain/server-status.ts'
import type { Logger } from '../ports/logger.ts'

/** Returns a logger that cannot make a request fail, because anything it throws is ignored. */
export function harmlessLogger(logger: Logger | false): Logger {
  const log =
    (level: keyof Logger) =>
    (message: string, fields?: object): void => {
      // A full disk under the log must not turn an answer into 500.
      if (logger !== false) harmless(() => logger[level](message, fields), ignore)
    }
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }
}

/** Calls one of the host's functions. An `async` one that rejects would otherwise end the process. */
export function harmless(work: () => unknown, onFailure: (cause: unknown) => void): void {
  try {
    const result = work()
    if (isPromise(result)) Promise.resolve(result).catch(onFailure)
  } catch (cause) {
    onFailure(cause)
  }
}

function ignore(): void {}

function isFailure(cause: unknown): boolean {
  return cause instanceof UtilityApiError && cause.status >= 500 && cause.code !== 'unavailable'
}

/** Logs an error at the level of its cause: our own fault as `error`, a failed lookup as `info`, a refusal as `debug`. */
export function logError(logger: Logger, error: UtilityApiError, fields: object): void {
  const { code, message, status, cause } = error
  const why = cause === undefined ? {} : { cause }
  if (error instanceof ServerCheckError)
    logger.info(message, { ...fields, code, reason: error.reason, ...why })
  // A refusal that hides a failure of storage is a failure for whoever reads the log.
  else if ((status < 500 && !isFailure(cause)) || code === 'unavailable')
    logger.debug(message, { ...fields, code, ...why })
  else logger.error(message, { ...fields, code, ...why })
}
