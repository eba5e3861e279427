import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { DnsRecord, RecordType } from '../domain/dns-answer.ts'
import { canonicalIpAddress } from '../domain/ip-address.ts'
import { defaultServerPort, parseServerHost } from '../domain/server-address.ts'
import { ServerCheckError } from '../domain/server-status.ts'
import type { DnsClient } from '../ports/dns-client.ts'
import type { DeadlineScope } from './deadline-scope.ts'
import { orderSrvRecords, type SrvRecord } from './srv-order.ts'

/**
 * The address of a resolver.
 *
 * @group Block game
 */
export interface ResolverAddress {
  /** IPv4 or IPv6 address. */
  readonly ip: string
  /** UDP and TCP port. Default: 53. */
  readonly port?: number
}

/** An address and port to connect to, and the SRV record that led there. */
export interface Endpoint {
  /** Canonical text of the address. */
  readonly ip: string
  /** TCP port. */
  readonly port: number
  /** The SRV record that was followed; null if there is none. */
  readonly srvRecord: { readonly host: string; readonly port: number } | null
}

type Records<Type extends RecordType> = readonly Extract<DnsRecord, { type: Type }>[]
type Query = <Type extends RecordType>(name: string, type: Type, budgetMs: number) => Promise<Records<Type>>

const longestName = 253
const maxResolvers = 3
const maxTargets = 4
// The zone's owner chooses where we connect: to at most eight endpoints for one lookup, four of each family.
const maxAddresses = 4
// A resolver that drops SRV questions must not use up the lookup's time, and neither one that drops AAAA nor a target
// without addresses must delay it.
const srvShare = 1 / 3
const addressShare = 1 / 2
const laterDelayMs = 50

/**
 * Returns the endpoints of a requested host. Asks for SRV (if it applies), A and AAAA records, all at once.
 *
 * @throws `ServerCheckError` `dns` if the host has no endpoint.
 */
export async function resolveEndpoints(
  target: { host: string; port: number },
  query: Query,
  scope: DeadlineScope,
): Promise<Endpoint[]> {
  const endpoints = await endpointsOf(target, query, scope)
  if (endpoints.length === 0) throw new ServerCheckError('dns')
  return endpoints
}

async function endpointsOf(
  { host, port }: { host: string; port: number },
  query: Query,
  scope: DeadlineScope,
): Promise<Endpoint[]> {
  const direct = resolveAddresses(host, maxAddresses, query, scope)
  direct.catch(() => {})
  const srv = port === defaultServerPort ? await resolveSrv(host, query, scope) : []
  if (srv.length === 0) return (await direct).map((ip) => ({ ip, port, srvRecord: null }))
  // Shared out, so that the addresses of the first target leave room for the next.
  const share = Math.floor(maxAddresses / srv.length)
  return allOrFirst(
    srv.map(async ({ target, port: srvPort }) => {
      const addresses = await resolveAddresses(target, share, query, scope)
      return addresses.map((ip) => ({ ip, port: srvPort, srvRecord: { host: target, port: srvPort } }))
    }),
  )
}

/** Returns all lists, or those that have arrived soon after the first in order that is not empty. */
async function allOrFirst<T>(lists: readonly Promise<T[]>[]): Promise<T[]> {
  const arrived: T[][] = []
  const all = lists.map(async (list, index) => (arrived[index] = await list))
  const first = async (): Promise<unknown> => {
    for (const list of all) if ((await list).length > 0) return delay(laterDelayMs, null, { ref: false })
    return null
  }
  await Promise.race([Promise.all(all), first()])
  return arrived.flat()
}

/** Returns the usable SRV records in the order to try them. If there are none, the host itself is to be used. */
async function resolveSrv(host: string, query: Query, scope: DeadlineScope): Promise<SrvRecord[]> {
  const name = `_minecraft._tcp.${host}`
  if (name.length > longestName) return []
  const records = await query(name, 'SRV', scope.timeLeftMs() * srvShare)
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

/**
 * Returns a name's addresses, so many of each family, IPv4 first like the game's own client. If the host is an address,
 * returns that.
 */
async function resolveAddresses(
  host: string,
  ofEachFamily: number,
  query: Query,
  scope: DeadlineScope,
): Promise<string[]> {
  if (isIP(host)) return [host]
  const budgetMs = scope.timeLeftMs() * addressShare
  const addressesOf = async (type: 'A' | 'AAAA'): Promise<string[]> =>
    (await query(host, type, budgetMs))
      .slice(0, ofEachFamily)
      .flatMap(({ ip }) => canonicalIpAddress(ip) ?? [])
  return bothOrFirst(addressesOf('A'), addressesOf('AAAA'))
}

/** Returns both lists, or the first that is not empty if the other is late. */
async function bothOrFirst(first: Promise<string[]>, second: Promise<string[]>): Promise<string[]> {
  const both = Promise.all([first, second]).then((lists) => lists.flat())
  const waitForOther = (list: string[]): Promise<string[]> | string[] =>
    list.length > 0 ? delay(laterDelayMs, list, { ref: false }) : both
  return Promise.race([both, first.then(waitForOther), second.then(waitForOther)])
}

/** Returns a query that asks one resolver after the other until one answers. Gives no records if none does. */
export function queryResolvers(
  dns: DnsClient,
  resolvers: readonly ResolverAddress[],
  { signal }: DeadlineScope,
): Query {
  const servers = resolvers.slice(0, maxResolvers)
  return async <Type extends RecordType>(name: string, type: Type, budgetMs: number) => {
    const timeoutMs = Math.max(1, Math.floor(budgetMs / servers.length))
    const queryFrom = async (index: number): Promise<Records<Type>> => {
      const server = servers[index]
      if (server === undefined) return []
      const { status, records } = await dns.query({ name, type, server, timeoutMs, signal })
      if (status === 'NXDOMAIN' || status === 'NODATA') return []
      if (status !== 'NOERROR') return queryFrom(index + 1)
      return records.filter((record): record is Extract<DnsRecord, { type: Type }> => record.type === type)
    }
    return queryFrom(0)
  }
}
