import { isIP } from 'node:net'
import type { ResolverLocation } from 'utility-api'
import { createDnsClient, findAuthoritativeServers, type AuthoritativeServer } from 'utility-api/dns'
import { UsageError } from '../terminal/command.ts'

/** Finds the zone's own servers by way of the first resolver. */
export async function authoritiesOf(
  name: string,
  types: readonly string[],
  [resolver]: readonly ResolverLocation[],
  signal: AbortSignal,
): Promise<AuthoritativeServer[]> {
  if (resolver === undefined) return []
  if (isIP(name) !== 0)
    throw new UsageError('--authority needs a name: for an address, that under in-addr.arpa.')
  const client = createDnsClient()
  try {
    // DS records are in the zone above.
    const asked = types.every((type) => type === 'DS') ? parentOf(name) : name
    const { ip, port = 53 } = resolver
    const found = await findAuthoritativeServers(client, asked, { resolver: { ip, port }, signal })
    if (found.length === 0) throw new Error('No name server of the zone was found at a public address.')
    return found
  } finally {
    await client.close()
  }
}

function parentOf(name: string): string {
  return /^(?:\\.|[^.\\])+\.(.+)$/.exec(name)?.[1] ?? '.'
}

/** Returns the resolvers, and before them the zone's own servers. */
export function withAuthorities(
  resolvers: readonly ResolverLocation[],
  authorities: readonly AuthoritativeServer[],
): ResolverLocation[] {
  const own = authorities.map(({ zone, name, ip }) => ({
    location: `zone ${zone}`,
    provider: name,
    ip,
  }))
  return [...own, ...resolvers]
}
