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
 * Where a block-game server is, and what it says about itself. None of its texts contains control or bidirectional
 * characters, except for line feeds in the description.
 *
 * @see docs/contract.md section 2.4
 *
 * @group Block game
 */
export interface ServerStatus {
  /** The address actually connected to. */
  readonly ip: string
  /** The port actually connected to. */
  readonly port: number
  /** Player counts as the server sent them. */
  readonly players: { readonly online: number; readonly max: number }
  /** Version name of at most 256 code points, `''` if unknown, and protocol number, `-1` if unknown. */
  readonly version: { readonly name: string; readonly protocol: number }
  /** Round trip of the pong in milliseconds, or of the status if no pong came. */
  readonly latencyMs: number
  /** The SRV record that was followed, or null if none was. */
  readonly srvRecord: { readonly host: string; readonly port: number } | null
  /** The description ("message of the day") without formatting codes, at most 4,096 code points; `''` if none. */
  readonly description: string
  /** The server's icon as a `data:image/png;base64,` URI, if it sent a small one. */
  readonly favicon?: string
  /** Some of the players online, at most 100, if the server names any. */
  readonly sample?: readonly { readonly name: string; readonly id: string }[]
}

/**
 * Why a server check failed. For logs and for programs that use the client directly; never sent over HTTP.
 *
 * - `dns`: the name does not resolve.
 * - `blocked`: the name leads to an address that must not be connected to.
 * - `refused`: the connection was refused or the host cannot be reached.
 * - `timeout`: no status came within the deadline.
 * - `closed`: the server closed the connection before it sent a status.
 * - `protocol`: what the server sent is not a status.
 *
 * @group Block game
 */
export type ServerCheckFailure = 'dns' | 'blocked' | 'refused' | 'timeout' | 'closed' | 'protocol'

/**
 * The error for a block-game server that could not be checked. `reason` says why; `code` is always
 * `server_check_failed`.
 *
 * @group Errors
 */
export class ServerCheckError extends UtilityApiError {
  override readonly name: string = 'ServerCheckError'
  /** Why the check failed. */
  readonly reason: ServerCheckFailure

  /** Creates an error whose public message is the same for every reason. */
  constructor(reason: ServerCheckFailure, options?: ErrorOptions) {
    super(serverCheckFailed.code, serverCheckFailed.message, options)
    this.reason = reason
  }
}
