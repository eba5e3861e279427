import { StorageError } from 'utility-api/storage'
import type { IntegerColumn } from './rows.ts'

/** Cuts rows to a page. More rows were asked for than fit, to see whether there is a next page. */
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
  throw noPlace()
}

/** Where a list by time of creation continues. Rows with the same time are ordered by their identifiers. */
export interface Place {
  readonly createdAt: number
  readonly id: string
}

const beforeAll: Place = { createdAt: -1, id: '' }

export function toPlace(after: string | undefined): Place {
  if (after === undefined) return beforeAll
  const [, createdAt, id] = /^(\d{1,16}):(.*)$/s.exec(after) ?? []
  if (createdAt === undefined || id === undefined) throw noPlace()
  return { createdAt: Number(createdAt), id }
}

export function placeMark(createdAt: IntegerColumn, id: string): string {
  return `${createdAt}:${id}`
}

function noPlace(): StorageError {
  return new StorageError('invalid', 'This is no place in the list.')
}
