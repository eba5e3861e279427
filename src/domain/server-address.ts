import { parseHostName } from './host-name.ts'
import { canonicalIpAddress } from './ip-address.ts'

/** The port of a block-game server if none is given. */
export const defaultServerPort = 25565

/** The parts of a block-game server's address as a person types it. */
export interface ServerAddress {
  /** Host name in lower-case ASCII without a final dot, or an address in canonical text without brackets. */
  readonly host: string
  /** TCP port. */
  readonly port: number
  /** Whether the port was typed. If not, it is {@link defaultServerPort}. */
  readonly portGiven: boolean
}

const bracketed = /^\[([^\]]*)\](?::(.*))?$/s
const nameAndPort = /^([^:]*):([^:]*)$/
const decimalPort = /^[1-9]\d{0,4}$/

/**
 * Parses a typed address: a host name, an address, `host:port`, `[v6]` or `[v6]:port`. Returns null for anything else.
 *
 * @param text - What was typed, trimmed.
 * @param port - A port typed separately from the address. It takes precedence over one in the address.
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

/** Returns the canonical form of a host name (underscores allowed) or a bare address, or null for anything else. */
export function parseServerHost(text: string): string | null {
  return canonicalIpAddress(text) ?? parseHostName(text, { underscores: true })
}

function parseIpv6(text: string): string | null {
  return text.includes(':') ? parseServerHost(text) : null
}

function parsePort(text: string): number | null {
  return decimalPort.test(text) && Number(text) <= 65_535 ? Number(text) : null
}
