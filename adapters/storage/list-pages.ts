import { StorageError } from 'utility-api/storage'
import type { IntegerColumn } from './rows.ts'

/** A page of rows of which one more was read than fit, to see whether there is a next page. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  markOf: (row: Row) => string,
): { readonly page: readonly Row[]; readonly next?: string } {
  const last = rows[limit - 1]
  if (rows.length <= limit || last === undefined) return { page: rows }
  return { page: rows.slice(0, limit), next: markOf(last) }
}

/** The number of the last row seen, in a list ordered by a number of the table's own; 0 before the first. */
export function toSeq(after: string | undefined): number {
  if (after === undefined) return 0
  if (/^\d{1,15}$/.test(after)) return Number(after)
  throw noPlace()
}

/** What a list by time of creation goes on from: rows of one time follow each other by their identifiers. */
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
