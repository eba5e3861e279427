/**
 * Minecraft servers: a client for their status, its codec, and the rule for addresses.
 *
 * @module utility-api/blockgame
 */
import dns from 'node:dns'
import { clientOptionNames, createClient } from './blockgame/client.ts'
import type { ConnectionTarget } from './blockgame/destination-filter.ts'
import type { ResolverAddress } from './blockgame/resolvers.ts'
import { createDnsClient } from './dns/client.ts'
import { invalidOption, isPort, requireOptions } from './domain/arguments.ts'
import { isPublicAddress, parseIpAddress } from './domain/ip-address.ts'
import type { BlockgameClient } from './ports/blockgame-client.ts'

export type { ConnectionTarget } from './blockgame/destination-filter.ts'
export {
  encodeLegacyPingHost,
  legacyPing,
  legacyReplySize,
  parseLegacyReply,
} from './blockgame/codec/legacy.ts'
export * from './blockgame/codec/packets.ts'
export * from './blockgame/codec/requests.ts'
export type { ResolverAddress } from './blockgame/resolvers.ts'
export * from './blockgame/codec/status.ts'
export { readVarInt, varIntSize, writeVarInt } from './blockgame/codec/varint.ts'
export { UtilityApiError } from './domain/errors.ts'
export { ServerCheckError } from './domain/server-status.ts'
export type {
  ServerCheckFailure,
  ServerMod,
  ServerStatus,
  TextColor,
  TextSpan,
} from './domain/server-status.ts'
export type { BlockgameClient, BlockgameTarget, HandshakeAddress } from './ports/blockgame-client.ts'
export { isPublicAddress }

/**
 * Options for {@link createBlockgameClient}.
 *
 * @group Minecraft
 */
export interface BlockgameClientOptions {
  /**
   * Decides for every resolved address whether a connection may be made. Replaces the default rule.
   *
   * Default: {@link isPublicAddress} and a port from 1024.
   */
  readonly allowAddress?: (target: ConnectionTarget) => boolean
  /** The resolvers to ask, best first. Only the first three are used. Default: the system's. */
  readonly resolvers?: readonly ResolverAddress[]
  /**
   * Finds the addresses of a name in your own way, such as by the hosts file, or gives null to have the resolvers
   * asked. Also called for the target of an SRV record, but not for an address or `localhost`. Private addresses need
   * `allowAddress` as well.
   *
   * Default: none.
   */
  readonly resolve?: (
    host: string,
    terms: { readonly signal: AbortSignal },
  ) => Promise<readonly string[] | null>
  /** The protocol number to send. Default: -1, which asks for the server's own. */
  readonly protocolVersion?: number
  /**
   * The protocol number to send at a second try, to a server that hangs up or stays silent, as some plugins do at numbers
   * that they do not know. Default: 47, for 1.8.
   */
  readonly fallbackProtocolVersion?: number
}

/**
 * Creates a client that asks Minecraft servers for their status: of any age, behind any proxy, and never at a private
 * address.
 *
 * @example
 * ```ts
 * const client = createBlockgameClient()
 * const { players, version, latencyMs } = await client.status({ host: 'mc.example.com' })
 * await client.close()
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown; the message names it.
 *
 * @group Minecraft
 */
export function createBlockgameClient(options: BlockgameClientOptions = {}): BlockgameClient {
  requireOptions(options, clientOptionNames)
  const { allowAddress, resolve, resolvers = systemResolvers() } = options
  const { protocolVersion = -1, fallbackProtocolVersion = 47 } = options
  // The default rule would apply instead of one that is not called or not there.
  if ('allowAddress' in options && typeof allowAddress !== 'function')
    throw invalidOption('allowAddress', 'must be a function')
  if (!Array.isArray(resolvers) || resolvers.length === 0 || !resolvers.every(isResolver))
    throw invalidOption('resolvers', "must be a list of resolvers, as in [{ ip: '192.0.2.53', port: 53 }]")
  if (resolve !== undefined && typeof resolve !== 'function')
    throw invalidOption('resolve', 'must be a function')
  const versions = { protocolVersion, fallbackProtocolVersion }
  for (const [name, version] of Object.entries(versions))
    if ((version | 0) !== version) throw invalidOption(name, 'must be a 32-bit integer')
  return createClient({ dns: createDnsClient(), resolvers, resolve, allowAddress, ...versions })
}

function isResolver(resolver: ResolverAddress | null | undefined): boolean {
  const { ip, port = 53 } = resolver ?? { ip: '' }
  return parseIpAddress(ip) !== null && isPort(port)
}

/** Link-local addresses mean nothing without a zone, which Node leaves out of the list. */
const linkLocal = /^fe[89ab]/i

/** Returns the system's resolvers that have an address of their own, or one on this machine if there are none. */
function systemResolvers(): ResolverAddress[] {
  const resolvers = dns.getServers().flatMap((text) => {
    const [, bracketed, port] = /^\[(.*)\]:(\d+)$/.exec(text) ?? /^([\d.]+):(\d+)$/.exec(text) ?? []
    const ip = bracketed ?? text
    if (parseIpAddress(ip) === null || linkLocal.test(ip)) return []
    return [port === undefined ? { ip } : { ip, port: Number(port) }]
  })
  return resolvers.length > 0 ? resolvers : [{ ip: '127.0.0.1' }]
}
