import type { CredentialPage, StorageListing } from 'utility-api/storage'
import type { MysqlAccess } from './access.ts'
import { licensePage, rowsFor } from './license-list.ts'
import type { Queries } from '../shared/queries.ts'
import { clientList, credentialList, resellerList, toPageMark } from '../shared/list-pages.ts'
import {
  listedClientColumns,
  listedCredentialColumns,
  resellerColumns,
  type ListedCredentialRow,
} from '../shared/rows.ts'

/**
 * Selects the rows after a mark. Written this way, the first part is a range of the index, which a comparison of pairs
 * would not be.
 *
 * A column before it in the index is compared with two inequalities, and comes first in the order, because for an
 * equality, the planner reads each page of a long list from the start of the list.
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
export function listingOf(access: MysqlAccess): StorageListing {
  const { read } = access
  return {
    clients: ({ after, limit }, call) =>
      read(call, async (db) => clientList(await db.rows(listClients(limit), ...markValues(after)), limit)),
    resellers: ({ after, limit }, call) =>
      read(call, async (db) =>
        resellerList(await db.rows(listResellers(limit), ...markValues(after)), limit),
      ),
    credentials: (page, call) =>
      read(call, async (db) => credentialList(await credentialRows(db, page), page.limit)),
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

function markValues(after: string | undefined): (string | number)[] {
  const [createdAt, id] = toPageMark(after)
  return [createdAt, createdAt, id]
}

function credentialRows(
  db: Queries,
  { kind, ownerId, after, limit }: CredentialPage,
): Promise<ListedCredentialRow[]> {
  const values = [kind, kind, ...markValues(after), ...(ownerId === undefined ? [] : [ownerId])]
  return db.rows(listCredentials(limit, ownerId !== undefined), ...values)
}
