/**
 * Where log entries go, with the four levels of `console`. Loggers that take the fields before the message, such as
 * pino, need their arguments swapped.
 *
 * Failures on our side (5xx) are logged as `error`; refusals (4xx, and 503) as `debug`; a game server that could not be
 * checked as `info`. Fields never hold secrets or personal text. Anything a logger throws is ignored.
 *
 * @group Ports
 */
export interface Logger {
  /** Logs details for development, including refusals. */
  debug(message: string, fields?: object): void
  /** Logs a normal event, such as a game server that did not answer. */
  info(message: string, fields?: object): void
  /** Logs something to look at, such as a code that was used twice, or a part of the host that broke. */
  warn(message: string, fields?: object): void
  /** Logs that a request failed through our fault or our storage's; `fields.cause` is the underlying error. */
  error(message: string, fields?: object): void
}
