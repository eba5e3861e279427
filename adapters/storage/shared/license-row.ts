import type { License, LicenseChange, LicensePatch } from 'utility-api/storage'
import type { ColumnValue, IntegerColumn } from './columns.ts'

export const licenseColumns: string =
  'license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at'

export interface LicenseRow {
  readonly license_key: string
  readonly registered_to: string
  readonly domain_or_ip: string
  readonly status: string
  readonly reseller_id: string
  readonly created_at: IntegerColumn
  readonly updated_at: IntegerColumn
}

/** Returns the values of {@link licenseColumns}. */
export function licenseValues(license: License): ColumnValue[] {
  const { licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt } = license
  return [licenseKey, registeredTo, domainOrIp, status, resellerId, createdAt, updatedAt]
}

/** Returns the values that a reseller may change. What was not sent is null. */
export function licensePatchValues(patch: LicensePatch): ColumnValue[] {
  const { registeredTo = null, domainOrIp = null, status = null } = patch
  return [registeredTo, domainOrIp, status]
}

/** Returns the values that the owner of the service may change: the reseller comes last. */
export function licenseChangeValues(change: LicenseChange): ColumnValue[] {
  const { resellerId = null } = change
  return [...licensePatchValues(change), resellerId]
}

export function toLicense(row: LicenseRow): License {
  return {
    licenseKey: row.license_key,
    registeredTo: row.registered_to,
    domainOrIp: row.domain_or_ip,
    status: row.status,
    resellerId: row.reseller_id,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}
