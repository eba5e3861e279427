import { refusal, UtilityApiError, type Refusal } from './errors.ts'

export const serverCheckFailed: Refusal = refusal('server_check_failed', 'The server check failed.')
export const addressNotAllowed: Refusal = refusal(
  'address_not_allowed',
  'Lookups of this address are not allowed.',
)

/** The game's colors, in the order of their formatting codes, 0 to f. */
export const namedColors = [
  'black',
  'dark_blue',
  'dark_green',
  'dark_aqua',
  'dark_red',
  'dark_purple',
  'gold',
  'gray',
  'dark_gray',
  'blue',
  'green',
  'aqua',
  'red',
  'light_purple',
  'yellow',
  'white',
] as const

/**
 * A color of text: one of the game's sixteen, or `#` and six hexadecimal digits.
 *
 * @group Minecraft
 */
export type TextColor = (typeof namedColors)[number] | `#${string}`

/**
 * A span of a description in one style. What is not there is not set: no color, not bold.
 *
 * The text is a stranger's, so escape it, or set it as text, in a page.
 *
 * @group Minecraft
 */
export interface TextSpan {
  /** The text, with line feeds but without formatting codes. */
  readonly text: string
  /** Its color, if it has one. */
  readonly color?: TextColor
  /** Whether it is bold. */
  readonly bold?: true
  /** Whether it is in italics. */
  readonly italic?: true
  /** Whether it is underlined. */
  readonly underlined?: true
  /** Whether it is struck through. */
  readonly strikethrough?: true
  /** Whether its characters change all the time in the game. */
  readonly obfuscated?: true
}

/**
 * A mod of a server.
 *
 * @group Minecraft
 */
export interface ServerMod {
  /** Its id, of at most 64 code points. */
  readonly id: string
  /** Its version as the server sent it, of at most 256 code points; `''` if it sent none. */
  readonly version: string
}

/**
 * Where a Minecraft server is, and what it says about itself. None of its texts contains control or bidirectional
 * characters, except for line feeds in the description.
 *
 * @see docs/contract.md section 2.4
 *
 * @group Minecraft
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
  /**
   * The description with its colors and styles: at most 1,000 spans, whose texts are together the description. Always
   * there, except from a client of the host's own.
   */
  readonly descriptionSpans?: readonly TextSpan[]
  /** The server's icon as a `data:image/png;base64,` URI, if it sent a small one. */
  readonly favicon?: string
  /** Some of the players online, at most 100, if the server names any. */
  readonly sample?: readonly { readonly name: string; readonly id: string }[]
  /** The mods that a Forge server names, at most 1,000. */
  readonly mods?: readonly ServerMod[]
  /** Whether players need an account that signs their messages, if the server says so. */
  readonly enforcesSecureChat?: boolean
  /** Whether the server changes messages before they are sent (1.19 to 1.19.2), if it says so. */
  readonly previewsChat?: boolean
  /** Whether the server keeps messages from being reported (a mod), if it says so. */
  readonly preventsChatReports?: boolean
  /**
   * The status as the server sent it, if it was asked for: parsed JSON, or the text of the kick from a server older than
   * 1.7. Within the bounds of every status, but not cleaned: its texts may contain control characters. Absent if it is
   * nested more than 512 deep.
   */
  readonly raw?: unknown
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
 * - `local`: this machine has no file descriptors or memory left. Says nothing about the server.
 *
 * @group Minecraft
 */
export type ServerCheckFailure = 'dns' | 'blocked' | 'refused' | 'timeout' | 'closed' | 'protocol' | 'local'

/**
 * The error for a Minecraft server that could not be checked. `reason` says why; `code` is always
 * `server_check_failed`.
 *
 * @group Errors
 */
export class ServerCheckError extends UtilityApiError {
  override readonly name: string = 'ServerCheckError'
  /** Why the check failed. */
  readonly reason: ServerCheckFailure

  /** Creates an error whose public message is the same for every reason. */
  constructor(reason: ServerCheckFailure, options?: { readonly cause?: unknown }) {
    super(serverCheckFailed.code, serverCheckFailed.message, options)
    this.reason = reason
  }
}
