import type { ServerStatus } from '../domain/server-status.ts'

/**
 * A client that asks block-game servers for their status.
 *
 * @group Ports
 */
export interface BlockgameClient {
  /**
   * Resolves the address, connects, and reads the status.
   *
   * MUST refuse targets that its rules do not allow, judged by the address actually connected to. MUST settle within
   * `timeoutMs` and free its sockets on every path. Safe to call concurrently.
   *
   * @throws `UtilityApiError` `address_not_allowed` if the target as typed is not allowed; `invalid_argument` if it is
   * not a host or port at all.
   * @throws `ServerCheckError` for every failure of the network or the server.
   * @throws the signal's reason if `signal` aborts.
   */
  status(target: BlockgameTarget): Promise<ServerStatus>
  /** Ends lookups in progress and closes every socket. MUST be idempotent. */
  close(): Promise<void>
}

/**
 * A server to ask for its status.
 *
 * @group Ports
 */
export interface BlockgameTarget {
  /** Host name in ASCII, or an IPv4 or IPv6 address without brackets. */
  readonly host: string
  /** TCP port. The SRV record of a host name counts only if the port is 25565. Default: 25565. */
  readonly port?: number
  /** Deadline for the whole lookup, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** Ends the lookup early when it aborts. */
  readonly signal?: AbortSignal
}
