import type { CredentialPage, StorageCall, StorageListing } from 'utility-api/storage'
import {
  clientList,
  numberedCredentialList,
  resellerList,
  toPageMark,
  toSeq,
  type Numbered,
} from '../shared/list-pages.ts'
import {
  listedClientColumns,
  listedCredentialColumns,
  resellerColumns,
  type ListedCredentialRow,
} from '../shared/rows.ts'
import { anotherTurn } from '../shared/timers.ts'
import type { SqliteAccess } from './access.ts'
import type { Queries } from './statement.ts'
import { licensePage, search } from './license-list.ts'

// Values have a plus where they could change the plan, because SQLite would otherwise plan anew for each of them.
const listClients = `
  SELECT ${listedClientColumns} FROM utility_api_clients
  WHERE (created_at, client_id) > (?, ?) ORDER BY created_at, client_id LIMIT +?`

const listResellers = `
  SELECT ${resellerColumns} FROM utility_api_resellers
  WHERE (created_at, reseller_id) > (?, ?) ORDER BY created_at, reseller_id LIMIT +?`

const credentials = `
  SELECT rowid AS seq, ${listedCredentialColumns}
  FROM utility_api_credentials WHERE rowid > ?`

const listTokens = `${credentials} AND kind = 'access_token' ORDER BY rowid LIMIT +?`
// The kind is tested twice so that the planner sees that the index without access tokens has all the rows.
const listOthers = `${credentials} AND kind <> 'access_token' AND kind = +? ORDER BY rowid LIMIT +?`
const listOfOwner = `${credentials} AND bought IS NULL AND kind = +? AND owner_id = +? ORDER BY rowid LIMIT +?`
// All tokens are searched: an index by owner would write a random page for each exchange.
const listTokensOfOwner = `
  SELECT rowid AS seq, ${listedCredentialColumns} FROM utility_api_credentials
  WHERE kind = 'access_token' AND owner_id = +? AND rowid > ? AND rowid <= ? ORDER BY rowid LIMIT +?`
const findEndOfStretch =
  'SELECT rowid AS seq FROM utility_api_credentials WHERE rowid > ? ORDER BY rowid LIMIT 1 OFFSET ?'

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = ?`

/** Returns the lists, each read by an index that has its order. */
export function listingOf(access: SqliteAccess): StorageListing {
  const { read } = access
  /** Reads a page in its own turn, because following a list to its end would otherwise block the event loop. */
  async function readPage<Page>(call: StorageCall, work: (db: Queries) => Page): Promise<Page> {
    await anotherTurn()
    return read(call, work)
  }

  return {
    clients: ({ after, limit }, call) =>
      readPage(call, (db) => clientList(db.all(listClients, ...toPageMark(after), limit + 1), limit)),
    resellers: ({ after, limit }, call) =>
      readPage(call, (db) => resellerList(db.all(listResellers, ...toPageMark(after), limit + 1), limit)),
    credentials: async (page, call) => {
      const { kind, ownerId, limit } = page
      const rows =
        kind === 'access_token' && ownerId !== undefined
          ? await search<Numbered<ListedCredentialRow>>(access, page, call, {
              findEnd: [findEndOfStretch],
              find: [listTokensOfOwner, ownerId],
            })
          : await readPage(call, (db) => credentialRows(db, page))
      return numberedCredentialList(rows, limit)
    },
    licenses: (page, call) => licensePage(access, page, call),
    countLicenses: ({ resellerId }, call) =>
      read(call, (db) => {
        const ofReseller = resellerId === undefined ? [] : [resellerId]
        const text = resellerId === undefined ? countLicenses : countLicensesOfReseller
        return Number(db.get<{ readonly count: number }>(text, ...ofReseller)?.count)
      }),
  }
}

function credentialRows(
  db: Queries,
  { kind, ownerId, after, limit }: CredentialPage,
): Numbered<ListedCredentialRow>[] {
  const seq = toSeq(after)
  if (ownerId !== undefined) return db.all(listOfOwner, seq, kind, ownerId, limit + 1)
  if (kind === 'access_token') return db.all(listTokens, seq, limit + 1)
  return db.all(listOthers, seq, kind, limit + 1)
}
