import { UtilityApiError, type Refusal } from './errors.ts'

export const serverCheckFailed: Refusal = {
  code: 'server_check_failed',
  message: 'The server check failed.',
}
export const addressNotAllowed: Refusal = {
  code: 'address_not_allowed',
  message: 'This address may not be asked.',
}

/**
 * Where a block-game server is, and what it says of itself: no text of it holds control or bidirectional characters, but
 * for the description's line feeds.
 *
 * @see docs/contract.md section 2.4
 *
 * @group Block game
 */
export interface ServerStatus {
  /** Address really connected to. */
  readonly ip: string
  /** Port really connected to. */
  readonly port: number
  /** Player counts as the server sent them. */
  readonly players: { readonly online: number; readonly max: number }
  /** Version name of at most 256 code points, `''` when unknown, and protocol number, `-1` when unknown. */
  readonly version: { readonly name: string; readonly protocol: number }
  /** Round trip of the pong in milliseconds, or of the status where no pong came. */
  readonly latencyMs: number
  /** The SRV record that was followed; null when there is none. */
  readonly srvRecord: { readonly host: string; readonly port: number } | null
  /** The description ("message of the day") without formatting codes, at most 4,096 code points; `''` when there is none. */
  readonly description: string
  /** The server's icon as a `data:image/png;base64,` URI, where it sent a small one. */
  readonly favicon?: string
  /** Some of the players online, 100 at most, where the server names any. */
  readonly sample?: readonly { readonly name: string; readonly id: string }[]
}

/**
 * Why a server check failed. For logs and for programs that use the client directly; never sent over HTTP.
 *
 * - `dns`: the name does not resolve.
 * - `blocked`: it leads to an address that may not be connected to.
 * - `refused`: the connection was refused or the host cannot be reached.
 * - `timeout`: no status within the deadline.
 * - `closed`: the server closed the connection before a status.
 * - `protocol`: what it sent is no status.
 *
 * @group Block game
 */
export type ServerCheckFailure = 'dns' | 'blocked' | 'refused' | 'timeout' | 'closed' | 'protocol'

/**
 * A block-game server could not be checked; `reason` tells why, `code` is always `server_check_failed`.
 *
 * @group Errors
 */
export class ServerCheckError extends UtilityApiError {
  override readonly name: string = 'ServerCheckError'
  /** Why the check failed. */
  readonly reason: ServerCheckFailure

  /** Makes an error whose public message is the same for every reason. */
  constructor(reason: ServerCheckFailure, options?: ErrorOptions) {
    super(serverCheckFailed.code, serverCheckFailed.message, options)
    this.reason = reason
  }
}
