import { demand, demandKnown, isOptions, isSignal, isTimeout } from '../domain/arguments.ts'
import { saysSomething, type DnsAnswer } from '../domain/dns-answer.ts'
import { recordTypes, type RecordType } from '../domain/dns-record.ts'
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
  /** The name server's name. */
  readonly name: string
  /** One of its addresses. */
  readonly ip: string
}

/**
 * Where the records of a name come from.
 *
 * @group DNS
 */
export interface AuthoritativeServers {
  /** The name to ask for: where the aliases lead, or the name itself. */
  readonly name: string
  /** The zone that has its records, without a final dot. */
  readonly zone: string
  /** The names of the servers that the zone is delegated to, as the servers of the zone above say. */
  readonly delegation: readonly string[]
  /** Their public addresses. */
  readonly servers: readonly AuthoritativeServer[]
}

/**
 * Options of {@link findAuthoritativeServers}.
 *
 * @group DNS
 */
export interface AuthoritativeServersOptions {
  /**
   * Resolvers that know the way: IPv4 or IPv6 addresses, with a port each. If one fails, the next is asked. Default port:
   * 53.
   */
  readonly resolvers: readonly DnsQuestion['server'][]
  /**
   * The type of the records: those of DS are in the zone above, and a CNAME record is where the alias is. Default: `A`, as
   * for all other types.
   */
  readonly type?: RecordType
  /** Deadline for all questions together, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** Ends the search early when it aborts. */
  readonly signal?: AbortSignal
}

/** As many as fit into a datagram of 512 octets; more are of no use. */
const maxNames = 13
const maxAddresses = 26
/** Resolvers follow no more than ten. */
const maxAliases = 10

