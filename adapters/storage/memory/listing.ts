import type { Client, LicensePage, ListedClient, NewLicense, StorageListing } from 'utility-api/storage'
import { withoutCompared } from '../shared/rows.ts'
import { copyClient, type MemoryAccess } from './data.ts'

function toListed(row: Client): ListedClient {
  const { secretHashes: _, ...client } = copyClient(row)
  return client
}

/** Returns the lists, in order of insertion. */
export function listingOf({ open }: MemoryAccess): StorageListing {
  return {
    clients: (page) => {
      const { rows, ...next } = open().clients.page(page)
      return { clients: rows.map(toListed), ...next }
    },
    resellers: (page) => {
      const { rows, ...next } = open().resellers.page(page)
      return { resellers: rows.map((reseller) => ({ ...reseller })), ...next }
    },
    credentials: ({ kind, ownerId, ...page }) => {
      const isWanted = (row: { readonly ownerId: string }): boolean =>
        row.ownerId === (ownerId ?? row.ownerId)
      const { credentials, lastUses } = open()
      const { rows, ...next } = credentials[kind].page(page, isWanted)
      const listed = rows.map((row) => ({ ...row, kind, lastUsedOn: lastUses.get(row.id) ?? null }))
      return { credentials: listed, ...next }
    },
    licenses: (page) => {
      const { rows, ...next } = open().licenses.page(page, (row) => isListed(page, row))
      return { licenses: rows.map(withoutCompared), ...next }
    },
    countLicenses: ({ resellerId }) => {
      const { licenses } = open()
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
