import type { StorageCall } from 'utility-api/storage'
import type { PostgresPool, PostgresResult } from './driver.ts'
import { isUndone, toStorageError } from './errors.ts'
import { readsOf, writesOf } from './reads-and-writes.ts'
import { requireSchema } from './schema.ts'
import type { KeyedSelect } from './sql.ts'
import type { Run, Sql } from './statement.ts'
import { inTime } from '../shared/call-time.ts'
import { findTogether, type Find } from '../shared/find-together.ts'
import { writeTogether, type MakeWrite, type WriteKind } from '../shared/write-together.ts'

/** A kind of write, of which one statement can make many. */
export interface StatementKind<Write, Outcome> extends Omit<WriteKind<Write, Outcome>, 'together'> {
  /** Returns the values of a write. The statement `many` takes an array of each. */
  readonly valuesOf: (write: Write) => readonly unknown[]
  /** Makes the writes that need not wait for a locked row. Returns the first key of each as `key`. */
  readonly many: string
}

/** How the store's methods access the database: one statement at a time, as long as its call has time left. */
export interface PostgresAccess {
  /** Returns the rows of a statement. */
  rows<Row>(call: StorageCall, text: string, ...values: unknown[]): Promise<Row[]>
  /** Returns the first row as a value, or null if there is none. */
  row<Row, Value>(
    call: StorageCall,
    convert: (row: Row) => Value,
    text: string,
    ...values: unknown[]
  ): Promise<Value | null>
  /** Creates a function that finds a row by its key, as a value. `rest` holds the values after the key. */
  finder<Row, Value>(
    select: KeyedSelect,
    keyOf: (row: Row) => string,
    convert: (row: Row) => Value,
    ...rest: unknown[]
  ): Find<Value>
  /** Creates a function that makes writes of a kind, together with others that arrive with it. */
  writer<Write, Outcome>(kind: StatementKind<Write, Outcome>): MakeWrite<Write, Outcome>
  /** Returns how many rows a statement changed. */
  count(call: StorageCall, text: string, ...values: unknown[]): Promise<number>
}

export function createPostgresAccess(pool: PostgresPool): PostgresAccess {
  const read = readsOf(pool)
  const write = writesOf(pool)
  let ready: Promise<void> | undefined

  function requireReady(): Promise<void> {
    ready ??= requireSchema(pool, read).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }

  async function answer<Result>(call: StorageCall, work: () => Promise<Result>): Promise<Result> {
    try {
      return await inTime(call, 'PostgreSQL', () => requireReady().then(work))
    } catch (error) {
      throw toStorageError(error)
    }
  }

  function query(run: Run, call: StorageCall, text: string, values: unknown[]): Promise<PostgresResult> {
    return answer(call, () => run({ toSql: () => ({ text, values }), call }))
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
    finder<Row, Value>(
      select: KeyedSelect,
      keyOf: (row: Row) => string,
      convert: (row: Row) => Value,
      ...rest: unknown[]
    ) {
      function toSql(keys: readonly string[]): Sql {
        if (keys.length === 1) return { text: select.one, values: [...keys, ...rest] }
        return { text: select.many, values: [keys, ...rest] }
      }
      const find = findTogether<Row>(
        async (call, takeKeys) => (await read({ toSql: () => toSql(takeKeys()), call })).rows as Row[],
        keyOf,
      )
      return async (call, key) => {
        const row = await answer(call, () => find(call, key))
        return row === null ? null : convert(row)
      }
    },
    writer({ valuesOf, many, ...kind }) {
      const make = writeTogether(
        { name: 'PostgreSQL', isUndone },
        {
          ...kind,
          together: async (call, takeWrites) => {
            const toSql = (): Sql => ({ text: many, values: toColumns(takeWrites().map(valuesOf)) })
            const { rows } = await write({ toSql, call, isShared: true })
            return (rows as { readonly key: string }[]).map(({ key }) => key)
          },
        },
      )
      return (call, one) => answer(call, () => make(call, one))
    },
    count: async (call, text, ...values) => (await query(write, call, text, values)).rowCount ?? 0,
  }
}

/** Turns the values of each write into an array for each value of the statement. */
function toColumns(rows: readonly (readonly unknown[])[]): unknown[][] {
  const [first = []] = rows
  return first.map((_, index) => rows.map((row) => row[index]))
}
