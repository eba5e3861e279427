import type { StorageCall } from 'utility-api/storage'
import type { PostgresPool, PostgresResult } from './postgres-driver.ts'
import { toStorageError } from './postgres-errors.ts'
import { readsOf, writesOf } from './postgres-reads-and-writes.ts'
import { requireSchema } from './postgres-schema.ts'
import type { Run } from './postgres-statement.ts'
import { inTime } from './postgres-time.ts'

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

export function createPostgresAccess(pool: PostgresPool): PostgresAccess {
  const read = readsOf(pool)
  const write = writesOf(pool)
  let ready: Promise<void> | undefined

  function requireReady(): Promise<void> {
    ready ??= requireSchema(read).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }

  async function query(
    run: Run,
    call: StorageCall,
    text: string,
    values: unknown[],
  ): Promise<PostgresResult> {
    try {
      const result = await inTime(call, (over) =>
        requireReady().then(() => run({ text, values, call, over })),
      )
      if (result === undefined) throw new Error('There was no answer in the time that the call had.')
      return result
    } catch (error) {
      throw toStorageError(error)
    }
  }

  return {
    rows: async <Row>(call: StorageCall, text: string, ...values: unknown[]) =>
      (await query(read, call, text, values)).rows as Row[],
    row: async <Row, Value>(
      call: StorageCall,
      convert: (row: Row) => Value,
      text: string,
      ...values: unknown[]
    ) => {
      const [row] = (await query(read, call, text, values)).rows as Row[]
      return row === undefined ? null : convert(row)
    },
    count: async (call, text, ...values) => (await query(write, call, text, values)).rowCount ?? 0,
  }
}
