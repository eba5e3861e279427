import type { LicenseChange } from '../domain/license.ts'
import { problemOfDomainOrIp, problemOfLicenseText, type LicenseRules } from '../domain/license-rules.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { demandIdentifier } from './checks.ts'

type LicenseMethods = Pick<Admin, 'getLicense' | 'updateLicense' | 'deleteLicense'>

export function licenseMethods(parts: AdminParts): LicenseMethods {
  const { storage, clock } = parts

  return {
    async getLicense(licenseKey) {
      const stored = storedLicenseKey(parts, licenseKey)
      return stored === null ? null : storage.findLicense(stored, storageCall())
    },
    async updateLicense(licenseKey, change) {
      demand(Object.keys(change).length > 0, 'There is nothing to change.')
      demandFields(change, parts)
      const stored = storedLicenseKey(parts, licenseKey)
      return stored !== null && storage.changeLicense(stored, change, clock.now(), storageCall())
    },
    async deleteLicense(licenseKey) {
      const stored = storedLicenseKey(parts, licenseKey)
      return stored !== null && storage.deleteLicense(stored, storageCall())
    },
  }
}

/** Checks the fields by the rules of the operations. */
function demandFields(fields: LicenseChange, rules: LicenseRules): void {
  const { registeredTo, domainOrIp, status, resellerId } = fields
  demandNoProblem('registeredTo', registeredTo, problemOfTrimmedText)
  demandNoProblem('domainOrIp', domainOrIp, (text) => problemOfDomainOrIp(text, rules))
  const isStatus = status === undefined || rules.statuses.includes(status)
  demand(isStatus, `status must be one of ${rules.statuses.join(', ')}.`)
  demandIdentifier('resellerId', resellerId)
}

/** The operations trim what they are sent, so no text of theirs has spaces at its ends. */
function problemOfTrimmedText(text: string): string | null {
  return text === text.trim() ? problemOfLicenseText(text) : 'must not begin or end with a space'
}

function demandNoProblem(
  name: string,
  text: string | undefined,
  problemOf: (text: string) => string | null,
): void {
  const problem = text === undefined ? null : problemOf(text)
  demand(problem === null, `${name} ${problem}.`)
}
