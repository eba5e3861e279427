import type {
  Client,
  LicenseList,
  LicensePage,
  ListedClient,
  NewLicense,
  StorageListing,
} from 'utility-api/storage'
import { cutPage, pageMark, toPageMark } from '../shared/list-pages.ts'
import { withoutCompared } from '../shared/rows.ts'
import { copyClient, type Tables } from './data.ts'

function toListed(row: Client): ListedClient {
  const { secretHashes: _, ...client } = copyClient(row)
  return client
}

/** Returns the lists, in order of insertion. */
export function listingOf(tables: Tables): StorageListing {
  return {
    clients: (page) => {
      const { rows, ...next } = tables.clients.page(page)
      return { clients: rows.map(toListed), ...next }
    },
    resellers: (page) => {
      const { rows, ...next } = tables.resellers.page(page)
      return { resellers: rows.map((reseller) => ({ ...reseller })), ...next }
    },
    credentials: ({ kind, ownerId, ...page }) => {
      const isWanted = (row: { readonly ownerId: string }): boolean =>
        row.ownerId === (ownerId ?? row.ownerId)
      const { credentials, lastUses } = tables
      const { rows, ...next } = credentials[kind].page(page, isWanted)
      const listed = rows.map((row) => ({ ...row, kind, lastUsedOn: lastUses.get(row.id) ?? null }))
      return { credentials: listed, ...next }
    },
    licenses: (page) => {
      if (page.endsBefore !== undefined) return endingLicenses(tables, page, page.endsBefore)
      const { rows, ...next } = tables.licenses.page(page, (row) => isListed(page, row))
      return { licenses: rows.map(withoutCompared), ...next }
    },
    countLicenses: ({ resellerId }) => {
      const { licenses } = tables
      if (resellerId === undefined) return licenses.size
      let count = 0
      for (const [, license] of licenses.entries()) if (license.resellerId === resellerId) count += 1
      return count
    },
  }
}

/** Returns a page of licenses in order of their end. Those that end together are in order of their keys. */
function endingLicenses(
  { licenses }: Tables,
  { endsFrom = 0, resellerId, after, limit }: LicensePage,
  endsBefore: number,
): LicenseList {
  const [end, key] = after === undefined ? [endsFrom, ''] : toPageMark(after)
  const rows = [...licenses.entries()].flatMap(([, row]) => {
    const expiresAt = row.expiresAt ?? Infinity
    const isAfter = expiresAt > end || (expiresAt === end && row.licenseKey > key)
    const isWanted = isAfter && expiresAt < endsBefore && row.resellerId === (resellerId ?? row.resellerId)
    return isWanted ? [{ ...row, expiresAt }] : []
  })
  const sorted = rows.toSorted((a, b) => a.expiresAt - b.expiresAt || (a.licenseKey < b.licenseKey ? -1 : 1))
  const { page, ...next } = cutPage(sorted, limit, (row) => pageMark(row.expiresAt, row.licenseKey))
  return { licenses: page.map(withoutCompared), ...next }
}

function isListed(
  { resellerId, comparedDomains, status, reference }: LicensePage,
  license: NewLicense,
): boolean {
  if (license.reference !== (reference ?? license.reference)) return false
  if (license.resellerId !== (resellerId ?? license.resellerId)) return false
  if (license.status !== (status ?? license.status)) return false
  return comparedDomains === undefined || comparedDomains.includes(license.comparedDomain)
}
