import type { LicenseRules } from '../domain/license-rules.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyGenerator } from '../ports/key-generator.ts'
import type { TimedStorage } from '../ports/timed-storage.ts'

/** What both license operations work with. */
export interface LicenseParts extends LicenseRules {
  readonly storage: TimedStorage
  readonly clock: Clock
  readonly keyGenerator: KeyGenerator
}

/** What both license operations are grouped by. */
export const licenseTag = { name: 'Licenses', description: 'Resellers create and change licenses.' }
