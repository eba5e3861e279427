/**
 * The DNS client by itself, over UDP and TCP or over HTTPS: one question to one resolver. And its codec.
 *
 * @module utility-api/dns
 */
export * from './dns/authoritative-servers.ts'
export * from './dns/client.ts'
export * from './dns/doh-client.ts'
export { defaultResolverLocations } from './dns/default-locations.ts'
export { readAnswer } from './dns/wire/answer.ts'
export { encodeQuery, type EncodedQuery } from './dns/wire/encoded-query.ts'
export type { DnsAnswer, DnsReferral, DnsStatus, ExtendedDnsError } from './domain/dns-answer.ts'
export { recordTypes, type DnsRecord, type RecordBase, type RecordType } from './domain/dns-record.ts'
export { UtilityApiError, type ErrorCode, type UtilityApiErrorOptions } from './domain/errors.ts'
export type { ResolverLocation } from './domain/resolver-location.ts'
export type { DnsClient, DnsQuestion } from './ports/dns-client.ts'
