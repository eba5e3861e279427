import type {
  ClientList,
  CredentialList,
  CredentialPage,
  ListPage,
  ResellerList,
  StorageCall,
  StorageListing,
} from 'utility-api/storage'
import { cutPage, pageMark, toPageMark, toSeq } from '../shared/list-pages.ts'
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
import { anotherTurn } from '../shared/timers.ts'
import type { SqliteAccess } from './access.ts'
import type { SqliteQueries } from './driver.ts'
import { licensePage } from './license-list.ts'

// Values have a plus where they could change the plan: SQLite would otherwise plan anew for each of them.
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
const listTokensOfOwner = `
  ${credentials} AND rowid <= ? AND kind = 'access_token' AND owner_id = +? ORDER BY rowid LIMIT +?`
const endOfStretch =
  'SELECT rowid AS seq FROM utility_api_credentials WHERE rowid > ? ORDER BY rowid LIMIT 1 OFFSET ?'

const countLicenses = 'SELECT count(*) AS count FROM utility_api_licenses'
const countLicensesOfReseller = `${countLicenses} WHERE reseller_id = ?`

/** How many rows to search at once for those of one owner, which takes some milliseconds. */
const stretch = 20_000

/** A row that its table numbers in order of insertion. */
type Numbered<Row> = Row & { readonly seq: number | bigint }

/** Returns the lists, each read by an index that has its order. */
export function listingOf(access: SqliteAccess): StorageListing {
  const { read } = access
  /** Reads a page in a turn of its own: following a list to its end would otherwise block the event loop. */
  async function readPage<Page>(call: StorageCall, work: (db: SqliteQueries) => Page): Promise<Page> {
    await anotherTurn()
    return read(call, work)
  }

  return {
    clients: (page, call) => readPage(call, (db) => clientPage(db, page)),
    resellers: (page, call) => readPage(call, (db) => resellerPage(db, page)),
    credentials: async (page, call) => {
      const { kind, ownerId } = page
      if (kind === 'access_token' && ownerId !== undefined) {
        return credentialList(await tokensOfOwner(readPage, { ...page, ownerId }, call), page)
      }
      return credentialList(await readPage(call, (db) => credentialRows(db, page)), page)
    },
    licenses: (page, call) => licensePage(access, page, call),
    countLicenses: ({ resellerId }, call) => read(call, (db) => countOf(db, resellerId)),
  }
}

type ReadPage = <Page>(call: StorageCall, work: (db: SqliteQueries) => Page) => Promise<Page>

function clientPage(db: SqliteQueries, { after, limit }: ListPage): ClientList {
  const { createdAt, id } = toPageMark(after)
  const rows = db.all<ListedClientRow>(listClients, createdAt, id, limit + 1)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.client_id))
  return { clients: page.map(toListedClient), ...next }
}

function resellerPage(db: SqliteQueries, { after, limit }: ListPage): ResellerList {
  const { createdAt, id } = toPageMark(after)
  const rows = db.all<ResellerRow>(listResellers, createdAt, id, limit + 1)
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.reseller_id))
  return { resellers: page.map(toReseller), ...next }
}

function credentialList(rows: Numbered<ListedCredentialRow>[], { limit }: CredentialPage): CredentialList {
  const { page, ...next } = cutPage(rows, limit, ({ seq }) => String(seq))
  return { credentials: page.map(toListedCredential), ...next }
}

/**
 * Searches all tokens, stretch by stretch. An index by owner would write a random page for each exchange.
 */
async function tokensOfOwner(
  readPage: ReadPage,
  { ownerId, after, limit }: CredentialPage & { readonly ownerId: string },
  call: StorageCall,
): Promise<Numbered<ListedCredentialRow>[]> {
  const found: Numbered<ListedCredentialRow>[] = []
  let from: number | undefined = toSeq(after)
  while (from !== undefined && found.length <= limit) {
    const start: number = from
    const wanted = limit + 1 - found.length
    // oxlint-disable-next-line no-await-in-loop -- stretch after stretch
    const { rows, end } = await readPage(call, (db) => tokensInStretch(db, start, ownerId, wanted))
    found.push(...rows)
    from = end
  }
  return found
}

function tokensInStretch(
  db: SqliteQueries,
  from: number,
  ownerId: string,
  limit: number,
): { readonly rows: Numbered<ListedCredentialRow>[]; readonly end: number | undefined } {
  const last = db.get<{ seq: number | bigint }>(endOfStretch, from, stretch - 1)
  const end = last === null ? undefined : Number(last.seq)
  return { rows: db.all(listTokensOfOwner, from, end ?? Number.MAX_SAFE_INTEGER, ownerId, limit), end }
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

function countOf(db: SqliteQueries, resellerId: string | undefined): number {
  const row =
    resellerId === undefined
      ? db.get<{ count: number }>(countLicenses)
      : db.get<{ count: number }>(countLicensesOfReseller, resellerId)
  return Number(row?.count)
}
