/**
 * Five HTTP operations to embed in your own server, and the provisioning that goes with them.
 *
 * @module utility-api
 */
import { assembleAdmin, type Admin } from './admin/create-admin.ts'
import { createBlockgameClient, type BlockgameClientOptions } from './blockgame.ts'
import { createDnsClient } from './dns/client.ts'
import { defaultResolverLocations } from './dns/default-locations.ts'
import { serveOperations, type UtilityApi } from './http/create-utility-api.ts'
import { harmlessLogger } from './http/hooks.ts'
import { checkDns } from './operations/check-dns.ts'
import { exchangeToken } from './operations/exchange-token.ts'
import { generateLicense } from './operations/generate-license.ts'
import { lookUpGameServer } from './operations/look-up-game-server.ts'
import type { AnyOperation } from './operations/operation.ts'
import { withDeadline } from './operations/storage-deadline.ts'
import { updateLicense } from './operations/update-license.ts'
import {
  checkAdminOptions,
  checkOptions,
  type BlockgameLookupOptions,
  type DnsCheckOptions,
  type LicenseOptions,
  type UtilityApiOptions,
} from './options.ts'
import type { Clock } from './ports/clock.ts'
import type { KeyGenerator } from './ports/key-generator.ts'
import type { AdminStorage } from './ports/storage.ts'
import { systemClock } from './system/clock.ts'
import { randomKeys } from './system/random-keys.ts'
import { requireSupportedRuntime } from './system/runtime.ts'

requireSupportedRuntime()

/**
 * Makes the five operations, ready to be mounted.
 *
 * Opens nothing until the first request; `close()` ends what it opened.
 *
 * @throws `UtilityApiError` `invalid_options`, naming the option
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
  checkOptions(options)
  const {
    clock = systemClock,
    keyGenerator = randomKeys(),
    licenses,
    oauth,
    storageTimeoutMs = 5000,
  } = options
  const storage = withDeadline(options.storage, storageTimeoutMs)
  const logger = harmlessLogger(options.logger ?? false)
  const dns = options.dns === false ? null : dnsOf(options.dns ?? {}, clock)
  const blockgame = options.blockgame === false ? null : blockgameOf(options.blockgame ?? {}, clock)
  const licenseParts = { storage, clock, keyGenerator, ...licenseSettings(licenses) }

  return serveOperations({
    operations: [
      exchangeToken({
        storage,
        clock,
        keyGenerator,
        logger,
        accessTokenLifetimeSeconds: oauth?.accessTokenLifetimeSeconds ?? 3600,
        onReplay: oauth?.onReplay ?? 'revoke',
      }),
      updateLicense(licenseParts),
      generateLicense(licenseParts),
      ...(dns === null ? [] : [dns.operation]),
      ...(blockgame === null ? [] : [blockgame.operation]),
    ],
    storage,
    clock,
    logger,
    basePath: options.basePath ?? '',
    maxInFlight: options.maxInFlight ?? 1000,
    rateLimiter: options.rateLimiter,
    onRequestEnd: options.onRequestEnd,
    errorBody: options.errorBody,
    drainTimeoutMs: Math.max(storageTimeoutMs, dns?.timeoutMs ?? 0, blockgame?.timeoutMs ?? 0) + 1000,
    closeClients: async () => {
      await Promise.all([dns?.close(), blockgame?.close()])
    },
  })
}

interface NetworkPart {
  readonly operation: AnyOperation
  readonly timeoutMs: number
  /** Closes the client, unless the host brought it: who opens closes. */
  close(): Promise<void> | undefined
}

function dnsOf(options: DnsCheckOptions, clock: Clock): NetworkPart {
  const client = options.client ?? createDnsClient()
  const { timeoutMs = 5000 } = options
  const operation = checkDns({
    client,
    clock,
    locations: options.locations ?? defaultResolverLocations,
    timeoutMs,
    cacheTtlMs: options.cacheTtlMs ?? 5000,
    maxConcurrentPerResolver: options.maxConcurrentPerResolver ?? 100,
    requiredScope: options.requiredScope,
  })
  return { operation, timeoutMs, close: () => (options.client === undefined ? client.close() : undefined) }
}

