/**
 * The record types that can be asked for, to offer them to a visitor or to check what a visitor chose.
 *
 * @example
 * ```ts
 * import { recordTypes, type RecordType } from 'utility-api'
 *
 * function chosenType(text: string): RecordType | undefined {
 *   return recordTypes.find((type) => type === text)
 * }
 * ```
 *
 * @see docs/contract.md section 2.3
 *
 * @group DNS
 */
export const recordTypes = [
  'A',
  'AAAA',
  'MX',
  'NS',
  'PTR',
  'CNAME',
  'SOA',
  'TXT',
  'SRV',
  'CAA',
  'DS',
  'DNSKEY',
] as const

/**
 * A DNS record type that can be asked for.
 *
 * @group DNS
 */
export type RecordType = (typeof recordTypes)[number]

/**
 * The fields that every DNS record has.
 *
 * @group DNS
 */
export interface RecordBase<Type extends RecordType> {
  /** The record type. */
  readonly type: Type
  /** The record's owner name in lower case, without a final dot (the root is `.`). */
  readonly host: string
  /** Time to live in seconds. */
  readonly ttl: number
}

/**
 * A DNS record, with the field names of PHP's `dns_get_record`. DS and DNSKEY, which PHP lacks, follow their RFC.
 *
 * Names have no final dot (the root is `.`). See `docs/guide/dns.md` for each field.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc1035#section-3.3 | RFC 1035 section 3.3} and, for the later types, RFC 3596
 * (AAAA), RFC 2782 (SRV), RFC 8659 (CAA), RFC 4034 (DS, DNSKEY)
 *
 * @group DNS
 */
export type DnsRecord = {
  [Type in RecordType]: RecordBase<Type> &
    {
      A: { readonly ip: string }
      AAAA: { readonly ip: string; readonly ipv6: string }
      MX: { readonly pri: number; readonly target: string }
      NS: { readonly target: string }
      PTR: { readonly target: string }
      CNAME: { readonly target: string }
      SOA: {
        readonly mname: string
        readonly rname: string
        readonly serial: number
        readonly refresh: number
        readonly retry: number
        readonly expire: number
        readonly 'minimum-ttl': number
      }
      TXT: {
        /** All strings joined. Octets that are not UTF-8 are written as `\DDD`. */
        readonly txt: string
        /** The strings one by one, including empty ones. */
        readonly entries: readonly string[]
        /** The strings' octets in base64; present only if they are not UTF-8. */
        readonly base64?: readonly string[]
      }
      SRV: { readonly pri: number; readonly weight: number; readonly port: number; readonly target: string }
      CAA: {
        readonly flags: number
        /** In lower case, if it is a tag of letters and digits. */
        readonly tag: string
        /** Octets that are not UTF-8 are written as `\DDD`. */
        readonly value: string
        /** The value's octets in base64; present only if they are not UTF-8. */
        readonly base64?: string
      }
      DS: {
        readonly key_tag: number
        readonly algorithm: number
        readonly digest_type: number
        readonly digest: string
      }
      DNSKEY: {
        readonly flags: number
        readonly protocol: number
        readonly algorithm: number
        readonly public_key: string
        readonly key_tag: number
      }
    }[Type]
}[RecordType]

/** The records of one type. */
export type RecordOf<Type extends RecordType> = Extract<DnsRecord, { readonly type: Type }>

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
