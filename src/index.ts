/**
 * Five HTTP operations to embed in your own server, and the provisioning that goes with them.
 *
 * @module utility-api
 */
import type { Admin } from './admin/admin.ts'
import { assembleAdmin } from './admin/assemble-admin.ts'
import { createBlockgameClient } from './blockgame.ts'
import { createDnsClient } from './dns/client.ts'
import { defaultResolverLocations } from './dns/default-locations.ts'
import { BodyReader } from './http/body-reader.ts'
import { Closing } from './bounds/closing.ts'
import { harmlessLogger } from './http/log.ts'
import { createInFlightLimit } from './bounds/in-flight.ts'
import { bind, type Service } from './http/pipeline.ts'
import { rateLimitWith } from './http/rate-limit.ts'
import { utilityApi, type UtilityApi } from './http/utility-api.ts'
import { checkDns, type DnsCheckResult } from './operations/check-dns.ts'
import { exchangeToken } from './operations/exchange-token.ts'
import { generateLicense } from './operations/generate-license.ts'
import { lookUpGameServer, type GameServerLookup } from './operations/look-up-game-server.ts'
import { createOctetBudget } from './bounds/octet-budget.ts'
import { createResultCache } from './bounds/result-cache.ts'
import type { SharedAnswer } from './bounds/shared-answer.ts'
import { updateLicense } from './operations/update-license.ts'
import type { AdminOptions, UtilityApiOptions } from './options.ts'
import { timedBlockgameClient, timedDnsClient } from './bounds/timed-clients.ts'
import { timedStorage, type TimedStorage } from './storage/timed-storage.ts'
import { apiKeyScheme } from './security/api-key.ts'
import { bearerScheme } from './security/bearer.ts'
import { oauthClientScheme } from './security/oauth-client.ts'
import { createLicenseSigning } from './security/license-signing.ts'
import type { CredentialParts } from './security/scheme.ts'
import { createUseRecorder } from './security/use-recorder.ts'
import { createVerifier } from './security/verifier.ts'
import { adminSettingsOf, settingsOf, type Settings } from './settings.ts'
import type { DnsCheckSettings } from './settings/dns-check.ts'
import type { BlockgameLookupSettings } from './settings/game-server-lookup.ts'
import { systemClock } from './system/clock.ts'
import { randomKeys } from './system/random-keys.ts'
import { requireSupportedRuntime } from './system/runtime.ts'

requireSupportedRuntime()

/**
 * Creates the five operations, for any server to mount.
 *
 * Opens nothing until the first request. `close()` ends everything it opened.
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid; the message names it
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createUtilityApi } from 'utility-api'
 * import { toNodeHandler } from 'utility-api/node'
 * import { memoryStorage } from 'utility-api/storage/memory'
 *
 * const api = createUtilityApi({ storage: memoryStorage() })
 * createServer(toNodeHandler(api)).listen(3000)
 * ```
 *
 * @group Operation
 */
export function createUtilityApi(options: UtilityApiOptions): UtilityApi {
  const settings = settingsOf(options)
  const { clock, keyGenerator, basePath, storageTimeoutMs, licenses, dns, blockgame } = settings
  const storage = timedStorage(settings.storage)
  const service = serviceOf(settings)
  const closing = new Closing()
  // Only if the store records them.
  const uses =
    settings.storage.recordUse && createUseRecorder({ storage, storageTimeoutMs, logger: service.logger })
  const callers: CallerParts = { storage, clock, uses }
  const check = dns && dnsCheck(service, dns, callers)
  const lookup = blockgame && gameServerLookup(service, blockgame, callers)
  const network = [check, lookup].filter((each) => each !== undefined)
  const { keyPrefix, signing } = licenses
  const verifier = createVerifier({ ...callers, keyGenerator, keyPrefix, storageTimeoutMs, closing })
  return utilityApi({
    service,
    endpoints: {
      ...storageEndpoints(service, settings, callers),
      checkDns: check?.endpoint,
      lookUpGameServer: lookup?.endpoint,
    },
    operations: { checkDns: check?.operation, lookUpGameServer: lookup?.operation },
    verifier,
    licenseSigning: createLicenseSigning({ findLicense: verifier.findLicense, clock, signing }),
    storage,
    basePath,
    drainTimeoutMs: Math.max(storageTimeoutMs, ...network.map(({ timeoutMs }) => timeoutMs)) + 1000,
    closing,
    closeClients: async () => {
      await Promise.all([uses?.close(), ...network.map((each) => each.close())])
    },
  })
}

function serviceOf(settings: Settings): Service {
  const { storageTimeoutMs, maxInFlight, maxAnswerBytes, rateLimiter, onRequestEnd, errorBody } = settings
  const logger = harmlessLogger(settings.logger)
  return {
    bodies: new BodyReader(),
    inFlight: createInFlightLimit(maxInFlight),
    budget: createOctetBudget(maxAnswerBytes),
    storageTimeoutMs,
    rateLimit: rateLimiter && rateLimitWith(rateLimiter, logger),
    logger,
    onRequestEnd,
    errorBody,
  }
}

/** What finds out who the caller of an operation is. */
type CallerParts = CredentialParts & { readonly storage: TimedStorage }

/** Returns the operations that need only storage, each bound to the scheme of its callers. */
function storageEndpoints(service: Service, settings: Settings, callers: CallerParts) {
  const { clock, keyGenerator, oauth, licenses } = settings
  const { storage } = callers
  const resellers = bearerScheme(callers, 'reseller_token', 'A reseller token.')
  const { keyPrefix, statuses, allowWildcards } = licenses
  const licenseParts = { storage, clock, keyGenerator, keyPrefix, statuses, allowWildcards }
  const exchange = exchangeToken({ storage, clock, keyGenerator, logger: service.logger, ...oauth })
  return {
    exchangeToken: bind(service, exchange, oauthClientScheme(storage)),
    updateLicense: bind(service, updateLicense(licenseParts), resellers),
    generateLicense: bind(service, generateLicense(licenseParts), resellers),
  }
}

