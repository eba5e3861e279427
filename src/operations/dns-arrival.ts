import { demand } from '../domain/arguments.ts'
import { saysSomething, type DnsStatus } from '../domain/dns-answer.ts'
import { canonicalIpAddress } from '../domain/ip-address.ts'
import type { DnsCheckResult } from './check-dns.ts'
import { longest, type Answer, type Lifetime } from './dns-answer-groups.ts'

/**
 * An old answer that a location may still give. The first three members say which location.
 *
 * @group DNS
 */
export interface DnsOldCopy {
  /** Label of the resolver's place. */
  readonly location: string
  /** Address of the resolver. */
  readonly ip: string
  /** Name of the resolver's provider. */
  readonly provider: string
  /** When the copy expires, in milliseconds since the epoch. */
  readonly until: number
}

/** What is waited for. */
export interface Wanted {
  isIn(answer: Answer): boolean
  /** What is known from the checks before. */
  readonly oldCopies: readonly DnsOldCopy[]
  /** When the check ended, in milliseconds since the epoch. */
  readonly endedAt: number
  /** The addresses of the zone's own servers, in canonical text. */
  readonly authorities: ReadonlySet<string>
}

/** What the answers of one check say about what is waited for. */
export interface Arrival {
  readonly arrived: readonly DnsCheckResult[]
  readonly differing: readonly DnsCheckResult[]
  readonly blocking: readonly DnsCheckResult[]
  readonly oldCopies: readonly DnsOldCopy[]
  readonly longestTtlSeconds: number | null
}

/** A "no" without an SOA record should not be kept (RFC 2308 section 5), but some resolvers keep it for a minute. */
const secondsWithoutSoa = 60
/** Resolvers count in whole seconds, and some of them round down. */
const roundingMs = 1000
/**
 * What says that a location does not serve us, and nothing about the name. Those whom it serves may have the records.
 */
const notServed: ReadonlySet<DnsStatus> = new Set(['TIMEOUT', 'UNREACHABLE', 'REFUSED', 'FORMERR'])

export function arrivalOf(
  results: readonly DnsCheckResult[],
  answers: readonly Answer[],
  wanted: Wanted,
  keptOf: Lifetime,
): Arrival {
  const { endedAt, authorities } = wanted
  const resultsWhere = (isIn: boolean): DnsCheckResult[] =>
    answers.filter((answer) => wanted.isIn(answer) === isIn).map(({ result }) => result)
  const differing = resultsWhere(false)
  const copies = new Map<string, DnsOldCopy>()
  const seen = differing.map((result) => {
    const seconds = keptOf(result) ?? secondsWithoutSoa
    return { ...result, until: Math.round(endedAt + seconds * 1000) }
  })
  // Behind one address there may be many caches, so the copy that expires last counts, whatever is said meanwhile.
  for (const copy of [...wanted.oldCopies, ...seen]) {
    const { location, ip, provider } = copy
    const key = keyOf(copy)
    const until = Math.max(copy.until, copies.get(key)?.until ?? 0)
    if (endedAt < until + roundingMs) copies.set(key, { location, ip, provider, until })
  }
  const isBlocking = (result: DnsCheckResult): boolean => {
    if (copies.has(keyOf(result))) return true
    const isOfZone = authorities.has(canonicalIpAddress(result.ip) ?? result.ip)
    return !saysSomething(result) && (isOfZone || !notServed.has(result.status))
  }
  const blocking = results.filter(isBlocking)
  const lastEnd = longest(blocking.map((result) => copies.get(keyOf(result))?.until ?? null))
  return {
    arrived: resultsWhere(true),
    differing,
    blocking,
    oldCopies: [...copies.values()],
    longestTtlSeconds: lastEnd === null ? null : Math.max(0, lastEnd - endedAt) / 1000,
  }
}

/** Returns the old copies of the check before. Throws `invalid_argument` for anything else. */
export function oldCopiesOf(previous: { readonly oldCopies: readonly DnsOldCopy[] }): readonly DnsOldCopy[] {
  const oldCopies = (previous as typeof previous | null)?.oldCopies
  const areCopies = Array.isArray(oldCopies) && oldCopies.every(isCopy)
  demand(areCopies, 'previous must be the summary of a check for which records were expected.')
  return oldCopies
}

function isCopy(value: unknown): boolean {
  const copy = (value ?? {}) as Partial<DnsOldCopy>
  return isLocation(copy) && Number.isFinite(copy.until)
}

/** Tells whether the members that say which location it is are there. */
export function isLocation({ location, ip, provider }: Partial<DnsOldCopy>): boolean {
  return [location, ip, provider].every((text) => typeof text === 'string')
}

function keyOf({ location, ip, provider }: Omit<DnsOldCopy, 'until'>): string {
  return JSON.stringify([location, ip, provider])
}
