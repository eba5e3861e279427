import type { LicenseList, LicensePage, ListPage, StorageCall } from 'utility-api/storage'
import { endingList, licenseList, toEndMark, toSeq, type Numbered } from '../shared/list-pages.ts'
import { licenseColumns, type LicenseRow } from '../shared/rows.ts'
import { anotherTurn } from '../shared/timers.ts'
import type { SqliteAccess } from './access.ts'
import type { Queries } from './statement.ts'

/**
 * A condition and its value. With the plus, SQLite does not take the value into account when it plans, which it would
 * do anew for each value. That takes longer than finding the licenses of a domain.
 */
type Condition = readonly [sql: string, value: string]

/** How many rows to search at once for the wanted ones, which takes some milliseconds. */
const stretch = 20_000

/** A statement and its first values. */
type Bound = readonly [text: string, ...values: string[]]

/** A search for rows in order of their number. */
interface Search {
  /** Finds the row that ends a stretch: the one after so many others. Null: all rows are wanted. */
  readonly findEnd: Bound | null
  /** Finds the wanted rows of a stretch. */
  readonly find: Bound
  /** Whether it begins at once. Default: in another turn. */
  readonly isLookup?: boolean
}

/** Searches for the rows of a page stretch by stretch, without blocking the event loop. */
export async function search<Row>(
  { read }: SqliteAccess,
  { after, limit }: ListPage,
  call: StorageCall,
  { findEnd, find, isLookup = false }: Search,
): Promise<Row[]> {
  const found: Row[] = []
  let from: number | undefined = toSeq(after)
  while (from !== undefined && found.length <= limit) {
    const start: number = from
    // oxlint-disable-next-line no-await-in-loop -- stretch after stretch
    if (!isLookup) await anotherTurn()
    // oxlint-disable-next-line no-await-in-loop -- as above
    from = await read(call, (db) => {
      const last = findEnd && db.get<{ seq: number | bigint }>(...findEnd, start, stretch - 1)
      const end = last === null ? undefined : Number(last.seq)
      const wanted = limit + 1 - found.length
      found.push(...db.all<Row>(...find, start, end ?? Number.MAX_SAFE_INTEGER, wanted))
      return end
    })
  }
  return found
}

/** Returns a page of licenses, each part of it read in a turn of its own. */
export async function licensePage(
  access: SqliteAccess,
  page: LicensePage,
  call: StorageCall,
): Promise<LicenseList> {
  const { limit, endsBefore } = page
  if (endsBefore !== undefined) {
    await anotherTurn()
    return endingList(await access.read(call, (db) => licensesThatEnd(db, page, endsBefore)), limit)
  }
  const lists = await Promise.all(rangesOf(page).map((range) => rowsOf(access, range, page, call)))
  return licenseList(lists.flat(), limit)
}

/** A range of an index, or of the table, in the order of insertion, and what its rows must pass. */
interface Range {
  readonly of: readonly Condition[]
  readonly filters: readonly Condition[]
}

/** Returns the ranges that have the wanted licenses, because no index has the order of several domains. */
function rangesOf({ resellerId, comparedDomains, status, reference }: LicensePage): Range[] {
  // Filters on indexed columns have a plus, so that the planner does not take their index.
  const ofReseller = equal('+reseller_id', resellerId)
  const withStatus = equal('status', status)
  if (comparedDomains !== undefined) {
    const filters = [...equal('+reference', reference), ...ofReseller, ...withStatus]
    return comparedDomains.map((form) => ({ of: equal('compared_domain', form), filters }))
  }
  if (reference !== undefined)
    return [{ of: equal('reference', reference), filters: [...ofReseller, ...withStatus] }]
  return [{ of: equal('reseller_id', resellerId), filters: withStatus }]
}

function equal(column: string, value: string | undefined): Condition[] {
  return value === undefined ? [] : [[`${column} = +?`, value]]
}

function rowsOf(
  access: SqliteAccess,
  { of, filters }: Range,
  page: LicensePage,
  call: StorageCall,
): Promise<Numbered<LicenseRow>[]> {
  const conditions = [...of, ...filters]
  const findEnd = `SELECT seq FROM utility_api_licenses WHERE ${and(of)} seq > ? ORDER BY seq LIMIT 1 OFFSET ?`
  const find = `
    SELECT seq, ${licenseColumns} FROM utility_api_licenses
    WHERE ${and(conditions)} seq > ? AND seq <= ? ORDER BY seq LIMIT +?`
  // A domain or a reference has few licenses, so the first page of them is read at once, like the license of a key.
  const isFew = (page.comparedDomains ?? page.reference) !== undefined
  return search(access, page, call, {
    findEnd: filters.length === 0 ? null : [findEnd, ...of.map(valueOf)],
    find: [find, ...conditions.map(valueOf)],
    isLookup: isFew && filters.length === 0 && page.after === undefined,
  })
}

function valueOf([, value]: Condition): string {
  return value
}

function and(conditions: readonly Condition[]): string {
  return conditions.map(([sql]) => `${sql} AND `).join('')
}

/** Reads by an index of all that end, or of a reseller's. */
function licensesThatEnd(db: Queries, page: LicensePage, endsBefore: number): Numbered<LicenseRow>[] {
  const { resellerId, limit } = page
  return db.all(
    `SELECT seq, ${licenseColumns} FROM utility_api_licenses
     WHERE ${resellerId === undefined ? '' : 'reseller_id = +? AND'} (expires_at, seq) > (?, ?) AND expires_at < ?
     ORDER BY expires_at, seq LIMIT +?`,
    ...(resellerId === undefined ? [] : [resellerId]),
    ...toEndMark(page),
    endsBefore,
    limit + 1,
  )
}
