/**
 * Where log entries go: the four levels of `console`, pino and most others.
 *
 * Failures on our side (5xx) are `error`; refusals (4xx) are `debug`. Fields never hold secrets or personal text. What a
 * logger throws is ignored.
 *
 * @group Ports
 */
export interface Logger {
  /** Details for development, refusals among them. */
  debug(message: string, fields?: object): void
  /** Normal events; a game server that did not answer is one. */
  info(message: string, fields?: object): void
  /** Something to look at that did not fail a request. */
  warn(message: string, fields?: object): void
  /** A request failed through our fault or our storage's; `fields.cause` is the error behind it. */
  error(message: string, fields?: object): void
}
