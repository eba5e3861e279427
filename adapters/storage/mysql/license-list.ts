import type { LicensePage } from 'utility-api/storage'
import { toEndMark, toSeq, type ListStatement } from '../shared/list-pages.ts'
import { licenseColumns } from '../shared/rows.ts'

/**
 * Reads a range of the index whose order the list has. The first column is compared with two inequalities, because for
 * an equality, the planner reads each page of a long list from the start of the list.
 */
export function licenses(
  { resellerId, status, reference, after, limit }: LicensePage,
  form: string | undefined,
): ListStatement {
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
  const text = `
    SELECT seq, ${licenseColumns} FROM utility_api_licenses${index}
    WHERE seq > ? ${filters}ORDER BY ${order} LIMIT ${rowsFor(limit)}`
  return [text, ...values]
}

export function endingLicenses(page: LicensePage, endsBefore: number): ListStatement {
  const { resellerId, limit } = page
  const [end, seq] = toEndMark(page)
  const [filter, reseller] = resellerId === undefined ? ['', []] : ['AND reseller_id = ?', [resellerId]]
  const text = `
    SELECT seq, ${licenseColumns} FROM utility_api_licenses FORCE INDEX (expires_at)
    WHERE expires_at >= ? AND (expires_at > ? OR seq > ?) AND expires_at < ? ${filter}
    ORDER BY expires_at, seq LIMIT ${rowsFor(limit)}`
  return [text, end, end, seq, endsBefore, ...reseller]
}

/**
 * Returns how many rows to read for a page, with one more to see whether there is a next page. A bound number is a
 * floating-point number, which no version accepts in LIMIT, so the number is part of the text. It is a power of two,
 * because each text is one more prepared statement for each connection, and a server holds few.
 */
export function rowsFor(limit: number): number {
  return 2 ** Math.ceil(Math.log2(limit + 1))
}
