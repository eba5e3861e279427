import type { KeyObject } from 'node:crypto'
import * as z from 'zod'
import { isIssuer } from './admin/server-metadata.ts'
import type { BlockgameClientOptions } from './blockgame.ts'
import { defaultResolverLocations } from './dns/default-locations.ts'
import { defaultTokenLifetimeSeconds } from './domain/access.ts'
import { invalidOption, isOptions, unlessObject, withoutUndefined } from './domain/arguments.ts'
import type { UtilityApiError } from './domain/errors.ts'
import { isServerAddress, parseIpAddress, parseNetwork } from './domain/ip-address.ts'
import { isStringOrUri, licenseSigner, problemOfSigningKey } from './domain/license-jws.ts'
import { optionProblem, unknownOption } from './domain/option-problem.ts'
import type { ResolverLocation } from './domain/resolver-location.ts'
import { isStatus } from './domain/license-rules.ts'
import { lacks, storageMistake, storageProblem } from './domain/storage-problem.ts'
import type { RequestEndEvent } from './http/events.ts'
import type { BlockgameClient } from './ports/blockgame-client.ts'
import type { Clock } from './ports/clock.ts'
import type { DnsClient } from './ports/dns-client.ts'
import type { KeyGenerator } from './ports/key-generator.ts'
import type { Logger } from './ports/logger.ts'
import type { RateLimiter } from './ports/rate-limiter.ts'
import type { AdminStorage, UtilityStorage } from './ports/storage.ts'
import { adminStorageMethods, storageMethods } from './ports/storage-methods.ts'
import type { SigningSettings } from './security/license-signing.ts'
import { systemClock } from './system/clock.ts'
import { randomKeys } from './system/random-keys.ts'

/**
 * Options for `createUtilityApi`. Only `storage` is required.
 *
 * @group Operation
 */
export interface UtilityApiOptions {
  /** Where clients, codes, tokens and licenses are kept. Your program opens and closes it. */
  readonly storage: UtilityStorage
  /** A path prefix such as `/api`, stripped from the path if present. Default: `''`. */
  readonly basePath?: string
  /** The source of the current time. Default: `systemClock`. */
  readonly clock?: Clock
  /** Generates license keys, secrets and ids. Default: `randomKeys()`. */
  readonly keyGenerator?: KeyGenerator
  /** The token exchange. */
  readonly oauth?: OAuthOptions
  /** The license operations. */
  readonly licenses?: LicenseOptions
  /** The DNS check; false removes the operation. */
  readonly dns?: false | DnsCheckOptions
  /** The game server lookup; false removes the operation. */
  readonly blockgame?: false | BlockgameLookupOptions
  /**
   * How long a request waits for all its storage calls together, in milliseconds. After that, the request is answered
   * with 500, and work that has begun may still commit. Default: 5000.
   */
  readonly storageTimeoutMs?: number
  /**
   * The maximum number of requests in progress, counted separately for requests that wait for networks, requests that
   * wait for storage, and requests whose callers are being looked up. One caller may have half of each. Requests beyond
   * that are answered with 503 at once. Default: 1000.
   */
  readonly maxInFlight?: number
  /**
   * How many octets of DNS checks and lookups may be in memory, until they are written. One caller may have a quarter of
   * them. Requests beyond that are answered with 503. A check takes up to 256 KiB for each location. Default: 67108864.
   */
  readonly maxAnswerBytes?: number
  /**
   * Asked about a caller as soon as it is known; if the answer is 401 before that, asked about the address. Default:
   * none.
   */
  readonly rateLimiter?: RateLimiter
  /** Where log entries go. Default: false, nowhere. */
  readonly logger?: Logger | false
  /** Called after each request. Anything it throws is logged. Default: none. */
  readonly onRequestEnd?: (event: RequestEndEvent) => void
  /**
   * Creates the body of an error answer; status and headers stay the same. Not called for the token endpoint's errors.
   *
   * Default: `{ error, message }`.
   */
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
  /**
   * What a second use of a code does to the tokens of the first use: `'revoke'` revokes them, `'deny'` leaves them valid.
   * Default: `'revoke'`.
   */
  readonly onReplay?: 'revoke' | 'deny'
}

/**
 * Options of the license operations.
 *
 * @group Operation
 */
