import type { Client, ListedClient, StorageListing } from 'utility-api/storage'
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
      const { rows, ...next } = open().credentials[kind].page(page, isWanted)
      return { credentials: rows.map((credential) => ({ ...credential, kind })), ...next }
    },
    licenses: ({ resellerId, ...page }) => {
      const isWanted = (row: { readonly resellerId: string }): boolean =>
        row.resellerId === (resellerId ?? row.resellerId)
      const { rows, ...next } = open().licenses.page(page, isWanted)
      return { licenses: rows.map((license) => ({ ...license })), ...next }
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
