import { parseHostName } from './host-name.ts'
import { canonicalIpAddress } from './ip-address.ts'

/** The port a block-game server has when nobody says otherwise. */
export const defaultServerPort = 25565

/** A block-game server's address as a person types it, taken apart. */
export interface ServerAddress {
  /** Host name in lower-case ASCII without final dot, or an address in canonical text without brackets. */
  readonly host: string
  /** TCP port. */
  readonly port: number
  /** Whether the port was typed; when not, it is {@link defaultServerPort}. */
  readonly portGiven: boolean
}

const bracketed = /^\[([^\]]*)\](?::(.*))?$/s
const nameAndPort = /^([^:]*):([^:]*)$/
const decimalPort = /^[1-9]\d{0,4}$/

/**
 * Takes a typed address apart: a host name, an address, `host:port`, `[v6]` or `[v6]:port`; null when it is none.
 *
 * @param text - What was typed, trimmed.
 * @param port - A port typed apart from the address; it wins over one in the address.
 */
export function parseServerAddress(text: string, port?: string): ServerAddress | null {
  const parts = splitPort(text)
  const typed = [port, parts.port].filter((each) => each !== undefined).map(parsePort)
  if (parts.host === null || typed.includes(null)) return null
  return { host: parts.host, port: typed[0] ?? defaultServerPort, portGiven: typed.length > 0 }
}

function splitPort(text: string): { host: string | null; port?: string | undefined } {
  const inBrackets = bracketed.exec(text)
  if (inBrackets) return { host: parseIpv6(inBrackets[1] ?? ''), port: inBrackets[2] }
  const [, name, port] = nameAndPort.exec(text) ?? []
  return { host: parseServerHost(name ?? text), port }
}

/** The canonical form of a host name (underscores allowed) or a bare address; null when it is neither. */
export function parseServerHost(text: string): string | null {
  return canonicalIpAddress(text) ?? parseHostName(text, { underscores: true })
}

function parseIpv6(text: string): string | null {
  return text.includes(':') ? parseServerHost(text) : null
}

function parsePort(text: string): number | null {
  return decimalPort.test(text) && Number(text) <= 65_535 ? Number(text) : null
}
