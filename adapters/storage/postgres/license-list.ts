import type { LicensePage } from 'utility-api/storage'
import { toEndMark, toSeq, type ListStatement } from '../shared/list-pages.ts'
import { licenseColumns } from '../shared/rows.ts'

export function licenses(
  { resellerId, status, reference, after, limit }: LicensePage,
  form: string | undefined,
): ListStatement {
  const values: (string | number)[] = [toSeq(after), limit + 1]
  const equal = (column: string, value: string | undefined): string =>
    value === undefined ? '' : `AND ${column} = $${values.push(value)} `
  const filters =
    equal('compared_domain', form) +
    equal('reference', reference) +
    equal('reseller_id', resellerId) +
    equal('status', status)
  const text = `SELECT seq, ${licenseColumns} FROM utility_api_licenses WHERE seq > $1 ${filters}ORDER BY seq LIMIT $2`
  return [text, ...values]
}

export function endingLicenses(page: LicensePage, endsBefore: number): ListStatement {
  const { resellerId, limit } = page
  const values = [...toEndMark(page), endsBefore, limit + 1]
  const [filter, reseller] = resellerId === undefined ? ['', []] : ['AND reseller_id = $5', [resellerId]]
  const text = `
    SELECT seq, ${licenseColumns} FROM utility_api_licenses
    WHERE (expires_at, seq) > ($1, $2) AND expires_at < $3 ${filter} ORDER BY expires_at, seq LIMIT $4`
  return [text, ...values, ...reseller]
}
