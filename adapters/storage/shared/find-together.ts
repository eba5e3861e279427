import type { StorageCall } from 'utility-api/storage'
import { inNoContext, type InContext } from './no-context.ts'
import { nextTick } from './timers.ts'

/** The maximum number of calls that wait for one statement, and so of its keys. */
export const maxCalls = 100

/** Reads the rows with the given keys, which are taken once there is a connection. Sends the statement by `inContext`. */
type Ask<Row> = (
  call: StorageCall,
  takeKeys: () => readonly string[],
  inContext: InContext,
) => Promise<readonly Row[]>

/** Finds the value with this key, or null if there is none. */
export type Find<Value> = (call: StorageCall, key: string) => Promise<Value | null>

/** The keys that one statement looks for, and the calls that wait for it. */
interface Batch<Row> {
  readonly keys: Set<string>
  readonly calls: StorageCall[]
  rows?: Promise<ReadonlyMap<string, Row>>
}

/**
 * Creates a function that finds rows by key. All lookups that arrive before there is a connection share one statement,
 * so the busier a server is, the fewer statements a request costs. A call is never answered with rows that were read
 * before it arrived.
 *
 * The pool is asked at the end of the tick, because by then it is known whether the lookup of one caller, in whose
 * async context it runs, is shared.
 */
export function findTogether<Row>(ask: Ask<Row>, keyOf: (row: Row) => string): Find<Row> {
  let open: Batch<Row> | undefined

  function close(batch: Batch<Row>): void {
    if (open === batch) open = undefined
  }

  async function send(batch: Batch<Row>): Promise<ReadonlyMap<string, Row>> {
    // Has time as long as anyone waits for one of its rows. Nobody may join it once it has none, because it is never
    // sent.
    function timeLeftMs(): number {
      const left = Math.max(...batch.calls.map((call) => call.timeLeftMs()))
      if (left <= 0) close(batch)
      return left
    }
    function takeKeys(): readonly string[] {
      close(batch)
      return [...batch.keys]
    }
    const inContext: InContext = (work, ...args) =>
      batch.calls.length > 1 ? inNoContext(work, ...args) : work(...args)
    try {
      await new Promise<void>(nextTick)
      const rows = await inContext(ask, { timeLeftMs }, takeKeys, inContext)
      return new Map(rows.map((row) => [keyOf(row), row]))
    } finally {
      close(batch)
    }
  }

  return async (call, key) => {
    const batch = (open ??= { keys: new Set(), calls: [] })
    batch.keys.add(key)
    batch.calls.push(call)
    batch.rows ??= send(batch)
    if (batch.calls.length === maxCalls) close(batch)
    return (await batch.rows).get(key) ?? null
  }
}
