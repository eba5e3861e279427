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
import { cutPage, placeMark, toPlace, toSeq } from './list-pages.ts'
import { toLicense, toListedClient, toListedCredential, toReseller } from './rows.ts'
import type { LicenseRow, ListedClientRow, ListedCredentialRow, ResellerRow } from './rows.ts'
import type { SqliteAccess } from './sqlite-queue.ts'
import type { SqliteQueries } from './sqlite-driver.ts'
import { licenseColumns } from './sqlite-sql.ts'

const listClients = `
  SELECT client_id, redirect_uris, created_at, revoked_at, name FROM utility_api_clients
  WHERE (created_at, client_id) > (?, ?) ORDER BY created_at, client_id LIMIT ?`

const listResellers = `
  SELECT reseller_id, created_at, name FROM utility_api_resellers
  WHERE (created_at, reseller_id) > (?, ?) ORDER BY created_at, reseller_id LIMIT ?`

const credentials = `
  SELECT rowid AS seq, kind, id, owner_id, subject, scope, created_at, expires_at, revoked_at, name
  FROM utility_api_credentials WHERE rowid > ?`

const listTokens = `${credentials} AND kind = 'access_token' ORDER BY rowid LIMIT ?`
// Said twice, so that the index that leaves access tokens out is seen to hold all that is wanted.
const listOthers = `${credentials} AND kind <> 'access_token' AND kind = ? ORDER BY rowid LIMIT ?`
const listOfOwner = `${credentials} AND kind = ? AND owner_id = ? ORDER BY rowid LIMIT ?`

const licenses = `SELECT seq, ${licenseColumns} FROM utility_api_licenses WHERE seq > ?`
const listLicenses = `${licenses} ORDER BY seq LIMIT ?`
const listLicensesOfReseller = `${licenses} AND reseller_id = ? ORDER BY seq LIMIT ?`

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = ?`

/** Rows that their table numbers in order of insertion. */
type Numbered<Row> = Row & { readonly seq: number | bigint }

/** The lists, each by an index that has their order. */
export function listingOf({ read }: SqliteAccess): StorageListing {
  return {
    clients: (page, call) => read(call, (db) => clientPage(db, page)),
    resellers: (page, call) => read(call, (db) => resellerPage(db, page)),
    credentials: (page, call) => read(call, (db) => credentialPage(db, page)),
    licenses: (page, call) => read(call, (db) => licensePage(db, page)),
    countLicenses: ({ resellerId }, call) => read(call, (db) => countOf(db, resellerId)),
  }
}

function clientPage(db: SqliteQueries, { after, limit }: ListPage): ClientList {
  const { createdAt, id } = toPlace(after)
  const rows = db.all<ListedClientRow>(listClients, createdAt, id, limit + 1)
  const { page, ...next } = cutPage(rows, limit, (row) => placeMark(row.created_at, row.client_id))
  return { clients: page.map(toListedClient), ...next }
}

function resellerPage(db: SqliteQueries, { after, limit }: ListPage): ResellerList {
  const { createdAt, id } = toPlace(after)
  const rows = db.all<ResellerRow>(listResellers, createdAt, id, limit + 1)
  const { page, ...next } = cutPage(rows, limit, (row) => placeMark(row.created_at, row.reseller_id))
  return { resellers: page.map(toReseller), ...next }
}

function credentialPage(db: SqliteQueries, page: CredentialPage): CredentialList {
  const rows = credentialRows(db, page)
  const { page: cut, ...next } = cutPage(rows, page.limit, ({ seq }) => String(seq))
  return { credentials: cut.map(toListedCredential), ...next }
}

function credentialRows(
  db: SqliteQueries,
  { kind, ownerId, after, limit }: CredentialPage,
): Numbered<ListedCredentialRow>[] {
  const seq = toSeq(after)
  if (ownerId !== undefined) return db.all(listOfOwner, seq, kind, ownerId, limit + 1)
  if (kind === 'access_token') return db.all(listTokens, seq, limit + 1)
  return db.all(listOthers, seq, kind, limit + 1)
}

function licensePage(db: SqliteQueries, { resellerId, after, limit }: LicensePage): LicenseList {
  const rows =
    resellerId === undefined
      ? db.all<Numbered<LicenseRow>>(listLicenses, toSeq(after), limit + 1)
      : db.all<Numbered<LicenseRow>>(listLicensesOfReseller, toSeq(after), resellerId, limit + 1)
  const { page, ...next } = cutPage(rows, limit, ({ seq }) => String(seq))
  return { licenses: page.map(toLicense), ...next }
}

function countOf(db: SqliteQueries, resellerId: string | undefined): number {
  const row =
    resellerId === undefined
      ? db.get<{ count: number }>(countLicenses)
      : db.get<{ count: number }>(countLicensesOfReseller, resellerId)
  return Number(row?.count)
}
