/**
 * The lists, which are optional and only useful to the owner. Every page MUST continue where the last one ended,
 * whatever was added or deleted in between: after a number or a name that stays, never after a count of rows.
 */
import { StorageError } from 'utility-api/storage'
import type {
  Credential,
  LicensePage,
  ListedClient,
  ListPage,
  NewLicense,
  Reseller,
  StorageCall,
  StorageListing,
} from 'utility-api/storage'

type Numbered<Row> = Row & { readonly seq: number }

/** The rows to list. A map keeps its order of insertion, but the position of a row can change. */
export interface Rows {
  readonly clients: ReadonlyMap<string, ListedClient>
  readonly resellers: ReadonlyMap<string, Reseller>
  /** Keyed by their kind, a space, and their hash. */
  readonly credentials: ReadonlyMap<string, Numbered<Credential> & { readonly lastUsedOn?: number }>
  readonly licenses: ReadonlyMap<string, Numbered<NewLicense>>
}

/** Creates the lists. `begin` returns the rows, unless the store is closed or nobody waits for the call. */
export function listingOf(begin: (call: StorageCall) => Rows): StorageListing {
  return {
    async clients(page, call) {
      // Clients and resellers are never deleted: a position in their map stays valid.
      const { rows, ...next } = pageOf(numbered([...begin(call).clients.values()]), page)
      return { clients: rows.map(toListed), ...next }
    },
    async resellers(page, call) {
      const { rows, ...next } = pageOf(numbered([...begin(call).resellers.values()]), page)
      return { resellers: rows.map(withoutOwn), ...next }
    },
    async credentials({ kind, ownerId, ...page }, call) {
      const ofKind = [...begin(call).credentials].filter(([key]) => key.startsWith(`${kind} `))
      const wanted = ofKind.map(([, row]) => row).filter((row) => row.ownerId === (ownerId ?? row.ownerId))
      const { rows, ...next } = pageOf(wanted, page)
      const listed = rows.map((row) => ({ ...withoutOwn(row), kind, lastUsedOn: row.lastUsedOn ?? null }))
      return { credentials: listed, ...next }
    },
    async licenses(page, call) {
      const wanted = licensesOf(begin(call), page)
      const { rows, ...next } =
        page.endsBefore === undefined ? pageOf(wanted, page) : endingPageOf(wanted, page)
      return { licenses: rows.map(withoutOwn), ...next }
    },
    async countLicenses(of, call) {
      return licensesOf(begin(call), of).length
    },
  }
}

/** Returns the licenses that pass all filters. In SQL: an index on the compared domain, and one on the reseller. */
function licensesOf(
  { licenses }: Rows,
  { resellerId, comparedDomains, status, reference, endsFrom, endsBefore }: Partial<LicensePage>,
): Numbered<NewLicense>[] {
  return [...licenses.values()].filter(
    (row) =>
      row.resellerId === (resellerId ?? row.resellerId) &&
      row.status === (status ?? row.status) &&
      row.reference === (reference ?? row.reference) &&
      (endsBefore === undefined || isWithin(row.expiresAt, endsFrom ?? 0, endsBefore)) &&
      (comparedDomains?.includes(row.comparedDomain) ?? true),
  )
}

function numbered<Row extends object>(rows: readonly Row[]): Numbered<Row>[] {
  return rows.map((row, index) => ({ ...row, seq: index + 1 }))
}

function pageOf<Row extends { readonly seq: number }>(
  rows: readonly Row[],
  { after = '0', limit }: ListPage,
): { rows: Row[]; next?: string } {
  if (!/^\d+$/.test(after)) throw notAMark()
  return cut(
    rows.filter(({ seq }) => seq > Number(after)),
    limit,
    ({ seq }) => String(seq),
  )
}

function notAMark(): StorageError {
  return new StorageError('invalid', 'This is not the end of a page of this list.')
}

function cut<Row>(
  rest: readonly Row[],
  limit: number,
  markOf: (row: Row) => string,
): { rows: Row[]; next?: string } {
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return rest.length > limit && last !== undefined ? { rows: page, next: markOf(last) } : { rows: page }
}

function isWithin(end: number | null, from: number, before: number): boolean {
  return end !== null && end >= from && end < before
}

/** Pages by end. The mark has the number too: many can end together. In SQL: an index on both. */
function endingPageOf(
  rows: readonly Numbered<NewLicense>[],
  page: ListPage,
): ReturnType<typeof pageOf<Numbered<NewLicense>>> {
  const inOrder = rows.toSorted((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0) || a.seq - b.seq)
  const [, end, seq] = /^(\d+):(\d+)$/.exec(page.after ?? '0:0') ?? []
  if (end === undefined) throw notAMark()
  const after = (row: Numbered<NewLicense>): number =>
    (row.expiresAt ?? 0) - Number(end) || row.seq - Number(seq)
  return cut(
    inOrder.filter((row) => after(row) > 0),
    page.limit,
    (row) => `${row.expiresAt}:${row.seq}`,
  )
}

/** Copies a row without what is the store's own. */
export function withoutOwn<Row extends object>(row: Row): Omit<Row, 'seq' | 'comparedDomain' | 'lastUsedOn'> {
  const { seq: _, comparedDomain: __, lastUsedOn: ___, ...rest } = row as Row & Record<string, unknown>
  return rest as Omit<Row, 'seq' | 'comparedDomain' | 'lastUsedOn'>
}

/** Copies a client for a list. It MUST NOT contain hashes: a list is for people. */
function toListed(client: ListedClient): ListedClient {
  const { clientId, name, redirectUris, createdAt, revokedAt, clientType } = client
  const label = { ...(name !== undefined && { name }), ...(clientType !== undefined && { clientType }) }
  return { clientId, ...label, redirectUris: [...redirectUris], createdAt, revokedAt }
}
