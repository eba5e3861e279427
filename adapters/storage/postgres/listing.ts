import type { StorageCall, StorageListing } from 'utility-api/storage'
import { endingLicenses, licenses } from './license-list.ts'
import { listsOf, toPageMark, type ListStatement, type ListStatements } from '../shared/list-pages.ts'
import type { PostgresAccess } from './access.ts'
import { listedClientColumns, listedCredentialColumns, resellerColumns } from '../shared/rows.ts'

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
  return listsOf(sql, async <Row>(call: StorageCall, ...statements: ListStatement[]) =>
    (await Promise.all(statements.map((each) => on(call).rows<Row>(...each)))).flat(),
  )
}

const sql: ListStatements = {
  clients: ({ after, limit }) => [listClients, ...toPageMark(after), limit + 1],
  resellers: ({ after, limit }) => [listResellers, ...toPageMark(after), limit + 1],
  credentials: ({ kind, ownerId, after, limit }) => {
    const values = [...toPageMark(after), limit + 1]
    if (ownerId !== undefined) return [listOfOwner, ...values, kind, ownerId]
    if (kind === 'access_token') return [listTokens, ...values]
    return [listOthers, ...values, kind]
  },
  licenses,
  endingLicenses,
  countLicenses: (resellerId) =>
    resellerId === undefined ? [countLicenses] : [countLicensesOfReseller, resellerId],
}