export interface LicenseOptions {
  /** Text that new keys start with. Default: `'LIC-'`. */
  readonly keyPrefix?: string
  /** The statuses a license can have. Default: `['valid', 'invalid']`. */
  readonly statuses?: readonly string[]
  /** Whether to accept `*.example.com` as a domain. Default: false. */
  readonly allowWildcards?: boolean
  /** Who signs licenses, as `iss`: your service's URL, or a name without spaces. Needs `signingKey`. Default: none. */
  readonly issuer?: string
  /**
   * A private Ed25519 `KeyObject`, or a list of them while you replace one: the first signs, the public halves of
   * all are published. Needs `issuer`. Default: none.
   */
  readonly signingKey?: KeyObject | readonly KeyObject[]
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
  /** How long an answer may be reused, in milliseconds, never past a record's TTL; 0 means never. Default: 5000. */
  readonly cacheTtlMs?: number
  /** How many questions one resolver may have open, half of them for one caller. Further ones wait. Default: 100. */
  readonly maxConcurrentPerResolver?: number
  /** The scope an access token must have. Default: none. */
  readonly requiredScope?: string
  /** A client to use instead of ours. It must keep to the deadline it is given. Your program closes it. Default: ours. */
  readonly client?: DnsClient
}

/**
 * Options of the game server lookup: limits, and either the host's own client or the settings of ours.
 *
 * @group Operation
 */
export type BlockgameLookupOptions = BlockgameLimits &
  (
    | ({
        /** A client to use instead of ours. It must keep to the deadline it is given. Your program closes it. */
        readonly client: BlockgameClient
      } & { readonly [Option in keyof BlockgameClientOptions]?: never })
    | (BlockgameClientOptions & { readonly client?: never })
  )

/**
 * Limits of the game server lookup.
 *
 * @group Operation
 */
export interface BlockgameLimits {
  /** Deadline of the whole lookup in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
  /** How long an answer may be reused, in milliseconds; 0 means never. Default: 0. */
  readonly cacheTtlMs?: number
  /** How many servers are asked at once, half of them for one caller. Further lookups wait. Default: 50. */
  readonly maxConcurrent?: number
  /** The permission an API key must have. Default: `'blockgame:lookup'`. */
  readonly requiredPermission?: string
  /**
   * Whether the answer also has the server's `description`, its `favicon` (if it takes at most 32 KiB) and a `sample` of
   * at most 12 players, each a stranger's text. Default: false.
   */
  readonly details?: boolean
}

/**
 * Options for `createAdmin`. Only `storage` is required.
 *
 * @group Provisioning
 */
export interface AdminOptions {
  /** The storage that the served operations use. */
  readonly storage: AdminStorage
  /** The source of the current time. Default: `systemClock`. */
  readonly clock?: Clock
  /** Generates secrets and ids. Default: `randomKeys()`. */
  readonly keyGenerator?: KeyGenerator
  /** The license options of the served operations, so that whatever is valid there is valid here. */
  readonly licenses?: LicenseOptions
  /** Options for your authorization page. */
  readonly oauth?: AuthorizationPageOptions
}

/**
 * Options of `createAdmin` for your authorization page.
 *
 * @group Provisioning
 */
export interface AuthorizationPageOptions {
  /**
   * The URL that names your authorization server: `https` (`http` on loopback), without query and fragment. Every answer
   * of the page then has it as `iss`, so that clients of several servers cannot be made to mix them up. Default: none.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc9207 | RFC 9207}
   */
  readonly issuer?: string
}

/** The options with every default filled in. */
export interface Settings extends Required<
  Pick<
    UtilityApiOptions,
    | 'storage'
    | 'basePath'
    | 'clock'
    | 'keyGenerator'
    | 'storageTimeoutMs'
    | 'maxInFlight'
    | 'maxAnswerBytes'
    | 'logger'
  >
> {
  readonly oauth: Required<OAuthOptions>
  readonly licenses: LicenseSettings & { readonly signing?: SigningSettings | undefined }
  /** Undefined if the operation is removed. */
  readonly dns?: DnsCheckSettings | undefined
  /** Undefined if the operation is removed. */
  readonly blockgame?: BlockgameLookupSettings | undefined
  readonly rateLimiter?: UtilityApiOptions['rateLimiter'] | undefined
  readonly onRequestEnd?: UtilityApiOptions['onRequestEnd'] | undefined
  readonly errorBody?: UtilityApiOptions['errorBody'] | undefined
}

/** The rules of licenses. */
export type LicenseSettings = Required<Omit<LicenseOptions, 'issuer' | 'signingKey'>>

/** The DNS check's settings. */
export interface DnsCheckSettings extends Required<Omit<DnsCheckOptions, 'requiredScope' | 'client'>> {
  readonly requiredScope?: DnsCheckOptions['requiredScope'] | undefined
  readonly client?: DnsCheckOptions['client'] | undefined
}

