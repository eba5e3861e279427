import { demand, demandKnown, isOptions, isSignal, isTimeout } from '../domain/arguments.ts'
import type { DnsAnswer, DnsStatus, RecordType } from '../domain/dns-answer.ts'
import { parseDnsName, splitDnsName } from '../domain/dns-name.ts'
import { isPublicAddress, isDnsServerAddress } from '../domain/ip-address.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { performance } from '../ports/timers.ts'

/**
 * An address of a name server of a zone. It answers on port 53, without recursion.
 *
 * @group DNS
 */
export interface AuthoritativeServer {
  /** The zone that it serves, without a final dot. */
  readonly zone: string
  /** The name server's name. */
  readonly name: string
  /** One of its addresses. */
  readonly ip: string
}

/**
 * Options of {@link findAuthoritativeServers}.
 *
 * @group DNS
 */
export interface AuthoritativeServersOptions {
  /** The resolver that knows the way to the zone: an IPv4 or IPv6 address, and a port. Default port: 53. */
  readonly resolver: DnsQuestion['server']
  /** Deadline for all questions together, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** Ends the search early when it aborts. */
  readonly signal?: AbortSignal
}

/** As many as fit into a datagram of 512 octets; more are of no use. */
const maxNames = 13
const maxAddresses = 26

/**
 * Finds the name servers of the zone that a name belongs to, by way of a resolver: what they say is what resolvers will say
 * once they have forgotten the rest.
 *
 * Asks for the NS records of the name and of the names above it, and for the addresses of at most 13 name servers. Returns
 * at most 26 addresses, and of these only public ones, since the owner of a zone chooses them. Ask them with
 * `recursionDesired: false`. Returns none if the resolver does not find them in time.
 *
 * @throws `UtilityApiError` `invalid_argument` if an argument is invalid; the signal's reason if it aborts
 *
 * @example
 * ```ts
 * import { createDnsClient, findAuthoritativeServers } from 'utility-api/dns'
 *
 * const client = createDnsClient()
 * const name = 'www.example.com'
 * for (const { ip } of await findAuthoritativeServers(client, name, { resolver: { ip: '9.9.9.10' } })) {
 *   const { records } = await client.query({ name, type: 'A', server: { ip }, recursionDesired: false })
 *   console.log(ip, records)
 * }
 * await client.close()
 * ```
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc2181#section-6 | RFC 2181 section 6}
 *
 * @group DNS
 */
export async function findAuthoritativeServers(
  client: DnsClient,
  name: string,
  options: AuthoritativeServersOptions,
): Promise<AuthoritativeServer[]> {
  demand(isOptions(options), 'options must be an object: write { resolver: { ip } }.')
  demandKnown(options, optionMembers)
  const { resolver, signal, timeoutMs = 5000 } = options
  demand(typeof client?.query === 'function', 'client must be what createDnsClient() returns.')
  const isResolver = isOptions(resolver) && isDnsServerAddress(resolver.ip)
  demand(isResolver, 'resolver must be an object with an IP address: write { resolver: { ip } }.')
  demand(isTimeout(timeoutMs), 'timeoutMs must be a positive number of milliseconds.')
  demand(isSignal(signal), 'signal must be an AbortSignal.')
  const parsed = typeof name === 'string' ? parseDnsName(name) : null
  demand(parsed !== null, 'name must be a domain name.')
  const askedResolver = { ...resolver }
  const until = performance.now() + timeoutMs

  function ask(asked: string, type: RecordType): Promise<DnsAnswer> {
    const left = Math.max(1, until - performance.now())
    const question = { name: asked, type, server: askedResolver, timeoutMs: left }
    return client.query(signal === undefined ? question : { ...question, signal })
  }

  async function addressesOf(server: string): Promise<string[]> {
    const answers = await Promise.all([ask(server, 'A'), ask(server, 'AAAA')])
    const records = answers.flatMap((answer) => answer.records)
    return records.flatMap((record) => ('ip' in record && isPublicAddress(record.ip) ? [record.ip] : []))
  }

  async function serversOf(zone: string, names: readonly string[]): Promise<AuthoritativeServer[]> {
    const addresses = await Promise.all(names.map(addressesOf))
    return names
      .flatMap((server, at) => (addresses[at] ?? []).map((ip) => ({ zone, name: server, ip })))
      .slice(0, maxAddresses)
  }

  /** Looks for the first of these that is a zone. */
  async function find([zone, ...above]: readonly string[]): Promise<AuthoritativeServer[]> {
    if (zone === undefined) return []
    const answer = await ask(zone, 'NS')
    const names = nameServersIn(answer, zone)
    if (names.length > 0) return serversOf(zone, names)
    // If the resolver fails here, the servers of a zone above would only point back.
    const goesOn = saysNo.has(answer.status) && performance.now() < until
    return goesOn ? find(above) : []
  }

  return find(zonesOf(parsed))
}

const optionMembers: ReadonlySet<string> = new Set<keyof AuthoritativeServersOptions>([
  'resolver',
  'timeoutMs',
  'signal',
])
const saysNo: ReadonlySet<DnsStatus> = new Set(['NOERROR', 'NODATA', 'NXDOMAIN', 'REFERRAL'])

/** Returns a name and all names above it, up to the root. */
function zonesOf(name: string): string[] {
  const labels = name === '.' ? [] : splitDnsName(name)
  return [...labels.map((_, at) => labels.slice(at).join('.')), '.']
}

/** Behind an alias are the servers of another zone. */
function nameServersIn({ records, cnameChain }: DnsAnswer, zone: string): string[] {
  if (cnameChain.length > 0) return []
  const own = records.filter(({ host }) => host === zone)
  return own.flatMap((record) => (record.type === 'NS' ? [record.target] : [])).slice(0, maxNames)
}
