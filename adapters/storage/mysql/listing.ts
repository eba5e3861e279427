import type {
  ClientList,
  CredentialList,
  CredentialPage,
  LicenseList,
  LicensePage,
  ListPage,
  ResellerList,
  StorageListing,
} from 'utility-api/storage'
import type { Access, Queries } from './session.ts'
import { cutPage, pageMark, toPageMark, toSeq } from '../shared/list-pages.ts'
import { listedClientColumns, toListedClient, type ListedClientRow } from '../shared/client-row.ts'
import { credentialColumns, toListedCredential, type ListedCredentialRow } from '../shared/credential-row.ts'
import { licenseColumns, toLicense, type LicenseRow } from '../shared/license-row.ts'
import { resellerColumns, toReseller, type ResellerRow } from '../shared/reseller-row.ts'

/**
 * Selects the rows after a mark. Written this way, the first part is a range of the index, which a comparison of pairs
 * would not be.
 *
 * A column before it in the index is compared with two inequalities, and comes first in the order: for an equality, the
 * planner reads each page of a long list from the start of the list.
 */
const afterMark = (id: string): string => `created_at >= ? AND (created_at > ? OR ${id} > ?)`

/**
 * Returns how many rows to read for a page, with one more to see whether there is a next page. A bound number is a
 * floating-point number, which no version accepts in LIMIT, so the number is part of the text. It is a power of two,
 * because each text is one more prepared statement for each connection, and a server holds few.
 */
const rowsFor = (limit: number): number => 2 ** Math.ceil(Math.log2(limit + 1))

const listClients = (limit: number): string => `
  SELECT ${listedClientColumns} FROM utility_api_clients
  WHERE ${afterMark('client_id')} ORDER BY created_at, client_id LIMIT ${rowsFor(limit)}`

const listResellers = (limit: number): string => `
  SELECT ${resellerColumns} FROM utility_api_resellers
  WHERE ${afterMark('reseller_id')} ORDER BY created_at, reseller_id LIMIT ${rowsFor(limit)}`

const listCredentials = (limit: number, ofOwner: boolean): string => `
  SELECT kind, ${credentialColumns} FROM utility_api_credentials
  WHERE kind >= ? AND kind <= ? AND ${afterMark('id')} ${ofOwner ? 'AND owner_id = ?' : ''}
  ORDER BY kind, created_at, id LIMIT ${rowsFor(limit)}`

const licenses = `SELECT seq, ${licenseColumns} FROM utility_api_licenses`

const listLicenses = (limit: number): string =>
  `${licenses} WHERE seq > ? ORDER BY seq LIMIT ${rowsFor(limit)}`

const listLicensesOfReseller = (limit: number): string =>
  `${licenses} WHERE reseller_id >= ? AND reseller_id <= ? AND seq > ? ORDER BY reseller_id, seq LIMIT ${rowsFor(limit)}`

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = ?`

type NumberedLicense = LicenseRow & { readonly seq: number }

/** Returns the lists. */
export function listingOf({ read }: Access): StorageListing {
  return {
    clients: (page, call) => read(call, (db) => clientPage(db, page)),
    resellers: (page, call) => read(call, (db) => resellerPage(db, page)),
    credentials: (page, call) => read(call, (db) => credentialPage(db, page)),
    licenses: (page, call) => read(call, (db) => licensePage(db, page)),
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

async function licensePage(db: Queries, { resellerId, after, limit }: LicensePage): Promise<LicenseList> {
  const seq = toSeq(after)
  const rows =
    resellerId === undefined
      ? await db.rows<NumberedLicense>(listLicenses(limit), seq)
      : await db.rows<NumberedLicense>(listLicensesOfReseller(limit), resellerId, resellerId, seq)
  const { page, ...next } = cutPage(rows, limit, (row) => String(row.seq))
  return { licenses: page.map(toLicense), ...next }
}
