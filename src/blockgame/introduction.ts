import type { StatusRequest } from './codec/requests.ts'

/** How a lookup introduces itself to a server, and what it wants to know. */
export interface Introduction extends StatusRequest {
  /** The protocol number of the second try. */
  readonly fallbackProtocolVersion: number
  /** The PROXY header that every connection begins with, if any. */
  readonly proxyProtocol: 1 | 2 | undefined
  /** Whether the status is wanted as it was sent, too. */
  readonly raw: boolean
}
