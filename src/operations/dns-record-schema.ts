import * as z from 'zod'
import type { DnsRecord, RecordOf, RecordType } from '../domain/dns-record.ts'

/** Returns the schema of a DNS check's records, with a shape per type. */
export function dnsRecordSchema(): z.ZodType<DnsRecord> {
  const ip = z.string().describe('The address.')
  const target = z.string().describe('The name pointed to, without the final dot.')
  const pri = z.int().describe('Priority; the lowest comes first.')
  const algorithm = z.int().describe('DNSSEC algorithm number.')
  const keyTag = z.int().describe('Key tag.')
  const { A, ...others } = {
    A: shape('A', { ip }),
    AAAA: shape('AAAA', { ip, ipv6: z.string().describe('The same address.') }),
    MX: shape('MX', { pri, target }),
    NS: shape('NS', { target }),
    PTR: shape('PTR', { target }),
    CNAME: shape('CNAME', { target }),
    SOA: shape('SOA', {
      mname: z.string().describe('Primary name server.'),
      rname: z.string().describe('Mailbox of the person responsible, as a name.'),
      serial: z.int().describe('Serial number of the zone.'),
      refresh: z.int().describe('Seconds between refreshes.'),
      retry: z.int().describe('Seconds before a failed refresh is tried again.'),
      expire: z.int().describe('Seconds after which a secondary server stops answering for the zone.'),
      'minimum-ttl': z.int().describe('Seconds a missing name is remembered.'),
    }),
    TXT: shape('TXT', {
      txt: z.string().describe('All strings joined; octets that are not UTF-8 as \\DDD.'),
      entries: z.array(z.string()).describe('The strings one by one.'),
      base64: z
        .array(z.string())
        .exactOptional()
        .describe("The strings' octets in base64, only if they are not UTF-8."),
    }),
    SRV: shape('SRV', {
      pri,
      weight: z.int().describe('Weight among equal priorities.'),
      port: z.int().describe('Port of the service.'),
      target,
    }),
    CAA: shape('CAA', {
      flags: z.int().describe('128 means critical.'),
      tag: z.string().describe('Property, such as issue.'),
      value: z.string().describe('Value of the property; octets that are not UTF-8 as \\DDD.'),
      base64: z
        .string()
        .exactOptional()
        .describe("The value's octets in base64, only if they are not UTF-8."),
    }),
    DS: shape('DS', {
      key_tag: keyTag,
      algorithm,
      digest_type: z.int().describe('Digest algorithm number.'),
      digest: z.string().describe('Digest in hexadecimal.'),
    }),
    DNSKEY: shape('DNSKEY', {
      flags: z.int().describe('257 for a key-signing key, 256 for a zone-signing key.'),
      protocol: z.int().describe('Always 3.'),
      algorithm,
      public_key: z.string().describe('Public key in base64.'),
      key_tag: keyTag,
    }),
  } satisfies { readonly [Type in RecordType]: z.ZodType<RecordOf<Type>> }
  return z.discriminatedUnion('type', [A, ...Object.values(others)])
}

function shape<Type extends RecordType, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return z.object({
    type: z.enum([type]).describe('The record type.'),
    host: z.string().describe('Owner name, without the final dot.'),
    ttl: z.int().describe('Time to live in seconds.'),
    ...fields,
  })
}
