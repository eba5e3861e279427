import { compared } from '../domain/compared-domain.ts'
import { toLicense, type LicenseChange } from '../domain/license.ts'
import { problemOfDomainOrIp, problemOfLicenseText, type LicenseRules } from '../domain/license-rules.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { issueLicense, type Repeatable } from '../storage/issue-license.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { demandIdentifier, demandInteger } from './checks.ts'

const defaultIdempotencyLifetimeSeconds = 7 * 24 * 60 * 60

type LicenseMethods = Pick<Admin, 'createLicense' | 'getLicense' | 'updateLicense' | 'deleteLicense'>

export function licenseMethods(parts: AdminParts): LicenseMethods {
  const { storage, clock } = parts

  /** A wrong id would leave a license that no reseller can change. */
  async function demandReseller(resellerId: string, call: StorageCall): Promise<void> {
    const reseller = await storage.findReseller(resellerId, call)
    demand(reseller !== null, `resellerId: there is no reseller "${resellerId}".`)
  }

  return {
    async createLicense({
      idempotencyKey,
      idempotencyLifetimeSeconds,
      status = parts.statuses[0] ?? '',
      ...given
    }) {
      const fields = { ...given, status }
      demandFields(fields, parts)
      const repeatable = repeatableOf(idempotencyKey, idempotencyLifetimeSeconds)
      const call = storageCall()
      await demandReseller(fields.resellerId, call)
      return toLicense(await issueLicense(parts, fields, repeatable, call))
    },
    async getLicense(licenseKey) {
      const stored = storedLicenseKey(parts, licenseKey)
      const license = stored === null ? null : await storage.findLicense(stored, storageCall())
      return license && toLicense(license)
    },
    async updateLicense(licenseKey, change) {
      demand(Object.keys(change).length > 0, 'There is nothing to change.')
      demandFields(change, parts)
      const call = storageCall()
      if (change.resellerId !== undefined) await demandReseller(change.resellerId, call)
      const stored = storedLicenseKey(parts, licenseKey)
      return stored !== null && storage.changeLicense(stored, compared(change), clock.now(), call)
    },
    async deleteLicense(licenseKey) {
      const stored = storedLicenseKey(parts, licenseKey)
      return stored !== null && storage.deleteLicense(stored, storageCall())
    },
  }
}

/**
 * Returns what makes the call repeatable. The owner's keys begin with a space, which no key in a header can contain, so
 * that they never equal a reseller's.
 */
function repeatableOf(
  idempotencyKey: string | undefined,
  lifetimeSeconds = defaultIdempotencyLifetimeSeconds,
): Repeatable | undefined {
  demandInteger('idempotencyLifetimeSeconds', lifetimeSeconds, 31_536_000)
  if (idempotencyKey === undefined) return undefined
  demandIdentifier('idempotencyKey', idempotencyKey)
  return { idempotencyKey: ` ${idempotencyKey}`, lifetimeMs: lifetimeSeconds * 1000 }
}

/** Checks the fields by the rules of the operations. */
function demandFields(fields: LicenseChange, rules: LicenseRules): void {
  const { registeredTo, domainOrIp, status, resellerId } = fields
  demandNoProblem('registeredTo', registeredTo, problemOfLicenseText)
  demandNoProblem('domainOrIp', domainOrIp, (text) => problemOfDomainOrIp(text, rules))
  const isStatus = status === undefined || rules.statuses.includes(status)
  demand(isStatus, `status must be one of ${rules.statuses.join(', ')}; the option statuses adds others.`)
  demandIdentifier('resellerId', resellerId)
}

function demandNoProblem(
  name: string,
  text: string | undefined,
  problemOf: (text: string) => string | null,
): void {
  const problem = text === undefined ? null : problemOf(text)
  demand(problem === null, `${name} ${problem}.`)
}
