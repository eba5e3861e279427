import type { DnsRecord } from './dns-record.ts'

/** How a DNS question can end. */
export const dnsStatuses = [
  'NOERROR',
  'NXDOMAIN',
  'NODATA',
  'SERVFAIL',
  'REFUSED',
  'FORMERR',
  'TIMEOUT',
  'UNREACHABLE',
  'TRUNCATED',
  'MALFORMED',
  'TOO_LARGE',
  'REFERRAL',
] as const

/**
 * How a DNS question ended. `NODATA` is NOERROR without a record of the requested type. `TIMEOUT`, `UNREACHABLE`,
 * `TRUNCATED` and `MALFORMED` mean that no usable answer came. `TOO_LARGE` means that the answer's records would take
 * more than 256 KiB of JSON. `REFERRAL` means that the server only points elsewhere, and says nothing about the name.
 *
 * @group DNS
 */
export type DnsStatus = (typeof dnsStatuses)[number]

/** Tells whether an answer says what records a name has, or that it has none. */
export function saysSomething({ status }: { readonly status: DnsStatus }): boolean {
  return status === 'NOERROR' || status === 'NODATA' || status === 'NXDOMAIN'
}

/**
 * An extended DNS error as the resolver sent it, with control and bidirectional formatting characters replaced by
 * U+FFFD.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8914 | RFC 8914}
 *
 * @group DNS
 */
export interface ExtendedDnsError {
  /** INFO-CODE. */
  readonly code: number
  /** EXTRA-TEXT, cut to its first 255 octets; `''` if there is none. */
  readonly text: string
}

/**
 * What one resolver answered to one question.
 *
 * @group DNS
 */
export interface DnsAnswer {
  /** How the question ended. */
  readonly status: DnsStatus
  /** The records of the requested type; empty unless `status` is `NOERROR`. */
  readonly records: readonly DnsRecord[]
  /** The canonical names passed through, in order; empty if the name is not an alias. */
  readonly cnameChain: readonly string[]
  /** The transport that carried the answer. */
  readonly transport: 'udp' | 'tcp' | 'https'
  /** Milliseconds from asking to the answer, or to giving up. */
  readonly latencyMs: number
  /**
   * Why `status` is `UNREACHABLE`, if that is known: the system's error, whose `code` is `EPERM` if a firewall here forbids
   * it, or what came over HTTPS instead of an answer.
   */
  readonly cause?: unknown
  /**
   * Seconds for which the answer holds: the smallest TTL of its records and of the aliases passed through. If there are
   * no records, the TTL that the zone's SOA record gives counts in place of theirs. Absent if nothing gives a TTL.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc2308#section-5 | RFC 2308 section 5}
   */
  readonly ttlSeconds?: number
  /**
   * Seconds for which resolvers may remember that there is no such record or name, as the zone's SOA record says; absent
   * if there are records, or no SOA record came.
   */
  readonly negativeTtlSeconds?: number
  /** The largest TTL of the aliases passed through, in seconds; absent if there are none. */
  readonly cnameTtlSeconds?: number
  /** The first eight extended DNS errors, if the resolver sent any. */
  readonly ede?: readonly ExtendedDnsError[]
  /**
   * The prefix length the answer holds for, if a client subnet was sent and the resolver took it into account. 0 means
   * that the answer is the same for everyone.
   */
  readonly clientSubnetScope?: number
  /**
   * Whether the resolver says that it validated the answer with DNSSEC (the AD bit); absent if it does not say so. The
   * bit is only as trustworthy as the path to the resolver, because anyone who can change the answer can set it.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc6840#section-5.7 | RFC 6840 sections 5.7 and 5.8}
   */
  readonly authenticated?: true
  /** Where a `REFERRAL` points to; absent if it is an alias that leads away. */
  readonly referral?: DnsReferral
}

/**
 * Where a name server points to for a name that it does not serve: at the servers of a zone above, what they delegate.
 *
 * @group DNS
 */
export interface DnsReferral {
  /** The zone, in lower case. */
  readonly zone: string
  /** The names of its servers: the first thirteen. */
  readonly nameServers: readonly string[]
}