/** The lookup's settings, with the host's own client or the options of ours. */
export interface BlockgameLookupSettings extends Required<BlockgameLimits> {
  readonly client: BlockgameClient | undefined
  readonly clientOptions: BlockgameClientOptions
}

/** The admin's settings. */
export interface AdminSettings extends Required<Omit<AdminOptions, 'oauth'>> {
  readonly licenses: LicenseSettings
  readonly oauth: { readonly issuer?: string | undefined }
}

/**
 * Returns the settings that the options result in.
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid; the message names it
 */
export function settingsOf(options: UtilityApiOptions): Settings {
  return resolved(settings(), options, 'createUtilityApi')
}

/** Does the same for the options of `createAdmin`. */
export function adminSettingsOf(options: AdminOptions): AdminSettings {
  return resolved(adminSettings(), options, 'createAdmin')
}

function resolved<Output>(schema: z.ZodType<Output>, options: unknown, factory: string): Output {
  const result = schema.safeParse(options, { error: optionProblem })
  if (result.success) return result.data
  requireNamed(options, factory)
  const { issues } = result.error
  // An option with a mistake in its name is also one that is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const option = [...(issue?.path ?? []), ...keys].join('.')
  const problem = issue?.message ?? 'is invalid'
  const place = problem === unknownOption ? placeOf(keys[0] ?? '', schema) : ''
  throw invalidOption(option === '' ? 'options' : option, problem + place)
}

/** Returns the end of a sentence for an option that is at the wrong level, or an empty string. */
function placeOf(name: string, schema: z.ZodType): string {
  const shape = shapeOf(schema)
  const holders = Object.keys(shape).filter((group) => Object.hasOwn(shapeOf(shape[group]), name))
  const places = [
    ...(Object.hasOwn(shape, name) ? [name] : []),
    ...holders.map((group) => `${group}.${name}`),
  ]
  if (places.length === 0) return ''
  return `; ${places.join(' and ')} ${places.length === 1 ? 'is' : 'are'}`
}

/** Returns the options that a schema knows, whatever it is wrapped in; none if it is not that of an object. */
function shapeOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> {
  if (schema === undefined) return {}
  if (schema instanceof z.ZodObject) return schema.shape as Record<string, z.ZodType>
  const { in: input, out, innerType } = schema.def as Wrapped
  return { ...shapeOf(input), ...shapeOf(out), ...shapeOf(innerType) }
}

/** What a pipe, a default and an optional schema wrap. */
interface Wrapped {
  readonly in?: z.ZodType
  readonly out?: z.ZodType
  readonly innerType?: z.ZodType
}

/** Throws if a storage, or what was taken for one, stands in the place of the options. */
function requireNamed(options: unknown, factory: string): void {
  if (isOptions(options) && 'storage' in options) return
  if (missingMethods(options, ['findClient']).length === 0)
    throw invalidOption('options', `must be an object, not the storage itself. Write ${factory}({ storage })`)
  const mistake = storageMistake(options)
  if (mistake !== null)
    throw invalidOption('options', `must be an object. Write ${factory}(${mistake.write})`)
  if (!isOptions(options)) throw invalidOption('options', `must be an object. Write ${factory}({ storage })`)
}

function withMethods<Type>(...names: (keyof Type & string)[]): z.ZodType<Type, Type> {
  return z.custom<Type>((value) => missingMethods(value, names).length === 0, {
    error: ({ input }) => methodsProblem(input, names),
  })
}

function methodsProblem(value: unknown, names: readonly string[]): string {
  const methods = `${names.length === 1 ? 'method' : 'methods'} ${names.join(', ')}`
  if (typeof value === 'function') {
    const { name } = value
    if (names.includes(name)) return `is a function: write { ${name} }`
    return `is a function: write ${/^\w+$/.test(name) ? name : 'it'}() to call it, or an object with the ${methods}`
  }
  if (typeof value !== 'object' || value === null) return `must be an object with the ${methods}`
  return lacks(missingMethods(value, names))
}

function storageWith<Type>(...names: (keyof Type & string)[]): z.ZodType<Type, Type> {
  return z.custom<Type>((value) => missingMethods(value, names).length === 0, {
    error: ({ input }) => storageProblem(input, missingMethods(input, names)),
  })
}

function missingMethods(value: unknown, names: readonly string[]): string[] {
  return names.filter((name) => typeof (value as Record<string, unknown> | null)?.[name] !== 'function')
}

