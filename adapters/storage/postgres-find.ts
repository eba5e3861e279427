import type { StorageCall } from 'utility-api/storage'
import type { PostgresResult } from './postgres-driver.ts'

/** The most that wait for one statement. */
const maxCalls = 100

/** Asks for the rows under some keys, which are taken when there is a connection. */
type Ask = (call: StorageCall, takeKeys: () => readonly string[]) => Promise<PostgresResult>

/** Finds what lies under a key; null when there is nothing. */
export type Find<Value> = (call: StorageCall, key: string) => Promise<Value | null>

/** What one statement asks for, and for whom. */
interface Batch<Row> {
  readonly keys: Set<string>
  readonly calls: StorageCall[]
  rows?: Promise<ReadonlyMap<string, Row>>
}

/**
 * Finds rows by key. Those that are looked for until there is a connection are asked for by one statement: the busier a
 * server is, the fewer statements a request costs. A call is never answered from what was read before it came.
 */
export function findTogether<Row>(ask: Ask, keyOf: (row: Row) => string): Find<Row> {
  let open: Batch<Row> | undefined

  function close(batch: Batch<Row>): void {
    if (open === batch) open = undefined
  }

  async function send(batch: Batch<Row>): Promise<ReadonlyMap<string, Row>> {
    // As long as anybody waits for one of its rows.
    const call = { timeLeftMs: () => Math.max(...batch.calls.map((each) => each.timeLeftMs())) }
    function takeKeys(): readonly string[] {
      close(batch)
      return [...batch.keys]
    }
    try {
      const { rows } = await ask(call, takeKeys)
      return new Map((rows as Row[]).map((row) => [keyOf(row), row]))
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
