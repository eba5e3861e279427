import { ServerCheckError } from '../../domain/server-status.ts'

/** The failure of a server that sends something else than the protocol says; `what` is for the log, and never quotes it. */
export function protocolError(what: string): ServerCheckError {
  return new ServerCheckError('protocol', { cause: new Error(`The server sent ${what}.`) })
}
