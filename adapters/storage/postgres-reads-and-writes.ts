import type { StorageCall } from 'utility-api/storage'
import type { PostgresPool, PostgresResult } from './postgres-driver.ts'
import { createSemaphore } from './postgres-semaphore.ts'
import { run, type Run } from './postgres-statement.ts'
import { within } from './postgres-time.ts'

/** How often it is asked whether commits are still held back, and how long that may take. */
const askAgainMs = 1000
const askAgain: StorageCall = { timeLeftMs: () => askAgainMs }

/**
 * For how many milliseconds the server has held back the commit that waits longest; null for none. Of our own role only:
 * it sees no other's.
 */
const longestHeldBack = `
  SELECT extract(epoch FROM clock_timestamp() - min(state_change))::float8 * 1000 AS ms
  FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

/** Runs what only reads, on any connection. One that does not answer in time is closed. */
export function readsOf(pool: PostgresPool): Run {
  return (statement) => run(pool, statement, async () => undefined)
}

/**
 * Runs what writes, on all connections but one: a server without standbys answers reads and holds every commit back, and
 * would soon have all connections waiting.
 *
 * Such a server goes on waiting when its client has gone, so closing these connections and opening others would fill it up
 * until it takes no more. As long as it says that it holds commits back, they are kept; a connection that is dead, or
 * whose server is another one by now, is closed.
 */
export function writesOf(pool: PostgresPool): Run {
  const places = createSemaphore(Math.max(1, pool.options.max - 1))
  let asked: Promise<number> | undefined
  // Once for all that wait: after a failover each question would need one of the few connections that there are.
  function heldBackMs(): Promise<number> {
    asked ??= askHeldBackMs(pool).finally(() => (asked = undefined))
    return asked
  }
  /**
   * A new primary behind the same address may hold commits back too until a standby follows it, but younger ones than
   * ours: what hangs on its predecessor is not kept for them. The tenth is for the way there.
   */
  async function waitOn(
    answer: Promise<PostgresResult>,
    sentAt: number,
  ): Promise<PostgresResult | undefined> {
    const waitedMs = performance.now() - sentAt
    if ((await heldBackMs()) < waitedMs * 0.9) return undefined
    return (await within(askAgainMs, answer)) ?? waitOn(answer, sentAt)
  }
  return async (statement) => {
    await places.take(statement.call)
    try {
      return await run(pool, statement, waitOn)
    } finally {
      places.giveBack()
    }
  }
}

async function askHeldBackMs(pool: PostgresPool): Promise<number> {
  const read = readsOf(pool)
  const answer = read({ toSql: () => ({ text: longestHeldBack, values: [] }), call: askAgain })
  const result = await within(askAgainMs, answer).catch(() => undefined)
  const [row] = (result?.rows ?? []) as { ms: number | null }[]
  return row?.ms ?? 0
}
