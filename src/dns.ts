/**
 * The DNS client by itself: one question to one resolver, over UDP and TCP.
 *
 * @module utility-api/dns
 */
export { findAuthoritativeServers } from './dns/authoritative-servers.ts'
export type {
  AuthoritativeServer,
  AuthoritativeServers,
  AuthoritativeServersOptions,
} from './dns/authoritative-servers.ts'
export { createDnsClient } from './dns/client.ts'
export type { DnsClientOptions } from './dns/client.ts'
export { defaultResolverLocations } from './dns/default-locations.ts'
export { recordTypes } from './domain/dns-answer.ts'
export type {
  DnsAnswer,
  DnsRecord,
  DnsReferral,
  DnsStatus,
  ExtendedDnsError,
  RecordBase,
  RecordType,
} from './domain/dns-answer.ts'
export { UtilityApiError } from './domain/errors.ts'
export type { ErrorCode, UtilityApiErrorOptions } from './domain/errors.ts'
export type { ResolverLocation } from './domain/resolver-location.ts'
export type { DnsClient, DnsQuestion } from './ports/dns-client.ts'
