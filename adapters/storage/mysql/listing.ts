import type {
  ClientList,
  CredentialList,
  CredentialPage,
  ListPage,
  ResellerList,
  StorageListing,
} from 'utility-api/storage'
import type { Access } from './access.ts'
import { licensePage } from './license-list.ts'
import { rowsFor } from './list-limit.ts'
import type { Queries } from './session.ts'
import { cutPage, pageMark, toPageMark } from '../shared/list-pages.ts'
import {
  listedClientColumns,
  listedCredentialColumns,
  resellerColumns,
  toListedClient,
  toListedCredential,
  toReseller,
  type ListedClientRow,
  type ListedCredentialRow,
  type ResellerRow,
} from '../shared/rows.ts'

/**
 * Selects the rows after a mark. Written this way, the first part is a range of the index, which a comparison of pairs
 * would not be.
 *
 * A column before it in the index is compared with two inequalities, and comes first in the order: for an equality, the
 * planner reads each page of a long list from the start of the list.
 */
const afterMark = (id: string): string => `created_at >= ? AND (created_at > ? OR ${id} > ?)`

const listClients = (limit: number): string => `
  SELECT ${listedClientColumns} FROM utility_api_clients
  WHERE ${afterMark('client_id')} ORDER BY created_at, client_id LIMIT ${rowsFor(limit)}`

const listResellers = (limit: number): string => `
  SELECT ${resellerColumns} FROM utility_api_resellers
  WHERE ${afterMark('reseller_id')} ORDER BY created_at, reseller_id LIMIT ${rowsFor(limit)}`

const listCredentials = (limit: number, ofOwner: boolean): string => `
  SELECT ${listedCredentialColumns} FROM utility_api_credentials
  WHERE kind >= ? AND kind <= ? AND ${afterMark('id')} ${ofOwner ? 'AND owner_id = ?' : ''}
  ORDER BY kind, created_at, id LIMIT ${rowsFor(limit)}`

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = ?`

/** Returns the lists. */
export function listingOf(access: Access): StorageListing {
  const { read } = access
  return {
    clients: (page, call) => read(call, (db) => clientPage(db, page)),
    resellers: (page, call) => read(call, (db) => resellerPage(db, page)),
    credentials: (page, call) => read(call, (db) => credentialPage(db, page)),
    licenses: (page, call) => licensePage(access, page, call),
    countLicenses: ({ resellerId }, call) =>
      read(call, async (db) => {
        const [row] =
          resellerId === undefined
            ? await db.rows<{ count: number }>(countLicenses)
            : await db.rows<{ count: number }>(countLicensesOfReseller, resellerId)
        return Number(row?.count)
      }),
  }
}

async function clientPage(db: Queries, { after, limit }: ListPage): Promise<ClientList> {
  const { createdAt, id } = toPageMark(after)
  const rows = await db.rows<ListedClientRow>(listClients(limit), createdAt, createdAt, id)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.client_id))
  return { clients: page.map(toListedClient), ...next }
}

async function resellerPage(db: Queries, { after, limit }: ListPage): Promise<ResellerList> {
  const { createdAt, id } = toPageMark(after)
  const rows = await db.rows<ResellerRow>(listResellers(limit), createdAt, createdAt, id)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.reseller_id))
  return { resellers: page.map(toReseller), ...next }
}

async function credentialPage(
  db: Queries,
  { kind, ownerId, after, limit }: CredentialPage,
): Promise<CredentialList> {
  const { createdAt, id } = toPageMark(after)
  const values = [kind, kind, createdAt, createdAt, id, ...(ownerId === undefined ? [] : [ownerId])]
  const rows = await db.rows<ListedCredentialRow>(listCredentials(limit, ownerId !== undefined), ...values)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.id))
  return { credentials: page.map(toListedCredential), ...next }
}
