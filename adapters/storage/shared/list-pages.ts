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
  throw notAMark()
}

/** The last row seen, in a list by time of creation. Rows with the same time are ordered by their identifiers. */
export interface PageMark {
  readonly createdAt: number
  readonly id: string
}

const beforeAll: PageMark = { createdAt: -1, id: '' }

export function toPageMark(after: string | undefined): PageMark {
  if (after === undefined) return beforeAll
  const [, createdAt, id] = /^(\d{1,16}):(.*)$/s.exec(after) ?? []
  if (createdAt === undefined || id === undefined) throw notAMark()
  return { createdAt: Number(createdAt), id }
}

export function pageMark(createdAt: IntegerColumn, id: string): string {
  return `${createdAt}:${id}`
}

function notAMark(): StorageError {
  return new StorageError('invalid', 'This is not the end of a page of this list.')
}
