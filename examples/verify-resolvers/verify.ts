import { randomBytes } from 'node:crypto'
import type { DnsClient, ResolverLocation } from 'utility-api/dns'

/** The names to test a resolver with. */
export interface Trials {
  /** Has an A record. */
  readonly existing: string
  /** Has no names below it except registered ones, so a random name does not exist. */
  readonly parent: string
  /** Its signatures are broken on purpose: resolvers that validate answer SERVFAIL. */
  readonly bogus: string
}

export interface Verdict {
  readonly location: ResolverLocation
  /** Why the resolver does not belong in the list. Empty if it does. */
  readonly faults: readonly string[]
  /** Whether the resolver validates DNSSEC. Good to know, but not a condition. */
  readonly validates: boolean
  readonly latencyMs: number
}

// RFC 8914: blocked, censored, filtered.
const filtering = new Set([15, 16, 17])

/** Tests whether a resolver answers as an honest one does, one question after the other. */
export async function verify(
  client: DnsClient,
  location: ResolverLocation,
  trials: Trials,
): Promise<Verdict> {
  const { ip, port = 53 } = location
  const ask = (name: string) => client.query({ name, type: 'A', server: { ip, port } })
  const existing = await ask(trials.existing)
  const missing = await ask(`${randomBytes(8).toString('hex')}.${trials.parent}`)
  const bogus = await ask(trials.bogus)
  const faults = [
    existing.status !== 'NOERROR' && `says ${existing.status} of a name that exists`,
    missing.status !== 'NXDOMAIN' && `says ${missing.status} of a name that does not exist`,
    [existing, missing].some((answer) => answer.ede?.some(({ code }) => filtering.has(code))) && 'filters',
  ]
  return {
    location,
    faults: faults.filter((fault) => fault !== false),
    validates: bogus.status === 'SERVFAIL',
    latencyMs: Math.round(Math.min(existing.latencyMs, missing.latencyMs)),
  }
}
