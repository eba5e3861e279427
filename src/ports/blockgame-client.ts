import type { ServerStatus } from '../domain/server-status.ts'

/**
 * Asks a block-game server for its status.
 *
 * @group Ports
 */
export interface BlockgameClient {
  /**
   * Resolves the address, connects, and reads the status.
   *
   * MUST refuse targets that its rules do not open, on the address really connected to. MUST settle within `timeoutMs`
   * and free its sockets on every path. Safe to call concurrently.
   *
   * @throws `UtilityApiError` `address_not_allowed` when the target as typed may not be asked; `invalid_argument` when it is
   * no host or port at all.
   * @throws `ServerCheckError` for everything the network and the server do.
   * @throws the signal's reason when `signal` aborts.
   */
  status(target: BlockgameTarget): Promise<ServerStatus>
  /** Ends lookups under way and closes every socket. MUST be idempotent. */
  close(): Promise<void>
}

/**
 * A server to ask.
 *
 * @group Ports
 */
export interface BlockgameTarget {
  /** Host name in ASCII, or an IPv4 or IPv6 address without brackets. */
  readonly host: string
  /** TCP port. Default: 25565, which also makes a host name's SRV record count. */
  readonly port?: number
  /** Deadline for everything, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** Gives up early. */
  readonly signal?: AbortSignal
}
