import type { ColumnValue } from './rows.ts'

/** Statements for one call of the storage. */
export interface Queries<Value = ColumnValue> {
  /** Returns the rows of a statement. */
  rows<Row>(text: string, ...values: Value[]): Promise<Row[]>
  /** Returns the first row as a value, or null if there is none. */
  row<Row, Result>(convert: (row: Row) => Result, text: string, ...values: Value[]): Promise<Result | null>
  /** Returns how many rows a statement changed. */
  count(text: string, ...values: Value[]): Promise<number>
}

/** Creates queries of what returns the rows of a statement, and of what counts the rows that it changed. */
export function queriesOn<Value>(
  read: (text: string, values: Value[]) => Promise<unknown[]>,
  write: (text: string, values: Value[]) => Promise<number>,
): Queries<Value> {
  async function rows<Row>(text: string, ...values: Value[]): Promise<Row[]> {
    return (await read(text, values)) as Row[]
  }
  return {
    rows,
    row: async <Row, Result>(convert: (row: Row) => Result, text: string, ...values: Value[]) => {
      const [row] = await rows<Row>(text, ...values)
      return row === undefined ? null : convert(row)
    },
    count: (text, ...values) => write(text, values),
  }
}