function callback<Type>(): z.ZodType<Type, Type> {
  return z.custom<Type>((value) => typeof value === 'function', 'must be a function')
}

/** One sentence for a text, a fraction and a number out of range. */
function wholeNumber(least: number, most: number): z.ZodInt {
  const message = `must be a whole number from ${least} to ${most}`
  return z.int(message).min(least, message).max(most, message)
}

const milliseconds = wholeNumber(1, 600_000)
const cacheTtlMs = wholeNumber(0, 86_400_000)
const count = wholeNumber(1, 1_000_000)
const notAnIpAddress = 'must be an IP address, without a port: write { ip, port }'
const ipAddress = z.string().refine((text) => parseIpAddress(text) !== null, notAnIpAddress)
const port = wholeNumber(1, 65_535)
const name = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII without spaces')
const clientSubnet = z
  .string()
  .refine((text) => parseNetwork(text) !== null, 'must be a network like 192.0.2.0/24')

const clock = withMethods<Clock>('now').default(() => systemClock)
const keyGenerator = withMethods<KeyGenerator>('licenseKey', 'parseLicenseKey', 'secret', 'id').default(() =>
  randomKeys(),
)

/**
 * Returns the schema of an object where undefined means absent, as in types without `exactOptionalPropertyTypes`. A map
 * or a list is refused: it would pass for an object whose options were all left out.
 */
function exactObject<Shape extends z.ZodRawShape>(
  shape: Shape,
  message = 'must be an object',
): z.ZodType<z.output<z.ZodObject<Shape, z.core.$strict>>> {
  return z
    .custom(isOptions, message)
    .transform(withoutUndefined)
    .pipe(z.strictObject(shape) as never)
}

const oauth = exactObject(
  {
    accessTokenLifetimeSeconds: wholeNumber(1, 31_536_000).default(defaultTokenLifetimeSeconds),
    onReplay: z.enum(['revoke', 'deny']).default('revoke'),
  },
  'must be an object, as in { accessTokenLifetimeSeconds: 3600 }',
)

const issuer = z
  .string('must be a string')
  .refine(isIssuer, 'must be an https URL, or http on loopback, without query and fragment')

/** One key or a list of them, as a list. */
const signingKey = z.unknown().transform((value, context): SigningSettings['keys'] => {
  const keys: unknown[] = Array.isArray(value) ? value : [value]
  const refuse = (message: string, path: number[] = []): never => {
    context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  }
  for (const [index, key] of keys.entries()) {
    const problem = problemOfSigningKey(key)
    if (problem !== null) return refuse(problem, keys === value ? [index] : [])
  }
  const [first, ...others] = keys as KeyObject[]
  if (first === undefined) return refuse('must have at least one key')
  const kids = new Set([first, ...others].map((key) => licenseSigner(key).jwk.kid))
  return kids.size < keys.length ? refuse('has the same key twice') : [first, ...others]
})

const licenseOptions = exactObject(
  {
    keyPrefix: z
      .string()
      .regex(/^[\w.~-]{0,64}$/, 'must have at most 64 of the characters A-Z a-z 0-9 _ . ~ -')
      .default('LIC-'),
    statuses: z
      .array(z.string().refine(isStatus, 'must be 1 to 64 visible ASCII characters'))
      .min(1)
      .default(['valid', 'invalid']),
    allowWildcards: z.boolean().default(false),
    issuer: z
      .custom<string>(isStringOrUri, 'must be 1 to 255 visible ASCII characters, and a URI if it has a colon')
      .optional(),
    signingKey: signingKey.optional(),
  },
  "must be an object, as in { keyPrefix: 'LIC-' }",
)

const licenses = licenseOptions
  .transform(({ issuer: signer, signingKey: keys, ...rules }, context) => {
    if (signer !== undefined && keys !== undefined) return { ...rules, signing: { issuer: signer, keys } }
    if (signer === undefined && keys === undefined) return rules
    // An owner whose key is missing in the environment must hear of it before the first customer does.
    const [missing, present] = signer === undefined ? ['issuer', 'signingKey'] : ['signingKey', 'issuer']
    context.addIssue({ code: 'custom', path: [missing], message: `is needed with ${present}` })
    return z.NEVER
  })
  .prefault({})

/** The admin signs nothing, so it keeps no key. */
const licenseRules = licenses.transform(({ keyPrefix, statuses, allowWildcards }): LicenseSettings => ({
  keyPrefix,
  statuses,
  allowWildcards,
}))

