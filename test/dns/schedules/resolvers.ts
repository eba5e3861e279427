import type { ResolverLocation } from '../../../src/domain/resolver-location.ts'
import { bindResolver, dnsmasq, knotResolver, powerDnsRecursor, unbound } from '../engines/caching.ts'
import { isInstalled, startEngine } from '../engines/engine.ts'
import { aboveAll, startZoneServer, type ChangingZone } from './changing-zone.ts'
import { startOwnCache } from './own-cache.ts'

/** Caching resolvers in front of a zone. */
export interface Resolvers extends AsyncDisposable {
  readonly locations: readonly ResolverLocation[]
}

const shorter = { maxTtl: 2 }
const others = [
  ['Unbound', unbound, {}],
  ['Unbound, at most 2 s', unbound, shorter],
  ['PowerDNS Recursor', powerDnsRecursor, {}],
  ['Knot Resolver', knotResolver, {}],
  ['another Knot Resolver', knotResolver, {}],
  ['dnsmasq', dnsmasq, {}],
  ['another dnsmasq', dnsmasq, {}],
  ['BIND', bindResolver, {}],
  ['BIND, at most 2 s', bindResolver, shorter],
] as const

const own = [
  ['ours, rounding down', { round: Math.floor }],
  ['ours, rounding up', { round: Math.ceil }],
  ['ours, 0.3 s late', { round: Math.round, delayMs: 300 }],
] as const

const nowhere = { zones: [aboveAll.name], server: { ip: '127.0.0.1', port: 53 } }

/** The programs that are missing, as Debian's packages. */
export function missingPackages(): string[] {
  const specs = others.map(([name, spec]) => spec(name, nowhere))
  return [...new Set(specs.filter((spec) => !isInstalled(spec)).map(({ debian }) => debian))]
}

/** Starts twelve resolvers, fewer where programs are missing. */
export async function startResolvers(zone: ChangingZone): Promise<Resolvers> {
  const open: AsyncDisposable[] = []
  const locations: ResolverLocation[] = []
  const add = (name: string, server: AsyncDisposable & { ip: string; port: number }): void => {
    open.push(server)
    locations.push({ location: name, provider: name, ip: server.ip, port: server.port })
  }
  const close = async (): Promise<void> => {
    await Promise.all(open.map((each) => each[Symbol.asyncDispose]()))
  }
  try {
    for (const [name, spec, limits] of others) {
      if (!isInstalled(spec(name, nowhere))) continue
      const server = await startZoneServer(zone, name)
      open.push(server)
      const forwarding = { zones: [aboveAll.name], server }
      add(name, await startEngine(spec(name, forwarding, limits)))
    }
    for (const [name, options] of own) add(name, await startOwnCache(zone, name, options))
  } catch (error) {
    await close()
    throw error
  }
  return { locations, [Symbol.asyncDispose]: close }
}
