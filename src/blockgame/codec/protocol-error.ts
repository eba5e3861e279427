import { ServerCheckError } from '../../domain/server-status.ts'

/** Returns the failure of a server that does not follow the protocol. `what` is for the log and never quotes the server. */
export function protocolError(what: string): ServerCheckError {
  return new ServerCheckError('protocol', { cause: new Error(`The server sent ${what}.`) })
}