const label = z.string({
  error: ({ input }) =>
    input === undefined ? 'is missing: a location is { location, ip, provider }' : undefined,
})

const location = exactObject(
  {
    location: label.min(1),
    ip: z.string().refine(isServerAddress, notAnIpAddress),
    provider: label.min(1),
    port: port.exactOptional(),
    clientSubnet: clientSubnet.exactOptional(),
  },
  'must be an object: a location is { location, ip, provider }',
)

const objectOrFalse = 'must be an object, or false to remove the operation'

const dns = exactObject(
  {
    locations: z
      .array(location)
      .min(1, 'must name at least one resolver')
      .default(() => [...defaultResolverLocations]),
    timeoutMs: milliseconds.default(5000),
    cacheTtlMs: cacheTtlMs.default(5000),
    maxConcurrentPerResolver: count.default(100),
    requiredScope: name.optional(),
    client: withMethods<DnsClient>('query').optional(),
  },
  objectOrFalse,
)

const ofBuiltInClient = ['allowAddress', 'resolvers', 'protocolVersion'] as const

const blockgame = exactObject(
  {
    timeoutMs: milliseconds.default(5000),
    cacheTtlMs: cacheTtlMs.default(0),
    maxConcurrent: count.default(50),
    requiredPermission: name.default('blockgame:lookup'),
    details: z.boolean().default(false),
    client: withMethods<BlockgameClient>('status').optional(),
    allowAddress: callback<NonNullable<BlockgameClientOptions['allowAddress']>>().exactOptional(),
    resolvers: z
      .array(
        exactObject({ ip: ipAddress, port: port.exactOptional() }, 'must be an object: a resolver is { ip }'),
      )
      .min(1)
      .exactOptional(),
    protocolVersion: wholeNumber(-2_147_483_648, 2_147_483_647).exactOptional(),
  },
  objectOrFalse,
)
  .superRefine((options, context) => {
    const without = ofBuiltInClient.find((each) => options[each] !== undefined)
    if (options.client === undefined || without === undefined) return
    // An owner who adds a rule for addresses must not believe that it applies.
    context.addIssue({ code: 'custom', path: [without], message: 'has no effect on a client of your own' })
  })
  .transform(
    ({
      timeoutMs,
      cacheTtlMs: ttl,
      maxConcurrent,
      requiredPermission,
      details,
      client,
      ...clientOptions
    }) => ({
      timeoutMs,
      cacheTtlMs: ttl,
      maxConcurrent,
      requiredPermission,
      details,
      client,
      clientOptions,
    }),
  )

/** Returns the schema of an operation's options. False, which removes it, becomes undefined. */
function switchable<Output>(schema: z.ZodType<Output>): z.ZodType<Output | undefined> {
  return z.preprocess((value) => (value === false ? undefined : value), schema.optional()).prefault({})
}

// Created only when needed: an import should not pay for schemas that nobody uses.
function settings(): z.ZodType<Settings> {
  return z.strictObject(
    {
      storage: storageWith<UtilityStorage>(...storageMethods),
      basePath: z
        .string()
        .regex(
          // The characters of a path (RFC 3986). A URL changes or encodes all others, so they would never be found.
          /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*$/,
          'must be empty or start with a slash and not end with one, in the characters of a path',
        )
        .default(''),
      clock,
      keyGenerator,
      oauth: oauth.prefault({}),
      licenses,
      dns: switchable(dns),
      blockgame: switchable(blockgame),
      storageTimeoutMs: milliseconds.default(5000),
      maxInFlight: count.default(1000),
      maxAnswerBytes: wholeNumber(4_194_304, 68_719_476_736).default(67_108_864),
      rateLimiter: withMethods<RateLimiter>('consume').optional(),
      logger: z
        .union(
          [withMethods<Logger>('debug', 'info', 'warn', 'error'), z.literal(false)],
          'must be false or have the methods debug, info, warn, error',
        )
        .default(false),
      onRequestEnd: callback<NonNullable<UtilityApiOptions['onRequestEnd']>>().optional(),
      errorBody: callback<NonNullable<UtilityApiOptions['errorBody']>>().optional(),
    },
    unlessObject(),
  )
}

function adminSettings(): z.ZodType<AdminSettings> {
  return z.strictObject(
    {
      storage: storageWith<AdminStorage>(...adminStorageMethods),
      clock,
      keyGenerator,
      licenses: licenseRules,
      oauth: exactObject({ issuer: issuer.optional() }).prefault({}),
    },
    unlessObject(),
  )
}
