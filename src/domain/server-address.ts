import { domainToASCII } from 'node:url'
import { parseHostName } from './host-name.ts'
import { canonicalIpAddress, parseIpAddress } from './ip-address.ts'

/** The port of a Minecraft server if none is given. */
export const defaultServerPort = 25565

/** The parts of a Minecraft server's address as a person types it. */
export interface GameServerAddress {
  /** Host name in lower-case ASCII without a final dot, or an address in canonical text without brackets. */
  readonly host: string
  /** TCP port, {@link defaultServerPort} if none was typed. */
  readonly port: number
}

const bracketed = /^\[([^\]]*)\](?::(.*))?$/s
const nameAndPort = /^([^:]*):([^:]*)$/
// IDNA takes these for a dot.
const labelSeparator = /[.\u3002\uff0e\uff61]/
const ascii = /^[ -~]*$/

/** A port, in digits without zeros before them. */
export const serverPort: RegExp =
  /^(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/

/** The longest typed address: a name of 253 characters with its final dot, a colon and a port. */
export const longestAddress = 260

/**
 * Parses a typed address: a host name, an address, `host:port`, `[v6]` or `[v6]:port`. Returns null for anything else.
 *
 * @param text - What was typed, trimmed.
 * @param port - A port typed separately from the address. It takes precedence over one in the address.
 */
export function parseServerAddress(text: string, port?: string): GameServerAddress | null {
  const parts = splitPort(text)
  const typed = [port, parts.port].filter((each) => each !== undefined).map(parsePort)
  const isBroken = parts.inBrackets && !parts.host.includes(':')
  const host = isBroken ? null : parseServerHost(parts.host)
  if (host === null || typed.includes(null)) return null
  return { host, port: typed[0] ?? defaultServerPort }
}

/** Returns the host of a valid typed address as {@link spelledHost} has it. */
export function spelledHostOf(address: string): string {
  const { host } = splitPort(address)
  return spelledHost(host, parseServerHost(host) ?? '')
}

/**
 * Returns a host as it was spelled, for the handshake: in ASCII, but the letters of its labels in their case. An address
 * is in canonical text.
 *
 * @param canonical - What {@link parseServerHost} makes of it.
 */
export function spelledHost(host: string, canonical: string): string {
  if (host === canonical || parseIpAddress(canonical) !== null) return canonical
  const labels = host.split(labelSeparator).map((label) => (ascii.test(label) ? label : domainToASCII(label)))
  const spelled = labels.join('.').replace(/\.$/, '')
  return spelled.toLowerCase() === canonical ? spelled : canonical
}

function splitPort(text: string): { host: string; port?: string | undefined; inBrackets: boolean } {
  const inBrackets = bracketed.exec(text)
  if (inBrackets) return { host: inBrackets[1] ?? '', port: inBrackets[2], inBrackets: true }
  const [, name, port] = nameAndPort.exec(text) ?? []
  return { host: name ?? text, port, inBrackets: false }
}

/** Returns the canonical form of a host name (underscores allowed) or a bare address, or null for anything else. */
export function parseServerHost(text: string): string | null {
  return canonicalIpAddress(text) ?? parseHostName(text, { underscores: true })
}

function parsePort(text: string): number | null {
  return serverPort.test(text) ? Number(text) : null
}
