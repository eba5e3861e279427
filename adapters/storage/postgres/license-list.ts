import type { LicenseList, LicensePage, StorageCall } from 'utility-api/storage'
import { licenseList, toSeq, type Numbered } from '../shared/list-pages.ts'
import { licenseColumns, type LicenseRow } from '../shared/rows.ts'
import type { PostgresAccess } from './access.ts'

/** Returns a page of licenses. Those of several domains are read apart: no index has the order of all. */
export async function licensePage(
  db: PostgresAccess,
  page: LicensePage,
  call: StorageCall,
): Promise<LicenseList> {
  const { comparedDomains = [undefined], limit } = page
  const lists = await Promise.all(comparedDomains.map((form) => licensesOf(db, form, page, call)))
  return licenseList(lists.flat(), limit)
}

function licensesOf(
  db: PostgresAccess,
  form: string | undefined,
  { resellerId, status, after, limit }: LicensePage,
  call: StorageCall,
): Promise<Numbered<LicenseRow>[]> {
  const values: unknown[] = [toSeq(after), limit + 1]
  const equal = (column: string, value: string | undefined): string =>
    value === undefined ? '' : `AND ${column} = $${values.push(value)} `
  const filters = equal('compared_domain', form) + equal('reseller_id', resellerId) + equal('status', status)
  return db.rows(
    call,
    `SELECT seq, ${licenseColumns} FROM utility_api_licenses WHERE seq > $1 ${filters}ORDER BY seq LIMIT $2`,
    ...values,
  )
}
