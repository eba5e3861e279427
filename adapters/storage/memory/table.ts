import type { ListPage } from 'utility-api/storage'
import { toSeq } from '../shared/list-pages.ts'

/** Rows by key, in order of insertion. */
export interface Table<Row> {
  readonly size: number
  get(key: string): Row | undefined
  has(key: string): boolean
  /** Stores a row. A new row goes to the end; a changed one stays where it is. */
  put(key: string, row: Row): void
  delete(key: string): boolean
  /** Deletes the rows that match and returns how many there were. */
  deleteWhere(matches: (row: Row) => boolean): number
  entries(): Iterable<readonly [string, Row]>
  /** Returns the wanted rows after a page mark. A row's mark is its number, which no other row ever gets. */
  page(page: ListPage, isWanted?: (row: Row) => boolean): { readonly rows: Row[]; readonly next?: string }
}

export function createTable<Row>(): Table<Row> {
  const rows = new Map<string, { readonly number: number; readonly row: Row }>()
  let lastNumber = 0

  return {
    get size() {
      return rows.size
    },
    get: (key) => rows.get(key)?.row,
    has: (key) => rows.has(key),
    put(key, row) {
      const number = rows.get(key)?.number ?? (lastNumber += 1)
      rows.set(key, { number, row })
    },
    delete: (key) => rows.delete(key),
    deleteWhere(matches) {
      let count = 0
      for (const [key, { row }] of rows) if (matches(row) && rows.delete(key)) count += 1
      return count
    },
    *entries() {
      for (const [key, { row }] of rows) yield [key, row] as const
    },
    page({ after, limit }, isWanted = () => true) {
      const seen = toSeq(after)
      const found: Row[] = []
      let last = 0
      for (const { number, row } of rows.values()) {
        if (number <= seen || !isWanted(row)) continue
        if (found.length === limit) return { rows: found, next: String(last) }
        found.push(row)
        last = number
      }
      return { rows: found }
    },
  }
}
