import type { ServerStatus } from '../domain/server-status.ts'

/**
 * A client that asks Minecraft servers for their status.
 *
 * @group Ports
 */
export interface BlockgameClient {
  /**
   * Resolves the address, connects, and reads the status.
   *
   * MUST refuse targets that its rules do not allow, judged by the address actually connected to. MUST settle within
   * `timeoutMs` and free its sockets on every path. Safe to call concurrently. The operation calls it in the async context
   * (`AsyncLocalStorage`) of nobody, because several requests may share the answer.
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
  /**
   * Host name in ASCII, or an IPv4 or IPv6 address without brackets. A name's letters may be of either case, and are
   * sent to the server as they are.
   */
  readonly host: string
  /** TCP port. The SRV record of a host name is used only if the port is 25565. Default: 25565. */
  readonly port?: number
  /** Deadline for the whole lookup, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** Ends the lookup early when it aborts. */
  readonly signal?: AbortSignal
  /** Whether the answer also has the status as the server sent it, as `raw`. Default: false. */
  readonly raw?: boolean
  /**
   * The address to send in the handshake, for a server behind a proxy that routes by name. Where the lookup connects
   * does not change. Default: `host` and `port`.
   */
  readonly handshake?: HandshakeAddress
  /**
   * The version of the PROXY protocol header that connections begin with, for a server that expects one from its proxy;
   * any other server takes the header for garbage. The header has the addresses of the connection itself. Default:
   * none.
   *
   * @see {@link https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt | The PROXY protocol}
   */
  readonly proxyProtocol?: 1 | 2
}

/**
 * A host and port for the handshake.
 *
 * @group Ports
 */
export interface HandshakeAddress {
  /** Host name in ASCII, or an IP address without brackets. Letters keep their case. */
  readonly host: string
  /** Default: the port of the target. */
  readonly port?: number
}
