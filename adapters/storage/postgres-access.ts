import type { StorageCall } from 'utility-api/storage'

/** How the methods of the store get at the database: one statement at a time, as long as its call has time. */
export interface PostgresAccess {
  /** The rows it brings. */
  rows<Row>(call: StorageCall, text: string, ...values: unknown[]): Promise<Row[]>
  /** Its first row as a value; null when it brings none. */
  row<Row, Value>(
    call: StorageCall,
    convert: (row: Row) => Value,
    text: string,
    ...values: unknown[]
  ): Promise<Value | null>
  /** How many rows it changed. */
  count(call: StorageCall, text: string, ...values: unknown[]): Promise<number>
}