function dnsCheck(service: Service, dns: DnsCheckSettings, callers: CallerParts) {
  const { clock } = callers
  const client = dns.client === undefined ? createDnsClient() : timedDnsClient(dns.client)
  const scheme = bearerScheme(callers, 'access_token', 'An access token.')
  const cache = createResultCache<SharedAnswer<DnsCheckResult[]>>(clock)
  const { budget, logger } = service
  const operation = checkDns({ ...dns, client, clock, cache, budget, logger })
  return {
    operation,
    endpoint: bind(service, operation, scheme),
    timeoutMs: dns.timeoutMs,
    // A client of the host is closed by the host.
    close() {
      cache.close()
      return client.close?.()
    },
  }
}

function gameServerLookup(service: Service, blockgame: BlockgameLookupSettings, callers: CallerParts) {
  const { clock } = callers
  const client =
    blockgame.client === undefined
      ? createBlockgameClient(blockgame.clientOptions)
      : timedBlockgameClient(blockgame.client)
  const cache = createResultCache<SharedAnswer<GameServerLookup>>(clock)
  const operation = lookUpGameServer({ ...blockgame, client, cache, logger: service.logger })
  return {
    operation,
    endpoint: bind(service, operation, apiKeyScheme(callers)),
    timeoutMs: blockgame.timeoutMs,
    // A client of the host is closed by the host.
    close() {
      cache.close()
      return client.close?.()
    },
  }
}

/**
 * Creates the provisioning methods: clients, codes, resellers, API keys, listing, revoking and purging.
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid; the message names it
 *
 * @example
 * ```ts
 * const admin = createAdmin({ storage })
 * const { token } = await admin.createReseller({ name: 'Example Hosting' })
 * ```
 *
 * @group Provisioning
 */
export function createAdmin(options: AdminOptions): Admin {
  const { storage, clock, keyGenerator, licenses, oauth } = adminSettingsOf(options)
  return assembleAdmin({ storage, clock, keyGenerator, ...licenses, issuer: oauth.issuer })
}

export { UtilityApiError, type ErrorCode, type UtilityApiErrorOptions } from './domain/errors.ts'
export { recordTypes, type DnsRecord, type RecordType } from './domain/dns-record.ts'
export { coversHost } from './domain/compared-domain.ts'
export { licenseIsGood } from './domain/license-is-good.ts'
export { isPublicAddress } from './domain/ip-address.ts'
export { bearerToken, type ChallengeOptions } from './security/bearer.ts'
export { defaultResolverLocations, randomKeys, systemClock }
export { recordText } from './domain/dns-record-content.ts'
export * from './operations/summarize-dns-check.ts'
export type * from './admin/admin.ts'
export type { AuthorizationErrorCode } from './admin/authorization-error.ts'
export type { AuthorizationRequest, AuthorizationRequestOutcome } from './admin/authorization-request.ts'
export type {
  AuthorizationServerMetadata,
  ProtectedResource,
  ProtectedResourceMetadata,
  ServerEndpoints,
} from './admin/server-metadata.ts'
export type { ClientType, CredentialKind, Reseller, SecretKind } from './domain/credentials.ts'
export type { DnsAnswer, DnsReferral, DnsStatus, ExtendedDnsError } from './domain/dns-answer.ts'
export type { License } from './domain/license.ts'
export type { LicenseJwk } from './domain/license-jws.ts'
export type { ResolverLocation } from './domain/resolver-location.ts'
export type { ServerStatus } from './domain/server-status.ts'
export type { RequestEndEvent, RequestTraceEvent } from './http/events.ts'
export type { OpenApiDocument } from './http/openapi.ts'
export type { OwnCallOptions } from './http/own-call.ts'
export type { Reply, RequestContext, RequestLike } from './http/request-like.ts'
export type { Handler, UtilityApi } from './http/utility-api.ts'
export type { LicenseSigning, SignLicenseOptions } from './security/license-signing.ts'
export type { AccessGrant, Verifier } from './security/verifier.ts'
export type { DnsCheckResult } from './operations/check-dns.ts'
export type { DnsCheckGroup } from './operations/dns-answer-groups.ts'
export type { DnsOldCopy } from './operations/dns-arrival.ts'
export type { GameServerLookup } from './operations/look-up-game-server.ts'
export type { OperationId } from './operations/operation.ts'
export type * from './options.ts'
export type { BlockgameClientOptions } from './blockgame.ts'
export type { BlockgameClient, BlockgameTarget } from './ports/blockgame-client.ts'
export type { Clock } from './ports/clock.ts'
export type { DnsClient, DnsQuestion } from './ports/dns-client.ts'
export type { KeyGenerator } from './ports/key-generator.ts'
export type { Logger } from './ports/logger.ts'
export type { RateLimitDecision, RateLimiter } from './ports/rate-limiter.ts'
export type {
  AccessReference,
  AdminStorage,
  ClientPatch,
  PurgeCounts,
  RevokeCounts,
  UtilityStorage,
} from './ports/storage.ts'
export type {
  ClientList,
  CredentialList,
  LicenseList,
  ListedClient,
  ListedCredential,
  ResellerList,
} from './ports/storage-listing.ts'
export type { RandomKeysOptions } from './system/random-keys.ts'
