import { StorageError } from 'utility-api/storage'
import type {
  ClientList,
  CredentialList,
  CredentialPage,
  LicenseList,
  LicensePage,
  ListPage,
  ResellerList,
  StorageCall,
  StorageListing,
} from 'utility-api/storage'
import {
  toLicense,
  toListedClient,
  toListedCredential,
  toReseller,
  type IntegerColumn,
  type LicenseRow,
  type ListedClientRow,
  type ListedCredentialRow,
  type ResellerRow,
} from './rows.ts'

/** A row that its table numbers in order of insertion. */
export type Numbered<Row> = Row & { readonly seq: IntegerColumn }

/** A statement and its values. */
export type ListStatement = readonly [text: string, ...values: (string | number)[]]

/** The statements of a store's lists. Each reads more rows than fit on a page. */
export interface ListStatements {
  clients(page: ListPage): ListStatement
  resellers(page: ListPage): ListStatement
  credentials(page: CredentialPage): ListStatement
  /** Of the licenses for a form of a domain, or for all. */
  licenses(page: LicensePage, form: string | undefined): ListStatement
  endingLicenses(page: LicensePage, endsBefore: number): ListStatement
  countLicenses(resellerId: string | undefined): ListStatement
}

/**
 * Returns the lists. `read` returns the rows of all statements. Licenses of several domains are read apart, because no
 * index has the order of all.
 */
export function listsOf(
  sql: ListStatements,
  read: <Row>(call: StorageCall, ...statements: ListStatement[]) => Promise<Row[]>,
): StorageListing {
  return {
    clients: async (page, call) => clientList(await read(call, sql.clients(page)), page.limit),
    resellers: async (page, call) => resellerList(await read(call, sql.resellers(page)), page.limit),
    credentials: async (page, call) => credentialList(await read(call, sql.credentials(page)), page.limit),
    licenses: async (page, call) => {
      const { comparedDomains = [undefined], limit, endsBefore } = page
      if (endsBefore !== undefined)
        return endingList(await read(call, sql.endingLicenses(page, endsBefore)), limit)
      const statements = comparedDomains.map((form) => sql.licenses(page, form))
      return licenseList(await read(call, ...statements), limit)
    },
    countLicenses: async ({ resellerId }, call) => {
      const [row] = await read<{ readonly count: IntegerColumn }>(call, sql.countLicenses(resellerId))
      return Number(row?.count)
    },
  }
}

// Each of these returns a page of a list. More rows were asked for than fit, to see whether there is a next page.

export function clientList(rows: readonly ListedClientRow[], limit: number): ClientList {
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.client_id))
  return { clients: page.map(toListedClient), ...next }
}

export function resellerList(rows: readonly ResellerRow[], limit: number): ResellerList {
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.reseller_id))
  return { resellers: page.map(toReseller), ...next }
}

function credentialList(rows: readonly ListedCredentialRow[], limit: number): CredentialList {
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.created_at, row.id))
  return { credentials: page.map(toListedCredential), ...next }
}

export function numberedCredentialList(
  rows: readonly Numbered<ListedCredentialRow>[],
  limit: number,
): CredentialList {
  const { page, ...next } = cutPage(rows, limit, ({ seq }) => String(seq))
  return { credentials: page.map(toListedCredential), ...next }
}

/** Takes the licenses of several domains in any order. */
export function licenseList(rows: readonly Numbered<LicenseRow>[], limit: number): LicenseList {
  const sorted = rows.toSorted((a, b) => Number(a.seq) - Number(b.seq))
  const { page, ...next } = cutPage(sorted, limit, ({ seq }) => String(seq))
  return { licenses: page.map(toLicense), ...next }
}

/** Takes licenses that end, in order of their end and their number. */
export function endingList(rows: readonly Numbered<LicenseRow>[], limit: number): LicenseList {
  const { page, ...next } = cutPage(rows, limit, (row) => pageMark(row.expires_at ?? 0, String(row.seq)))
  return { licenses: page.map(toLicense), ...next }
}

export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  markOf: (row: Row) => string,
): { readonly page: readonly Row[]; readonly next?: string } {
  const last = rows[limit - 1]
  if (rows.length <= limit || last === undefined) return { page: rows }
  return { page: rows.slice(0, limit), next: markOf(last) }
}

/**
 * Returns the number of the last row seen, in a list ordered by the table's own row number, or 0 before the first row.
 */
export function toSeq(after: string | undefined): number {
  if (after === undefined) return 0
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw notAMark()
}

/**
 * Returns the last row seen, in a list by a time. Rows with the same time are ordered by their identifiers.
 */
export function toPageMark(after: string | undefined): [at: number, id: string] {
  if (after === undefined) return [-1, '']
  const [, at, id] = /^(\d{1,16}):(.*)$/s.exec(after) ?? []
  if (at === undefined || id === undefined) throw notAMark()
  return [Number(at), id]
}

/** Returns the end and the number of the last row seen, in a list by end. */
export function toEndMark({ after, endsFrom = 0 }: LicensePage): [end: number, seq: number] {
  if (after === undefined) return [endsFrom, 0]
  const [end, seq] = toPageMark(after)
  return [end, toSeq(seq)]
}

export function pageMark(at: IntegerColumn, id: string): string {
  return `${at}:${id}`
}

function notAMark(): StorageError {
  return new StorageError('invalid', 'This is not the end of a page of this list.')
}
