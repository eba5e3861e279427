import { z } from 'zod'
import type { BlockgameClientOptions } from './blockgame.ts'
import type { ResolverLocation } from './domain/dns-check.ts'
import { UtilityApiError } from './domain/errors.ts'
import { parseIpAddress } from './domain/ip-address.ts'
import type { RequestEndEvent } from './http/hooks.ts'
import type { BlockgameClient } from './ports/blockgame-client.ts'
import type { Clock } from './ports/clock.ts'
import type { DnsClient } from './ports/dns-client.ts'
import type { KeyGenerator } from './ports/key-generator.ts'
import type { Logger } from './ports/logger.ts'
import type { RateLimiter } from './ports/rate-limiter.ts'
import type { UtilityStorage } from './ports/storage.ts'

/**
 * What `createUtilityApi` takes. Only `storage` is required.
 *
 * @group Operation
 */
export interface UtilityApiOptions {
  /** Where clients, codes, tokens and licences are kept. The host opens and closes it. */
  readonly storage: UtilityStorage
  /** A path prefix such as `/api`, stripped from the path if present. Default: `''`. */
  readonly basePath?: string
  /** Where the time comes from. Default: `systemClock`. */
  readonly clock?: Clock
  /** What makes license keys, secrets and ids. Default: `randomKeys()`. */
  readonly keyGenerator?: KeyGenerator
  /** The token exchange. */
  readonly oauth?: OAuthOptions
  /** The licence operations. */
  readonly licenses?: LicenseOptions
  /** The DNS check; false takes the operation out. */
  readonly dns?: false | DnsCheckOptions
  /** The game server lookup; false takes the operation out. */
  readonly blockgame?: false | BlockgameLookupOptions
  /** Deadline of every storage call in milliseconds; a call past it is answered 500, but may still commit. Default: 5000. */
  readonly storageTimeoutMs?: number
  /**
   * How many requests may be under way that wait for networks, and how many that wait for storage; those beyond are
   * answered 503 at once. Default: 1000.
   */
  readonly maxInFlight?: number
  /** Asked once a caller is known, and for every failed credential per address. Default: none. */
  readonly rateLimiter?: RateLimiter
  /** Where log entries go. Default: false, nowhere. */
  readonly logger?: Logger | false
  /** Called after each request; what it throws is logged. */
  readonly onRequestEnd?: (event: RequestEndEvent) => void
  /** Makes the body of an error answer; status and headers stay. Not asked for the token endpoint's errors. */
  readonly errorBody?: (error: UtilityApiError, context: { requestId: string }) => unknown
}

/**
 * Options of the token exchange.
 *
 * @group Operation
 */
export interface OAuthOptions {
  /** Lifetime of access tokens in seconds. Default: 3600. */
  readonly accessTokenLifetimeSeconds?: number
  /** What a second use of a code does to the tokens of the first. Default: `'revoke'`. */
  readonly onReplay?: 'revoke' | 'deny'
}

/**
 * Options of the licence operations.
 *
 * @group Operation
 */
export interface LicenseOptions {
  /** Text that new keys start with. Default: `'LIC-'`. */
  readonly keyPrefix?: string
  /** The statuses a licence can have. Default: `['valid', 'invalid']`. */
  readonly statuses?: readonly string[]
  /** Accept `*.example.com` as a domain. Default: false. */
  readonly allowWildcards?: boolean
}

/**
 * Options of the DNS check.
 *
 * @group Operation
 */
export interface DnsCheckOptions {
  /** The resolvers to ask, at least one. Default: `defaultResolverLocations`. */
  readonly locations?: readonly ResolverLocation[]
  /** Deadline of the whole check in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** How long an answer may be given again, in milliseconds; never past a record's TTL; 0: not at all. Default: 5000. */
  readonly cacheTtlMs?: number
  /** How many questions one resolver may have open; more wait. Default: 100. */
  readonly maxConcurrentPerResolver?: number
  /** The scope an access token must have. Default: none. */
  readonly requiredScope?: string
  /** The client to ask with. Default: our own, over UDP and TCP. The host closes its own. */
  readonly client?: DnsClient
}

/**
 * Options of the game server lookup: limits, and either a client of the host's or the settings of ours.
 *
 * @group Operation
 */
export type BlockgameLookupOptions = BlockgameLimits &
  ({ readonly client: BlockgameClient } | BlockgameClientOptions)

/**
 * Limits of the game server lookup.
 *
 * @group Operation
 */
export interface BlockgameLimits {
  /** Deadline of the whole lookup in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** How long an answer may be given again, in milliseconds; 0: not at all. Default: 0. */
  readonly cacheTtlMs?: number
  /** How many servers are asked at once; more wait. Default: 50. */
  readonly maxConcurrent?: number
  /** The permission an API key must have. Default: `'blockgame:lookup'`. */
  readonly requiredPermission?: string
}

/**
 * Checks options at the door.
 *
 * @throws `UtilityApiError` `invalid_options`, naming the option
 */
