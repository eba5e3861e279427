import { demand, demandKnown, isOptions, isPort, isSignal, isTimeout } from '../domain/arguments.ts'
import {
  defaultServerPort,
  parseServerHost,
  spelledHost,
  type GameServerAddress,
} from '../domain/server-address.ts'
import type { BlockgameTarget, HandshakeAddress } from '../ports/blockgame-client.ts'
import type { StatusRequest } from './codec/requests.ts'

const defaultTimeoutMs = 5000
const members: ReadonlySet<string> = new Set<keyof BlockgameTarget>([
  'host',
  'port',
  'timeoutMs',
  'signal',
  'raw',
  'handshake',
  'proxyProtocol',
])
const handshakeMembers: ReadonlySet<string> = new Set<keyof HandshakeAddress>(['host', 'port'])

/** How a lookup introduces itself to a server, and what it wants to know. */
export interface Introduction extends StatusRequest {
  /** The protocol number of the second try. */
  readonly fallbackProtocolVersion: number
  /** The PROXY header that every connection begins with, if any. */
  readonly proxyProtocol: 1 | 2 | undefined
  /** Whether the status is wanted as it was sent, too. */
  readonly raw: boolean
}

/** A target with its defaults. */
export interface CheckedTarget extends Omit<Introduction, 'protocolVersion' | 'fallbackProtocolVersion'> {
  /** The host in canonical form, and the port. */
  readonly requested: GameServerAddress
  readonly timeoutMs: number
}

/**
 * Returns the target with its defaults.
 *
 * @throws `UtilityApiError` `invalid_argument` if it is invalid; the message names the member.
 */
export function checkTarget(target: Partial<BlockgameTarget> | undefined): CheckedTarget {
  demand(isOptions(target), 'target must be an object: write status({ host }).')
  demandKnown(target, members)
  const { host, port = defaultServerPort, timeoutMs = defaultTimeoutMs, signal } = target
  const { raw = false, handshake, proxyProtocol } = target
  const [requestedHost, spelled] = requireHost(host, 'host')
  demand(isPort(port), 'port must be an integer from 1 to 65535.')
  demand(isTimeout(timeoutMs), 'timeoutMs must be a positive number below 2^31.')
  demand(isSignal(signal), 'signal must be an AbortSignal.')
  demand(typeof raw === 'boolean', 'raw must be true or false.')
  demand([1, 2, undefined].includes(proxyProtocol), 'proxyProtocol must be 1 or 2.')
  return {
    ...(handshake === undefined ? { host: spelled, port } : checkHandshake(handshake, port)),
    requested: { host: requestedHost, port },
    timeoutMs,
    raw,
    proxyProtocol,
  }
}

function checkHandshake(
  handshake: Partial<HandshakeAddress> | null,
  defaultPort: number,
): Required<HandshakeAddress> {
  const { host, port = defaultPort } = handshake ?? {}
  const [, spelled] = requireHost(host, 'handshake.host')
  demand(isPort(port), 'handshake.port must be an integer from 1 to 65535.')
  demandKnown(handshake ?? {}, handshakeMembers)
  return { host: spelled, port }
}

/** Returns a host in canonical form, and as it was spelled. */
function requireHost(host: string | undefined, member: string): [canonical: string, spelled: string] {
  const canonical = typeof host === 'string' ? parseServerHost(host) : null
  demand(
    canonical !== null,
    `${member} must be a host name or an IP address, without a port: write { host, port }.`,
  )
  return [canonical, spelledHost(host ?? '', canonical)]
}
