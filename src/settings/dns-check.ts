import * as z from 'zod'
import { defaultResolverLocations } from '../dns/default-locations.ts'
import { exactObject, harmless } from '../domain/exact-object.ts'
import { isDnsServerAddress, parseNetwork } from '../domain/ip-address.ts'
import { isSecureUrl } from '../domain/secure-url.ts'
import type { DnsCheckOptions } from '../options.ts'
import type { DnsClient } from '../ports/dns-client.ts'
import {
  accessName,
  cacheTtlMs,
  count,
  milliseconds,
  notAnIpAddress,
  objectOrFalse,
  port,
} from './option-schemas.ts'
import { withMethods } from './with-methods.ts'

/** The DNS check's settings. */
export interface DnsCheckSettings extends Required<Omit<DnsCheckOptions, 'requiredScope' | 'client'>> {
  readonly requiredScope?: DnsCheckOptions['requiredScope'] | undefined
  readonly client?: DnsCheckOptions['client'] | undefined
}

const label = z.string({
  error: ({ input }) =>
    input === undefined ? 'is missing: a location is { location, ip, provider }' : undefined,
})

const clientSubnet = z
  .string()
  .refine((text) => parseNetwork(text) !== null, 'must be a network like 192.0.2.0/24')

const location = exactObject(
  {
    location: label.min(1),
    ip: z.string().refine(isDnsServerAddress, notAnIpAddress),
    provider: label.min(1),
    port: port.exactOptional().register(harmless),
    // `fetch` sends no password of a URL, and causes of failures name it.
    doh: z
      .string()
      .refine(isSecureUrl, 'must be an https: URL without a password')
      .exactOptional()
      .register(harmless),
    clientSubnet: clientSubnet.exactOptional().register(harmless),
  },
  'must be an object: a location is { location, ip, provider }',
)

export const dnsCheck: z.ZodType<DnsCheckSettings> = exactObject(
  {
    locations: z
      .array(location)
      .min(1, 'must name at least one resolver')
      .default(() => [...defaultResolverLocations])
      .register(harmless),
    timeoutMs: milliseconds.default(5000).register(harmless),
    cacheTtlMs: cacheTtlMs.default(5000).register(harmless),
    maxConcurrentPerResolver: count.default(100).register(harmless),
    requiredScope: accessName.optional(),
    client: withMethods<DnsClient>('query').optional().register(harmless),
  },
  objectOrFalse,
)