function blockgameOf(options: BlockgameLookupOptions, clock: Clock): NetworkPart {
  const brought = 'client' in options ? options.client : undefined
  const client = brought ?? createBlockgameClient(clientOptions(options as BlockgameClientOptions))
  const { timeoutMs = 5000 } = options
  const operation = lookUpGameServer({
    client,
    clock,
    timeoutMs,
    cacheTtlMs: options.cacheTtlMs ?? 0,
    maxConcurrent: options.maxConcurrent ?? 50,
    requiredPermission: options.requiredPermission ?? 'blockgame:lookup',
  })
  return { operation, timeoutMs, close: () => (brought === undefined ? client.close() : undefined) }
}

function clientOptions(options: BlockgameClientOptions): BlockgameClientOptions {
  const { allowAddress, resolvers, protocolVersion } = options
  return {
    ...(allowAddress !== undefined && { allowAddress }),
    ...(resolvers !== undefined && { resolvers }),
    ...(protocolVersion !== undefined && { protocolVersion }),
  }
}

function licenseSettings(options: LicenseOptions = {}): Required<LicenseOptions> {
  return {
    keyPrefix: options.keyPrefix ?? 'LIC-',
    statuses: options.statuses ?? ['valid', 'invalid'],
    allowWildcards: options.allowWildcards ?? false,
  }
}

/**
 * What `createAdmin` takes. Only `storage` is required.
 *
 * @group Provisioning
 */
export interface AdminOptions {
  /** The storage the served operations use. */
  readonly storage: AdminStorage
  /** Where the time comes from. Default: `systemClock`. */
  readonly clock?: Clock
  /** What makes secrets and ids. Default: `randomKeys()`. */
  readonly keyGenerator?: KeyGenerator
  /** The licence options of the served operations; the key prefix is what counts here. */
  readonly licenses?: LicenseOptions
}

/**
 * Makes the provisioning side: clients, codes, resellers, API keys, listing, revoking and purging.
 *
 * @throws `UtilityApiError` `invalid_options`, naming the option
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
  checkAdminOptions(options)
  const { storage, clock = systemClock, keyGenerator = randomKeys() } = options
  return assembleAdmin({
    storage,
    clock,
    keyGenerator,
    keyPrefix: licenseSettings(options.licenses).keyPrefix,
  })
}

export { UtilityApiError } from './domain/errors.ts'
export { isPublicAddress } from './domain/ip-address.ts'
export { defaultResolverLocations, randomKeys, systemClock }
export type {
  Admin,
  NewAdminAccessToken,
  NewApiKey,
  NewAuthorizationCode,
  NewClient,
  NewReseller,
} from './admin/create-admin.ts'
export type { SecretKind } from './domain/access.ts'
export type {
  DnsAnswer,
  DnsRecord,
  DnsStatus,
  ExtendedDnsError,
  RecordBase,
  RecordType,
  ResolverLocation,
} from './domain/dns-check.ts'
export type { ErrorCode, UtilityApiErrorOptions } from './domain/errors.ts'
export type { ServerStatus } from './domain/server-status.ts'
export type { Handler, UtilityApi } from './http/create-utility-api.ts'
export type { RequestEndEvent, RequestTraceEvent } from './http/hooks.ts'
export type { Reply, RequestContext, RequestLike } from './http/messages.ts'
export type { OpenApiDocument } from './http/openapi.ts'
export type { OperationId } from './operations/operation.ts'
export type {
  BlockgameLimits,
  BlockgameLookupOptions,
  DnsCheckOptions,
  LicenseOptions,
  OAuthOptions,
  UtilityApiOptions,
} from './options.ts'
export type { BlockgameClientOptions } from './blockgame.ts'
export type { BlockgameClient, BlockgameTarget } from './ports/blockgame-client.ts'
export type { Clock } from './ports/clock.ts'
export type { DnsClient, DnsQuestion } from './ports/dns-client.ts'
export type { KeyGenerator } from './ports/key-generator.ts'
export type { Logger } from './ports/logger.ts'
export type { RateLimitDecision, RateLimiter } from './ports/rate-limiter.ts'
export type * from './storage.ts'
