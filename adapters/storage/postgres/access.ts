import { callWithin, type StorageCall } from 'utility-api/storage'
import type { PostgresPool, PostgresResult } from './driver.ts'
import { isUndone, toStorageError } from './errors.ts'
import { requireSchema } from './schema.ts'
import type { KeyedSelect } from './sql.ts'
import { run, type Run, type Sql } from './statement.ts'
import { performance } from '../shared/timers.ts'
import { inTime, within } from '../shared/call-time.ts'
import { createConnectionLimit } from '../shared/connection-limit.ts'
import { findTogether, type Find } from '../shared/find-together.ts'
import { inNoContext } from '../shared/no-context.ts'
import { queriesOn, type Queries } from '../shared/queries.ts'
import { writeTogether, type MakeWrite, type WriteKind } from '../shared/write-together.ts'

/** How often to ask whether commits are still held back, and how long the answer may take. */
const askAgainMs = 1000

/**
 * Reads for how many milliseconds the server has held back the longest-waiting commit, or null if there is none. Only
 * covers commits of our role, which cannot see others'.
 */
const longestHeldBack = `
  SELECT extract(epoch FROM clock_timestamp() - min(state_change))::float8 * 1000 AS ms
  FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

/** A kind of write, of which one statement can make many. */
export interface SharedKind<Write, Outcome> extends Omit<WriteKind<Write, Outcome>, 'together'> {
  /** Returns the values of a write. The statement `many` takes an array of each. */
  readonly valuesOf: (write: Write) => readonly unknown[]
  /** Makes the writes that need not wait for a locked row. Returns the first key of each as `key`. */
  readonly many: string
}

/** How the store's methods access the database: one statement at a time, as long as its call has time left. */
export interface PostgresAccess {
  /** Returns the statements for a call. Those that return rows only read. */
  on(call: StorageCall): Queries<unknown>
  /** Creates a function that finds a row by its key, as a value. `rest` holds the values after the key. */
  finder<Row, Value>(
    select: KeyedSelect,
    keyOf: (row: Row) => string,
    convert: (row: Row) => Value,
    ...rest: unknown[]
  ): Find<Value>
  /** Creates a function that makes writes of a kind, together with others that arrive with it. */
  writer<Write, Outcome>(kind: SharedKind<Write, Outcome>): MakeWrite<Write, Outcome>
}

export function createPostgresAccess(pool: PostgresPool): PostgresAccess {
  const read = readsOf(pool)
  const write = writesOf(pool)
  let ready: Promise<void> | undefined

  function requireReady(): Promise<void> {
    ready ??= inNoContext(requireSchema, pool, read).catch((error: unknown) => {
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

  function query(send: Run, call: StorageCall, text: string, values: unknown[]): Promise<PostgresResult> {
    return answer(call, () => send({ toSql: () => ({ text, values }), call }))
  }

  return {
    on: (call) =>
      queriesOn(
        async (text, values) => (await query(read, call, text, values)).rows,
        async (text, values) => (await query(write, call, text, values)).rowCount ?? 0,
      ),
    finder(select, keyOf, convert, ...rest) {
      function toSql(keys: readonly string[]): Sql {
        if (keys.length === 1) return { text: select.one, values: [...keys, ...rest] }
        return { text: select.many, values: [keys, ...rest] }
      }
      const find = findTogether(async (call, takeKeys, inContext) => {
        const { rows } = await read({ toSql: () => toSql(takeKeys()), call, inContext })
        return rows as Parameters<typeof keyOf>[0][]
      }, keyOf)
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
  }
}

/** Turns the values of each write into an array for each value of the statement. */
function toColumns(rows: readonly (readonly unknown[])[]): unknown[][] {
  const [first = []] = rows
  return first.map((_, index) => rows.map((row) => row[index]))
}

/** Runs statements that only read, on any connection. A connection that does not answer in time is closed. */
function readsOf(pool: PostgresPool): Run {
  return (statement) => run(pool, statement, { reads: true, waitOn: async () => undefined })
}

/**
 * Runs statements that write, on all connections but one. A server without standbys answers reads but holds back every
 * commit, and would soon have all connections waiting.
 *
 * Such a server keeps waiting after its client is gone, so closing these connections and opening others would fill it
 * up until it accepts no more. As long as it reports that it holds back commits, the connections are kept. A connection
 * that is dead, or whose server has been replaced by another one, is closed.
 */
function writesOf(pool: PostgresPool): Run {
  const limit = createConnectionLimit(Math.max(1, pool.options.max - 1), 'PostgreSQL')
  let asked: Promise<number> | undefined
  // Asked once for all that wait, because after a failover, each question would need one of the few connections.
  function heldBackMs(): Promise<number> {
    asked ??= inNoContext(askHeldBackMs, pool).finally(() => (asked = undefined))
    return asked
  }
  /**
   * Waits on as long as the server holds back a commit as old as ours. A new primary behind the same address may also
   * hold back commits until a standby follows it, but younger ones, so a statement that hangs on the old primary is not
   * kept for them. The tenth allows for time on the network.
   */
  async function waitOn(
    answer: Promise<PostgresResult>,
    sentAt: number,
  ): Promise<PostgresResult | undefined> {
    const waitedMs = performance.now() - sentAt
    if ((await heldBackMs()) < waitedMs * 0.9) return undefined
    return (await within(askAgainMs, answer)) ?? waitOn(answer, sentAt)
  }
  return (statement) => limit.run(statement.call, () => run(pool, statement, { reads: false, waitOn }))
}

async function askHeldBackMs(pool: PostgresPool): Promise<number> {
  const read = readsOf(pool)
  const answer = read({ toSql: () => ({ text: longestHeldBack, values: [] }), call: callWithin(askAgainMs) })
  const result = await within(askAgainMs, answer).catch(() => undefined)
  const [row] = (result?.rows ?? []) as { ms: number | null }[]
  return row?.ms ?? 0
}
