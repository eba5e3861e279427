import { isIP } from 'node:net'
import type { RecordType, ResolverLocation } from 'utility-api'
import { createDnsClient, findAuthoritativeServers, type AuthoritativeServers } from 'utility-api/dns'
import { UsageError } from '../terminal/command.ts'

/** How to look for the servers of a zone. */
interface SearchTerms {
  readonly resolvers: readonly ResolverLocation[]
  readonly seconds: number
  readonly signal: AbortSignal
}

/** Finds the servers of the zone that has a name's records of a type. */
export async function authorityOf(
  name: string,
  type: string,
  { resolvers, seconds, signal }: SearchTerms,
): Promise<AuthoritativeServers> {
  if (isIP(name) !== 0)
    throw new UsageError('--authority needs a name: for an address, that under in-addr.arpa.')
  const client = createDnsClient()
  try {
    const terms = { type: type as RecordType, timeoutMs: seconds * 1000, signal }
    const found = await findAuthoritativeServers(client, name, { resolvers, ...terms })
    if (found === null) throw new Error('No zone of this name was found: port 53 may be blocked here.')
    const { zone, servers, delegation } = found
    if (servers.length > 0) return found
    throw new Error(`The zone ${zone} is delegated to ${delegation.join(', ')}: no public address was found.`)
  } finally {
    await client.close()
  }
}

/** Returns the resolvers, and before them the zone's own servers. */
export function withAuthority(
  resolvers: readonly ResolverLocation[],
  authority: AuthoritativeServers | null,
): readonly ResolverLocation[] {
  if (authority === null) return resolvers
  const location = `zone ${authority.zone}`
  return [...authority.servers.map(({ name, ip }) => ({ location, provider: name, ip })), ...resolvers]
}