/**
 * Finds the name servers of the zone that the records of a name belong to. What they say is what resolvers will say
 * once they have forgotten the rest.
 *
 * Begins at the top-level domain and asks the servers of each zone for the next delegation, so that the zone above decides
 * which servers count, not what a resolver still keeps or what these servers say of themselves. Follows an alias into its
 * zone. The resolvers give only the servers of the top-level domain and the addresses of name servers, of at most 13 for each
 * zone. Of these, at most 26 are used, and only public ones, since the owner of a zone chooses them.
 *
 * Ask the servers with `recursionDesired: false`. Returns null if no zone is found in time.
 *
 * @throws `UtilityApiError` `invalid_argument` if an argument is invalid; the signal's reason if it aborts
 *
 * @example
 * ```ts
 * import { createDnsClient, findAuthoritativeServers } from 'utility-api/dns'
 *
 * const client = createDnsClient()
 * const resolvers = [{ ip: '9.9.9.10' }, { ip: '8.8.8.8' }]
 * const found = await findAuthoritativeServers(client, 'www.example.com', { resolvers })
 * if (found !== null) {
 *   const question = { name: found.name, type: 'A', recursionDesired: false } as const
 *   for (const { ip } of found.servers)
 *     console.log(ip, (await client.query({ ...question, server: { ip } })).records)
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
): Promise<AuthoritativeServers | null> {
  demand(isOptions(options), 'options must be an object: write { resolvers: [{ ip }] }.')
  demandKnown(options, optionMembers)
  const { resolvers: given, type = 'A', signal, timeoutMs: wholeMs = 5000 } = options
  demand(typeof client?.query === 'function', 'client must be what createDnsClient() returns.')
  const areResolvers = Array.isArray(given) && given.length > 0 && given.every(isServer)
  demand(
    areResolvers,
    'resolvers must be a list of objects with an IP address: write { resolvers: [{ ip }] }.',
  )
  demand(recordTypes.includes(type), `type must be one of ${recordTypes.join(', ')}.`)
  demand(isTimeout(wholeMs), 'timeoutMs must be a positive number below 2^31.')
  demand(isSignal(signal), 'signal must be an AbortSignal.')
  const parsed = typeof name === 'string' ? parseDnsName(name) : null
  demand(parsed !== null, 'name must be a domain name.')
  const until = performance.now() + wholeMs
  const resolvers = given.map((each) => ({ ...each }))
  /** The resolver that answered last is asked first. */
  let [first] = resolvers

  /**
   * Returns the first answer of any use. Each server has a third of the time that is left, because others may have to
   * be asked.
   */
  async function askInTurn(
    [server, ...others]: readonly DnsQuestion['server'][],
    question: Pick<DnsQuestion, 'name' | 'type' | 'recursionDesired' | 'checkingDisabled'>,
    isUseful: (answer: DnsAnswer) => boolean,
  ): Promise<DnsAnswer | undefined> {
    if (server === undefined) return undefined
    const timeoutMs = Math.max(1, (until - performance.now()) / 3)
    const terms = { server, timeoutMs, ...(signal !== undefined && { signal }) }
    const answer = await client.query({ ...question, ...terms })
    if (!isUseful(answer)) return askInTurn(others, question, isUseful)
    if (resolvers.includes(server)) first = server
    return answer
  }

  async function resolve(asked: string, of: RecordType): Promise<DnsAnswer['records']> {
    const inOrder = [...new Set([first as DnsQuestion['server'], ...resolvers])]
    // Without validation: a zone whose signatures are broken has servers all the same.
    const question = { name: asked, type: of, checkingDisabled: true }
    // A name whose address nobody finds must not take the time of all others.
    const enough = of === 'NS' ? inOrder : inOrder.slice(0, 2)
    const answer = await askInTurn(enough, question, saysSomething)
    return answer?.records ?? []
  }

  async function addressesOf(server: string): Promise<AuthoritativeServer[]> {
    const [v4, v6] = await Promise.all([resolve(server, 'A'), resolve(server, 'AAAA')])
    return [...v4, ...v6].flatMap((record) =>
      'ip' in record && isPublicAddress(record.ip) ? [{ name: server, ip: record.ip }] : [],
    )
  }

  async function delegated(zone: string, names: readonly string[]): Promise<Delegated> {
    const delegation = names.slice(0, maxNames)
    const addresses = await Promise.all(delegation.map(addressesOf))
    return { zone, delegation, servers: addresses.flat().slice(0, maxAddresses) }
  }

  async function asResolved(zone: string): Promise<Delegated | null> {
    const names = nameServersIn({ records: await resolve(zone, 'NS') }, zone)
    return names.length === 0 ? null : delegated(zone, names)
  }

  async function find(asked: string, aliases: number): Promise<AuthoritativeServers | null> {
    const [root = '.', top, ...below] = type === 'DS' ? zonesOf(asked).slice(0, -1) : zonesOf(asked)
    // The root's servers need not be asked for what every resolver knows.
    const known = top === undefined || top === asked ? null : await asResolved(top)
    const start = known ?? (await asResolved(root))

    /** Goes from zone to zone, as far as they are delegated, and to where an alias leads. */
    async function descend(
      current: Delegated,
      [zone, ...deeper]: readonly string[],
    ): Promise<AuthoritativeServers | null> {
      if (zone === undefined) return { name: asked, ...current }
      const question = { name: zone, type: 'NS', recursionDesired: false } as const
      const answer = await askInTurn(current.servers, question, (each) => isOfZone(each, zone))
      // Where not even the first servers can be reached, nothing is known. Others are at least delegated to.
      if (answer === undefined) return current === start ? null : { name: asked, ...current }
      const canonical = answer.cnameChain.at(-1)
      if (zone === asked && type !== 'CNAME' && canonical !== undefined && aliases < maxAliases)
        return find(parseDnsName(canonical) ?? asked, aliases + 1)
      const names = nameServersIn(answer, zone)
      return descend(names.length === 0 ? current : await delegated(zone, names), deeper)
    }

    const ways = known === null && top !== undefined ? [top, ...below] : below
    return start && descend(start, ways)
  }

  return find(parsed, 0)
}

type Delegated = Omit<AuthoritativeServers, 'name'>

const optionMembers: ReadonlySet<string> = new Set<keyof AuthoritativeServersOptions>([
  'resolvers',
  'type',
  'timeoutMs',
  'signal',
])

function isServer(value: unknown): boolean {
  return isOptions(value) && 'ip' in value && typeof value.ip === 'string' && isDnsServerAddress(value.ip)
}

/** Returns the root, the top-level domain, and so on down to the name itself. */
function zonesOf(name: string): string[] {
  const labels = name === '.' ? [] : splitDnsName(name)
  return ['.', ...labels.map((_, at) => labels.slice(at).join('.')).toReversed()]
}

/** Tells whether an answer says if the zone exists. A server that points elsewhere does not serve the one above. */
function isOfZone(answer: DnsAnswer, zone: string): boolean {
  return saysSomething(answer) || answer.cnameChain.length > 0 || answer.referral?.zone === zone
}

/** Returns the names of a zone's servers: from a server of the zone above, or from one that serves both. */
function nameServersIn(
  { records, referral }: Pick<DnsAnswer, 'records' | 'referral'>,
  zone: string,
): readonly string[] {
  if (referral !== undefined) return referral.nameServers
  return records.flatMap((record) => (record.type === 'NS' && record.host === zone ? [record.target] : []))
}
