import * as z from 'zod'
import { isIssuer } from './admin/server-metadata.ts'
import { defaultTokenLifetimeSeconds } from './domain/credentials.ts'
import { exactObject, harmless } from './domain/exact-object.ts'
import type { AdminOptions, OAuthOptions, UtilityApiOptions } from './options.ts'
import type { Clock } from './ports/clock.ts'
import type { KeyGenerator } from './ports/key-generator.ts'
import type { Logger } from './ports/logger.ts'
import type { RateLimiter } from './ports/rate-limiter.ts'
import type { AdminStorage, UtilityStorage } from './ports/storage.ts'
import { adminStorageMethods, storageMethods } from './storage/timed-admin-storage.ts'
import { checkedOptions } from './settings/checked-options.ts'
import { dnsCheck, type DnsCheckSettings } from './settings/dns-check.ts'
import { gameServerLookup, type BlockgameLookupSettings } from './settings/game-server-lookup.ts'
import {
  licenseRules,
  licenses,
  type LicenseRuleSettings,
  type LicenseSettings,
} from './settings/licenses.ts'
import { callback, count, milliseconds, switchable, wholeNumber } from './settings/option-schemas.ts'
import { storageWith, withMethods } from './settings/with-methods.ts'
import { systemClock } from './system/clock.ts'
import { randomKeys } from './system/random-keys.ts'

/** The options with every default filled in. */
export type Settings = Required<Omit<UtilityApiOptions, keyof OtherSettings>> & OtherSettings

interface OtherSettings {
  readonly oauth: Required<OAuthOptions>
  readonly licenses: LicenseSettings
  /** Undefined if the operation is removed. */
  readonly dns?: DnsCheckSettings | undefined
  /** Undefined if the operation is removed. */
  readonly blockgame?: BlockgameLookupSettings | undefined
  readonly rateLimiter?: UtilityApiOptions['rateLimiter'] | undefined
  readonly onRequestEnd?: UtilityApiOptions['onRequestEnd'] | undefined
  readonly errorBody?: UtilityApiOptions['errorBody'] | undefined
}

/** The admin's settings. */
export interface AdminSettings extends Required<Omit<AdminOptions, 'oauth'>> {
  readonly licenses: LicenseRuleSettings
  readonly oauth: { readonly issuer?: string | undefined }
}

/**
 * Returns the settings that the options result in.
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid; the message names it
 */
export function settingsOf(options: UtilityApiOptions): Settings {
  return checkedOptions(options, serving, provisioning)
}

/** Does the same for the options of `createAdmin`. */
export function adminSettingsOf(options: AdminOptions): AdminSettings {
  return checkedOptions(options, provisioning, serving)
}

const serving = { name: 'createUtilityApi', schema: settings }
const provisioning = { name: 'createAdmin', schema: adminSettings }

const clock = withMethods<Clock>('now')
  .default(() => systemClock)
  .register(harmless)
const keyGenerator = withMethods<KeyGenerator>('licenseKey', 'parseLicenseKey', 'secret', 'id')
  .default(() => randomKeys())
  .register(harmless)

const oauth = exactObject(
  {
    accessTokenLifetimeSeconds: wholeNumber(1, 31_536_000).default(defaultTokenLifetimeSeconds),
    onReplay: z.enum(['revoke', 'deny']).default('revoke').register(harmless),
  },
  'must be an object, as in { accessTokenLifetimeSeconds: 3600 }',
)

const mustBeObject = 'must be an object'
const issuer = z
  .string('must be a string')
  .refine(isIssuer, 'must be an https URL, or http on loopback, without query and fragment')

// Created only when needed: an import should not pay for schemas that nobody uses.
function settings(): z.ZodType<Settings> {
  return exactObject(
    {
      storage: storageWith<UtilityStorage>(...storageMethods),
      basePath: z
        .string()
        .regex(
          // The characters of a path (RFC 3986). A URL changes or encodes all others, so they would never be found.
          /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*$/,
          'must be empty or start with a slash and not end with one, in the characters of a path',
        )
        .default('')
        .register(harmless),
      clock,
      keyGenerator,
      oauth: oauth.prefault({}),
      licenses,
      dns: switchable(dnsCheck),
      blockgame: switchable(gameServerLookup),
      storageTimeoutMs: milliseconds.default(5000).register(harmless),
      maxInFlight: count.default(1000).register(harmless),
      maxAnswerBytes: wholeNumber(4_194_304, 68_719_476_736).default(67_108_864).register(harmless),
      rateLimiter: withMethods<RateLimiter>('consume').optional(),
      logger: z
        .union(
          [withMethods<Logger>('debug', 'info', 'warn', 'error'), z.literal(false)],
          'must be false or have the methods debug, info, warn, error',
        )
        .default(false)
        .register(harmless),
      onRequestEnd: callback<NonNullable<UtilityApiOptions['onRequestEnd']>>().optional().register(harmless),
      errorBody: callback<NonNullable<UtilityApiOptions['errorBody']>>().optional().register(harmless),
    },
    mustBeObject,
  )
}

function adminSettings(): z.ZodType<AdminSettings> {
  return exactObject(
    {
      storage: storageWith<AdminStorage>(...adminStorageMethods),
      clock,
      keyGenerator,
      licenses: licenseRules,
      oauth: exactObject({ issuer: issuer.optional() }, mustBeObject).prefault({}),
    },
    mustBeObject,
  )
}
