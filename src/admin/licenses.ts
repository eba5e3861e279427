import { compared } from '../domain/compared-domain.ts'
import { toLicense, type License, type LicenseChange } from '../domain/license.ts'
import { problemOfDomainOrIp, problemOfLicenseText, type LicenseRules } from '../domain/license-rules.ts'
import { storedLicenseKey } from '../domain/license-key.ts'
import { storageCall, type AdminParts } from './admin-parts.ts'
import type { Admin } from './admin.ts'
import { demand } from '../domain/arguments.ts'
import { refusal, refused } from '../domain/errors.ts'
import { isFound, issueLicense, type Repeatable } from '../storage/issue-license.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import { demandIdentifier } from './checks.ts'

type LicenseMethods = Pick<Admin, 'createLicense' | 'getLicense' | 'updateLicense' | 'deleteLicense'>

export function licenseMethods(parts: AdminParts): LicenseMethods {
  const { storage, clock } = parts

  /** A wrong id would leave a license that no reseller can change. */
  async function demandReseller(resellerId: string, call: StorageCall): Promise<void> {
    const reseller = await storage.findReseller(resellerId, call)
    demand(reseller !== null, `resellerId: there is no reseller "${resellerId}".`)
  }

  /** Returns the stored form of a key of another system. One that would never be found again must not be moved in. */
  function findable(licenseKey: string): string {
    const stored = storedLicenseKey(parts, licenseKey)
    demand(stored !== null && isFound(parts, stored), notFound)
    return stored
  }

  return {
    async createLicense({ reference, expiresAt, licenseKey, createdAt, ...given }) {
      const fields = { status: parts.statuses[0] ?? '', ...given }
      demandFields({ ...fields, ...(reference !== undefined && { reference }) }, parts)
      const call = storageCall()
      await demandReseller(fields.resellerId, call)
      const row = {
        ...fields,
        ...(licenseKey !== undefined && { licenseKey: findable(licenseKey) }),
        ...(createdAt !== undefined && { createdAt: createdAt.getTime() }),
        reference: reference ?? null,
        expiresAt: expiresAt?.getTime() ?? null,
      }
      const { created, ...issued } = await issueLicense(parts, row, repeatableOf(row), call)
      if (created) return { ...toLicense(issued), created }
      if (issued.licenseKey !== (row.licenseKey ?? issued.licenseKey)) throw refused(otherFields)
      const found = await storage.findLicense(issued.licenseKey, call)
      demand(found !== null, `reference: the license that was created for "${reference}" is deleted.`)
      return { ...toLicense(found), created }
    },
    async getLicense(licenseKey) {
      const stored = storedLicenseKey(parts, licenseKey)
      const license = stored === null ? null : await storage.findLicense(stored, storageCall())
      return license && toLicense(license)
    },
    async updateLicense(licenseKey, { expiresAt, ...given }) {
      const change: LicenseChange = {
        ...given,
        ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : expiresAt.getTime() }),
      }
      demand(Object.keys(change).length > 0, 'change must have at least one member.')
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

const notFound =
  'licenseKey must be 1 to 128 characters, none of them control characters, and must not look like a generated key that is mistyped.'

const otherFields = refusal(
  'idempotency_mismatch',
  'reference was used before for another registeredTo, domainOrIp or licenseKey.',
)

/**
 * Returns what makes a license with a reference the only one. Its keys begin with a space, which no key in a header can
 * contain, so that they never equal a reseller's.
 */
function repeatableOf(
  row: Pick<License, 'reference' | 'registeredTo' | 'domainOrIp'>,
): Repeatable | undefined {
  const { reference, registeredTo, domainOrIp } = row
  if (reference === null) return undefined
  const request = [registeredTo, domainOrIp]
  return { idempotencyKey: ` ${reference}`, request, otherFields, lifetimeMs: null }
}

/** Checks the fields by the rules of the operations. */
function demandFields(fields: LicenseChange, rules: LicenseRules): void {
  const { registeredTo, domainOrIp, status, resellerId } = fields
  demandNoProblem('registeredTo', registeredTo, problemOfLicenseText)
  demandNoProblem('domainOrIp', domainOrIp, (text) => problemOfDomainOrIp(text, rules))
  const isStatus = status === undefined || rules.statuses.includes(status)
  demand(isStatus, `status must be one of those in the option statuses: ${rules.statuses.join(', ')}.`)
  demandIdentifier('resellerId', resellerId)
  demandIdentifier('reference', fields.reference ?? undefined)
}

function demandNoProblem(
  name: string,
  text: string | undefined,
  problemOf: (text: string) => string | null,
): void {
  const problem = text === undefined ? null : problemOf(text)
  demand(problem === null, `${name} ${problem}.`)
}
