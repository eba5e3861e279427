import type { CredentialPage, StorageListing } from 'utility-api/storage'
import { licensePage } from './license-list.ts'
import { clientList, credentialList, resellerList, toPageMark } from '../shared/list-pages.ts'
import type { PostgresAccess } from './access.ts'
import type { Queries } from '../shared/queries.ts'
import {
  listedClientColumns,
  listedCredentialColumns,
  resellerColumns,
  type ListedCredentialRow,
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
// No index has access tokens in order, because it would cost every exchange a page.
const listTokens = `${credentials} AND kind = 'access_token' ${inOrder}`
// The kind is tested twice so that the planner sees that the index without access tokens has all the rows.
const listOthers = `${credentials} AND kind <> 'access_token' AND kind = $4 ${inOrder}`
const listOfOwner = `${credentials} AND kind = $4 AND owner_id = $5 ${inOrder}`

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = $1`

/** Returns the lists. */
export function listingOf({ on }: PostgresAccess): StorageListing {
  return {
    clients: async ({ after, limit }, call) =>
      clientList(await on(call).rows(listClients, ...toPageMark(after), limit + 1), limit),
    resellers: async ({ after, limit }, call) =>
      resellerList(await on(call).rows(listResellers, ...toPageMark(after), limit + 1), limit),
    credentials: async (page, call) => credentialList(await credentialRows(on(call), page), page.limit),
    licenses: (page, call) => licensePage(on(call), page),
    countLicenses: async ({ resellerId }, call) => {
      const [row] =
        resellerId === undefined
          ? await on(call).rows<{ count: string }>(countLicenses)
          : await on(call).rows<{ count: string }>(countLicensesOfReseller, resellerId)
      return Number(row?.count)
    },
  }
}

function credentialRows(
  db: Queries,
  { kind, ownerId, after, limit }: CredentialPage,
): Promise<ListedCredentialRow[]> {
  const values = [...toPageMark(after), limit + 1]
  if (ownerId !== undefined) return db.rows(listOfOwner, ...values, kind, ownerId)
  if (kind === 'access_token') return db.rows(listTokens, ...values)
  return db.rows(listOthers, ...values, kind)
}
