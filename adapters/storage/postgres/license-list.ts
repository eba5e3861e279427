import type { LicenseList, LicensePage } from 'utility-api/storage'
import { endingList, licenseList, toEndMark, toSeq, type Numbered } from '../shared/list-pages.ts'
import { licenseColumns, type LicenseRow } from '../shared/rows.ts'
import type { Queries } from '../shared/queries.ts'

/** Returns a page of licenses. Those of several domains are read apart, because no index has the order of all. */
export async function licensePage(db: Queries, page: LicensePage): Promise<LicenseList> {
  const { comparedDomains = [undefined], limit, endsBefore } = page
  if (endsBefore !== undefined) return endingList(await licensesThatEnd(db, page, endsBefore), limit)
  const lists = await Promise.all(comparedDomains.map((form) => licensesOf(db, form, page)))
  return licenseList(lists.flat(), limit)
}

function licensesOf(
  db: Queries,
  form: string | undefined,
  { resellerId, status, reference, after, limit }: LicensePage,
): Promise<Numbered<LicenseRow>[]> {
  const values: (string | number)[] = [toSeq(after), limit + 1]
  const equal = (column: string, value: string | undefined): string =>
    value === undefined ? '' : `AND ${column} = $${values.push(value)} `
  const filters =
    equal('compared_domain', form) +
    equal('reference', reference) +
    equal('reseller_id', resellerId) +
    equal('status', status)
  return db.rows(
    `SELECT seq, ${licenseColumns} FROM utility_api_licenses WHERE seq > $1 ${filters}ORDER BY seq LIMIT $2`,
    ...values,
  )
}

function licensesThatEnd(
  db: Queries,
  page: LicensePage,
  endsBefore: number,
): Promise<Numbered<LicenseRow>[]> {
  const { resellerId, limit } = page
  return db.rows(
    `SELECT seq, ${licenseColumns} FROM utility_api_licenses
     WHERE (expires_at, seq) > ($1, $2) AND expires_at < $3 ${resellerId === undefined ? '' : 'AND reseller_id = $5'}
     ORDER BY expires_at, seq LIMIT $4`,
    ...toEndMark(page),
    endsBefore,
    limit + 1,
    ...(resellerId === undefined ? [] : [resellerId]),
  )
}
