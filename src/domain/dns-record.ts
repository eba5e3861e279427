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
