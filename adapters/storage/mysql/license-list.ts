import type { LicenseList, LicensePage, StorageCall } from 'utility-api/storage'
import { endingList, licenseList, toEndMark, toSeq, type Numbered } from '../shared/list-pages.ts'
import { licenseColumns, type LicenseRow } from '../shared/rows.ts'
import type { MysqlAccess } from './access.ts'
import type { Queries } from '../shared/queries.ts'

/** Returns a page of licenses. Those of several domains are read apart, because no index has the order of all. */
export async function licensePage(
  access: MysqlAccess,
  page: LicensePage,
  call: StorageCall,
): Promise<LicenseList> {
  const { comparedDomains = [undefined], limit, endsBefore } = page
  if (endsBefore !== undefined)
    return endingList(await access.read(call, (db) => licensesThatEnd(db, page, endsBefore)), limit)
  const rows = await access.read(call, async (db) => {
    const found: Numbered<LicenseRow>[] = []
    // oxlint-disable-next-line no-await-in-loop -- a connection answers one statement at a time
    for (const form of comparedDomains) found.push(...(await licensesOf(db, form, page)))
    return found
  })
  return licenseList(rows, limit)
}

/**
 * Reads a range of the index whose order the list has. The first column is compared with two inequalities, because for
 * an equality, the planner reads each page of a long list from the start of the list.
 */
function licensesOf(
  db: Queries,
  form: string | undefined,
  { resellerId, status, reference, after, limit }: LicensePage,
): Promise<Numbered<LicenseRow>[]> {
  const values: (string | number)[] = [toSeq(after)]
  let [index, filters, order] = ['', '', 'seq']
  const between = (column: string, value: string, hint: string): void => {
    values.push(value, value)
    ;[index, filters, order] = [hint, `AND ${column} >= ? AND ${column} <= ? `, `${column}, seq`]
  }
  const equal = (column: string, value: string | undefined): void => {
    if (value === undefined) return
    values.push(value)
    filters += `AND ${column} = ? `
  }
  if (form !== undefined) between('compared_domain', form, ' FORCE INDEX (compared_domain)')
  else if (reference !== undefined) between('reference', reference, ' FORCE INDEX (reference)')
  else if (resellerId !== undefined) between('reseller_id', resellerId, '')
  if (form !== undefined) equal('reference', reference)
  if ((form ?? reference) !== undefined) equal('reseller_id', resellerId)
  equal('status', status)
  return db.rows(
    `SELECT seq, ${licenseColumns} FROM utility_api_licenses${index}
     WHERE seq > ? ${filters}ORDER BY ${order} LIMIT ${rowsFor(limit)}`,
    ...values,
  )
}

function licensesThatEnd(
  db: Queries,
  page: LicensePage,
  endsBefore: number,
): Promise<Numbered<LicenseRow>[]> {
  const { resellerId, limit } = page
  const [end, seq] = toEndMark(page)
  return db.rows(
    `SELECT seq, ${licenseColumns} FROM utility_api_licenses FORCE INDEX (expires_at)
     WHERE expires_at >= ? AND (expires_at > ? OR seq > ?) AND expires_at < ?
       ${resellerId === undefined ? '' : 'AND reseller_id = ?'}
     ORDER BY expires_at, seq LIMIT ${rowsFor(limit)}`,
    end,
    end,
    seq,
    endsBefore,
    ...(resellerId === undefined ? [] : [resellerId]),
  )
}

/**
 * Returns how many rows to read for a page, with one more to see whether there is a next page. A bound number is a
 * floating-point number, which no version accepts in LIMIT, so the number is part of the text. It is a power of two,
 * because each text is one more prepared statement for each connection, and a server holds few.
 */
export function rowsFor(limit: number): number {
  return 2 ** Math.ceil(Math.log2(limit + 1))
}