export function checkOptions(options: UtilityApiOptions): void {
  check(optionsSchema(), options)
}

/** The same for the options of `createAdmin`. */
export function checkAdminOptions(options: unknown): void {
  check(adminOptionsSchema(), options)
}

function check(schema: z.ZodType, options: unknown): void {
  const result = schema.safeParse(options)
  if (result.success) return
  const [issue] = result.error.issues
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const option = [...(issue?.path ?? []), ...keys].join('.')
  const problem = keys.length > 0 ? 'is no option' : issue?.message
  throw new UtilityApiError('invalid_options', `${option === '' ? 'options' : option}: ${problem}.`)
}

function withMethods(...names: string[]): z.ZodType {
  return z.custom(
    (value) => names.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
    `must have the methods ${names.join(', ')}`,
  )
}

/** An operation's options, or false where it is taken out. */
function switchable(schema: z.ZodType): z.ZodType {
  return z.preprocess((value) => (value === false ? undefined : value), schema.optional())
}

const callback = z.custom((value) => typeof value === 'function', 'must be a function')
const milliseconds = z.int().min(1).max(600_000)
const count = z.int().min(1).max(1_000_000)
const ipAddress = z.string().refine((text) => parseIpAddress(text) !== null, 'must be an IP address')
const port = z.int().min(1).max(65_535)
const name = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII without spaces')
const clientSubnet = z.string().refine(isSubnet, 'must be a network like 192.0.2.0/24')

function isSubnet(text: string): boolean {
  const [address = '', length = '', ...rest] = text.split('/')
  const octets = parseIpAddress(address)
  return (
    octets !== null && rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= octets.length * 8
  )
}

const clock = withMethods('now').optional()
const keyGenerator = withMethods('licenseKey', 'parseLicenseKey', 'secret', 'id').optional()

const licenses = z
  .strictObject({
    keyPrefix: z
      .string()
      .regex(/^[\w.~-]{0,64}$/, 'must have at most 64 of the characters A-Z a-z 0-9 _ . ~ -')
      .optional(),
    statuses: z
      .array(z.string().regex(/^[\x21-\x7e]{1,64}$/, 'must be visible ASCII without spaces'))
      .min(1)
      .optional(),
    allowWildcards: z.boolean().optional(),
  })
  .optional()

const storageMethods = [
  'findClient',
  'findAuthorizationCode',
  'redeemAuthorizationCode',
  'revokeAccessTokensOfCode',
  'findCredential',
  'insertLicense',
  'updateLicense',
]

// Made when first asked for: an import should not pay for schemas that nobody checks by.
const optionsSchema = (): z.ZodType =>
  z.strictObject({
    storage: withMethods(...storageMethods),
    basePath: z
      .string()
      .regex(/^(?:\/[^/?#]+)*$/, 'must be empty or start with a slash and not end with one')
      .optional(),
    clock,
    keyGenerator,
    oauth: z
      .strictObject({
        accessTokenLifetimeSeconds: z.int().min(1).max(31_536_000).optional(),
        onReplay: z.enum(['revoke', 'deny']).optional(),
      })
      .optional(),
    licenses,
    dns: switchable(
      z.strictObject({
        locations: z
          .array(
            z.strictObject({
              location: z.string().min(1),
              ip: ipAddress,
              provider: z.string().min(1),
              port: port.optional(),
              clientSubnet: clientSubnet.optional(),
            }),
          )
          .min(1, 'must name at least one resolver')
          .optional(),
        timeoutMs: milliseconds.optional(),
        cacheTtlMs: z.int().min(0).max(86_400_000).optional(),
        maxConcurrentPerResolver: count.optional(),
        requiredScope: name.optional(),
        client: withMethods('query').optional(),
      }),
    ),
    blockgame: switchable(
      z.strictObject({
        timeoutMs: milliseconds.optional(),
        cacheTtlMs: z.int().min(0).max(86_400_000).optional(),
        maxConcurrent: count.optional(),
        requiredPermission: name.optional(),
        client: withMethods('status').optional(),
        allowAddress: callback.optional(),
        resolvers: z
          .array(z.strictObject({ ip: ipAddress, port: port.optional() }))
          .min(1)
          .optional(),
        protocolVersion: z.int().min(-2_147_483_648).max(2_147_483_647).optional(),
      }),
    ),
    storageTimeoutMs: milliseconds.optional(),
    maxInFlight: count.optional(),
    rateLimiter: withMethods('consume').optional(),
    logger: withMethods('debug', 'info', 'warn', 'error').or(z.literal(false)).optional(),
    onRequestEnd: callback.optional(),
    errorBody: callback.optional(),
  })

const adminOptionsSchema = (): z.ZodType =>
  z.strictObject({
    storage: withMethods(...storageMethods, 'insertClient', 'insertAuthorizationCode', 'insertCredential'),
    clock,
    keyGenerator,
    licenses,
  })
