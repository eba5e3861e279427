import { z } from 'zod'
import { problemOfDomainOrIp, problemOfLicenseText, type LicenseRules } from '../domain/license-rules.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { TimedStorage } from '../ports/timed-storage.ts'
import { missingOr, requiredText } from './input-schemas.ts'

/** What both license operations work with. */
export interface LicenseParts extends LicenseRules {
  readonly storage: TimedStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
}

/** What both license operations are grouped by. */
export const licenseTag = { name: 'Licenses', description: 'Resellers create and change licenses.' }

/** Whom a license is registered to. */
export function registeredUser(): z.ZodString {
  return textWithout(problemOfLicenseText)
}

/** What a license is bound to. */
export function domainOrIp(rules: LicenseRules): z.ZodString {
  return textWithout((text) => problemOfDomainOrIp(text, rules))
}

/** Text in which nothing is found wrong. One check for all that may be: each costs a request a good tenth of a microsecond. */
function textWithout(problemOf: (text: string) => string | null): z.ZodString {
  return requiredText().check(({ value, issues }) => {
    const message = problemOf(value)
    if (message !== null) issues.push({ code: 'custom', message, input: value })
  })
}

/** One of the configured statuses, exactly. */
export function licenseStatus({ statuses }: LicenseRules): z.ZodEnum<Record<string, string>> {
  return z.enum(statuses, { error: missingOr(`must be one of ${statuses.join(', ')}`) })
}
