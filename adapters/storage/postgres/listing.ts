import type {
  ClientList,
  CredentialList,
  CredentialPage,
  ListPage,
  ResellerList,
  StorageCall,
  StorageListing,
} from 'utility-api/storage'
import { licensePage } from './license-list.ts'
import { cutPage, pageMark, toPageMark } from '../shared/list-pages.ts'
import type { PostgresAccess } from './access.ts'
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

const listClients = `
  SELECT ${listedClientColumns} FROM utility_api_clients
  WHERE (created_at, client_id) > ($1, $2) ORDER BY created_at, client_id LIMIT $3`

const listResellers = `
  SELECT ${resellerColumns} FROM utility_api_resellers
  WHERE (created_at, reseller_id) > ($1, $2) ORDER BY created_at, reseller_id LIMIT $3`

const credentials = `
  SELECT ${listedCredentialColumns}
  FROM utility_api_credentials WHERE (created_at, id) > ($1, $2)`

const inOrder = 'ORDER BY created_at, id LIMIT $3'
// No index has access tokens in order: it would cost every exchange a page.
const listTokens = `${credentials} AND kind = 'access_token' ${inOrder}`
// The kind is tested twice so that the planner sees that the index without access tokens has all the rows.
const listOthers = `${credentials} AND kind <> 'access_token' AND kind = $4 ${inOrder}`
const listOfOwner = `${credentials} AND kind = $4 AND owner_id = $5 ${inOrder}`

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = $1`

/** Returns the lists. */
export function listingOf(db: PostgresAccess): StorageListing {
  return {
    clients: (page, call) => clientPage(db, page, call),
    resellers: (page, call) => resellerPage(db, page, call),
    credentials: (page, call) => credentialPage(db, page, call),
    licenses: (page, call) => licensePage(db, page, call),
    countLicenses: async ({ resellerId }, call) => {
      const [row] =
        resellerId === undefined
          ? await db.rows<{ count: string }>(call, countLicenses)
          : await db.rows<{ count: string }>(call, countLicensesOfReseller, resellerId)
      return Number(row?.count)
    },
  }
}

async function clientPage(
  db: PostgresAccess,
  { after, limit }: ListPage,
  call: StorageCall,
): Promise<ClientList> {
  const { createdAt, id } = toPageMark(after)
  const rows = await db.rows<ListedClientRow>(call, listClients, createdAt, id, limit + 1)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.client_id))
  return { clients: page.map(toListedClient), ...next }
}

async function resellerPage(
  db: PostgresAccess,
  { after, limit }: ListPage,
  call: StorageCall,
): Promise<ResellerList> {
  const { createdAt, id } = toPageMark(after)
  const rows = await db.rows<ResellerRow>(call, listResellers, createdAt, id, limit + 1)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.reseller_id))
  return { resellers: page.map(toReseller), ...next }
}

async function credentialPage(
  db: PostgresAccess,
  { kind, ownerId, after, limit }: CredentialPage,
  call: StorageCall,
): Promise<CredentialList> {
  const { createdAt, id } = toPageMark(after)
  const values = [createdAt, id, limit + 1]
  const rows = await (ownerId === undefined
    ? kind === 'access_token'
      ? db.rows<ListedCredentialRow>(call, listTokens, ...values)
      : db.rows<ListedCredentialRow>(call, listOthers, ...values, kind)
    : db.rows<ListedCredentialRow>(call, listOfOwner, ...values, kind, ownerId))
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.id))
  return { credentials: page.map(toListedCredential), ...next }
}
