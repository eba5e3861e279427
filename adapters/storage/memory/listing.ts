import type { Client, LicensePage, ListedClient, NewLicense, StorageListing } from 'utility-api/storage'
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

function isListed({ resellerId, comparedDomains, status }: LicensePage, license: NewLicense): boolean {
  if (license.resellerId !== (resellerId ?? license.resellerId)) return false
  if (license.status !== (status ?? license.status)) return false
  return comparedDomains === undefined || comparedDomains.includes(license.comparedDomain)
}
