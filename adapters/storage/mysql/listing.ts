import type { StorageCall, StorageListing } from 'utility-api/storage'
import type { MysqlAccess } from './access.ts'
import { endingLicenses, licenses, rowsFor } from './license-list.ts'
import { listsOf, toPageMark, type ListStatement, type ListStatements } from '../shared/list-pages.ts'
import { listedClientColumns, listedCredentialColumns, resellerColumns } from '../shared/rows.ts'

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
export function listingOf({ read }: MysqlAccess): StorageListing {
  return listsOf(sql, <Row>(call: StorageCall, ...statements: ListStatement[]) =>
    read(call, async (db) => {
      const found: Row[] = []
      // oxlint-disable-next-line no-await-in-loop -- a connection answers one statement at a time
      for (const each of statements) found.push(...(await db.rows<Row>(...each)))
      return found
    }),
  )
}

const sql: ListStatements = {
  clients: ({ after, limit }) => [listClients(limit), ...markValues(after)],
  resellers: ({ after, limit }) => [listResellers(limit), ...markValues(after)],
  credentials: ({ kind, ownerId, after, limit }) => {
    const owner = ownerId === undefined ? [] : [ownerId]
    return [listCredentials(limit, ownerId !== undefined), kind, kind, ...markValues(after), ...owner]
  },
  licenses,
  endingLicenses,
  countLicenses: (resellerId) =>
    resellerId === undefined ? [countLicenses] : [countLicensesOfReseller, resellerId],
}

function markValues(after: string | undefined): (string | number)[] {
  const [createdAt, id] = toPageMark(after)
  return [createdAt, createdAt, id]
}
