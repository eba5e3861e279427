import type { KeyObject } from 'node:crypto'
import type { BlockgameClientOptions } from './blockgame.ts'
import type { UtilityApiError } from './domain/errors.ts'
import type { ResolverLocation } from './domain/resolver-location.ts'
import type { RequestEndEvent } from './http/events.ts'
import type { BlockgameClient } from './ports/blockgame-client.ts'
import type { Clock } from './ports/clock.ts'
import type { DnsClient } from './ports/dns-client.ts'
import type { KeyGenerator } from './ports/key-generator.ts'
import type { Logger } from './ports/logger.ts'
import type { RateLimiter } from './ports/rate-limiter.ts'
import type { AdminStorage, UtilityStorage } from './ports/storage.ts'

/**
 * Options for `createUtilityApi`. Only `storage` is required. One that is there, but undefined, is `invalid_options` where
 * leaving it out allows more: `dns`, `blockgame`, `oauth`, `rateLimiter`, a required scope or permission, `allowAddress`,
 * and a lifetime.
 *
 * @group Operation
 * @expand
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
   * How long a request waits for all its storage calls together, in milliseconds. After that, it is answered with 500,
   * and work that has begun may still commit. Default: 5000.
   */
  readonly storageTimeoutMs?: number
  /**
   * The most requests in progress, counted apart for those that wait for networks, for storage, and for their caller to
   * be looked up. One caller may have half of each. Further ones are answered with 503 at once. Default: 1000.
   */
  readonly maxInFlight?: number
  /**
   * How many octets of DNS checks and lookups may wait in memory to be written, a quarter of them for one caller.
   * Further requests are answered with 503. A check takes up to 256 KiB for each location. Default: 67108864.
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
   * What a second use of a code does to the tokens of the first use. `'revoke'` revokes them, `'deny'` leaves them
   * valid. Default: `'revoke'`.
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
   * A private Ed25519 `KeyObject`, or a list of them while you replace one. The first signs, the public halves of all
   * are published. Needs `issuer`. Default: none.
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
 * Options for `createAdmin`. Only `storage` is required. An `oauth` or `issuer` that is there, but undefined, is
 * `invalid_options`.
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
