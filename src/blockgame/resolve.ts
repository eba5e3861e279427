import { isIP, isIPv6 } from 'node:net'
import { canonicalIpAddress } from '../domain/ip-address.ts'
import { defaultServerPort, parseServerHost, type GameServerAddress } from '../domain/server-address.ts'
import { ServerCheckError } from '../domain/server-status.ts'
import type { Destination } from './candidates.ts'
import { attemptDelayMs } from './connect-to-first.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import type { Resolvers } from './resolvers.ts'
import { orderSrvRecords, type SrvRecord } from './srv-order.ts'

const longestName = 253
const maxTargets = 4
// The zone's owner chooses where we connect: to at most eight destinations for one lookup, four of each family.
const maxAddresses = 4
// A resolver that drops questions must leave time to connect to what others answer.
const srvShare = 1 / 3
const addressShare = 1 / 2
/**
 * How long IPv6 addresses wait for IPv4 addresses, which the game prefers.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8305#section-3 | RFC 8305 section 3}, "Resolution Delay"
 */
const resolutionDelayMs = 50

/** Takes destinations as they become known. The rank is their SRV target's, 0 being the best. */
export type TakeDestinations = (rank: number, destinations: readonly Destination[]) => void

/**
 * Finds the destinations of a requested host. Asks for SRV (if it applies), A and AAAA records, all at once, and resolves
 * when all answers have come that are waited for.
 *
 * @throws `ServerCheckError` `dns` if the host says that it has no such service.
 */
export async function resolveDestinations(
  { host, port }: GameServerAddress,
  resolvers: Resolvers,
  scope: DeadlineScope,
  take: TakeDestinations,
): Promise<void> {
  const direct = addressesOf(host, maxAddresses, resolvers, scope)
  const targets = port === defaultServerPort ? await resolveSrv(host, resolvers, scope) : []
  if (targets.length === 0) {
    return takeFamilies(direct, scope, (ip) => ({ ip, port, srvRecord: null }), take.bind(undefined, 0))
  }
  // Shared out, so that the addresses of the first target leave room for the next.
  const share = Math.floor(maxAddresses / targets.length)
  const takeTarget = async (
    record: SrvRecord,
    rank: number,
    better: Promise<void> | undefined,
  ): Promise<void> => {
    const srvRecord = { host: record.target, port: record.port }
    const families = addressesOf(record.target, share, resolvers, scope)
    // Waiting for a better target's addresses is like trying it, so the next one has its turn after the same delay.
    if (better !== undefined) await Promise.race([better, scope.pause(rank * attemptDelayMs)])
    const destination = (ip: string): Destination => ({ ip, port: record.port, srvRecord })
    return takeFamilies(families, scope, destination, take.bind(undefined, rank))
  }
  const taken: Promise<void>[] = []
  for (const [rank, record] of targets.entries()) taken.push(takeTarget(record, rank, taken[rank - 1]))
  await Promise.all(taken)
}

/** Returns the usable SRV records in the order to try them. If there are none, the host itself is to be used. */
async function resolveSrv(host: string, resolvers: Resolvers, scope: DeadlineScope): Promise<SrvRecord[]> {
  const name = `_minecraft._tcp.${host}`
  if (name.length > longestName) return []
  const records = await resolvers.ask(name, 'SRV', scope.timeLeftMs() * srvShare, scope)
  const usable = records.flatMap((record) => {
    const target = parseServerHost(record.target)
    return target !== null && record.port > 0 ? [{ ...record, target }] : []
  })
  // A single target "." says that there is no such service (RFC 2782).
  if (usable.length === 0 && records.some(({ target }) => target === '.' || target === '')) {
    throw new ServerCheckError('dns')
  }
  return orderSrvRecords(usable, maxTargets)
}

/** The addresses of a name, by family. */
interface Families {
  readonly ipv4: Promise<string[]>
  readonly ipv6: Promise<string[]>
}

/** Asks for a name's addresses, so many of each family. If the host is an address, that is all. */
function addressesOf(
  host: string,
  ofEachFamily: number,
  resolvers: Resolvers,
  scope: DeadlineScope,
): Families {
  if (isIP(host)) return { ipv4: Promise.resolve([host]), ipv6: Promise.resolve([]) }
  // Not awaited without need, so SRV, A and AAAA are asked in one turn.
  const own = resolvers.hasOwn ? resolvers.own(host, scope) : null
  const ask = async (type: 'A' | 'AAAA'): Promise<string[]> => {
    const known = (own && (await own))?.filter((ip) => isIPv6(ip) === (type === 'AAAA'))
    const ips =
      known ?? (await resolvers.ask(host, type, scope.timeLeftMs() * addressShare, scope)).map(({ ip }) => ip)
    return ips.slice(0, ofEachFamily).flatMap((ip) => canonicalIpAddress(ip) ?? [])
  }
  const families = { ipv4: ask('A'), ipv6: ask('AAAA') }
  // Nobody may be waiting for them yet.
  for (const family of Object.values(families)) family.catch(() => {})
  return families
}

/** Takes the destinations of each family when its addresses come, and those of IPv6 first only if IPv4 is late. */
async function takeFamilies(
  { ipv4, ipv6 }: Families,
  scope: DeadlineScope,
  destination: (ip: string) => Destination,
  take: (destinations: Destination[]) => void,
): Promise<void> {
  const first = ipv4.then((ips) => take(ips.map(destination)))
  const second = ipv6.then(async (ips) => {
    await Promise.race([first, scope.pause(resolutionDelayMs)])
    take(ips.map(destination))
  })
  await Promise.all([first, second])
}
