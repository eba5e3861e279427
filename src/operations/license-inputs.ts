import * as z from 'zod'
import { problemOfDomainOrIp, problemOfLicenseText, type LicenseRules } from '../domain/license-rules.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'
import { missingOr, patterns, requiredText } from './input-schemas.ts'

/** What both license operations need. */
export interface LicenseParts extends LicenseRules {
  readonly storage: TimedStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
}

/** The group of both license operations. */
export const licenseTag = { name: 'Licenses', description: 'Resellers create and change licenses.' }

/** Returns the schema of the user a license is registered to. */
export function registeredUser(): z.ZodString {
  return textWithout(problemOfLicenseText).meta({ maxLength: 255, pattern: patterns.plainText })
}

/** Returns the schema of what a license is bound to. */
export function domainOrIp(rules: LicenseRules): z.ZodString {
  const pattern = rules.allowWildcards ? patterns.hostOrIp.replace('^', '^(?:\\*\\.)?') : patterns.hostOrIp
  return textWithout((text) => problemOfDomainOrIp(text, rules)).meta({ maxLength: 255, pattern })
}

/**
 * Returns the schema of text without problems. One check covers all, because each costs a request over 0.1
 * microseconds.
 */
function textWithout(problemOf: (text: string) => string | null): z.ZodString {
  return requiredText().check(({ value, issues }) => {
    const message = problemOf(value)
    if (message !== null) issues.push({ code: 'custom', message, input: value })
  })
}

/** Returns the schema of a status, which must be exactly one of those configured. */
export function licenseStatus({ statuses }: LicenseRules): z.ZodEnum<Record<string, string>> {
  return z.enum(statuses, { error: missingOr(`must be one of ${statuses.join(', ')}`) })
}
