import { callWithin } from 'utility-api/storage'
import { performance } from '../shared/timers.ts'
import type { PostgresPool, PostgresResult } from './driver.ts'
import { run, type Run } from './statement.ts'
import { createConnectionLimit } from '../shared/connection-limit.ts'
import { within } from '../shared/call-time.ts'

/** How often to ask whether commits are still held back, and how long the answer may take. */
const askAgainMs = 1000

/**
 * Reads for how many milliseconds the server has held back the longest-waiting commit, or null if there is none. Only
 * covers commits of our own role, which cannot see those of others.
 */
const longestHeldBack = `
  SELECT extract(epoch FROM clock_timestamp() - min(state_change))::float8 * 1000 AS ms
  FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

/** Runs statements that only read, on any connection. A connection that does not answer in time is closed. */
export function readsOf(pool: PostgresPool): Run {
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
export function writesOf(pool: PostgresPool): Run {
  const limit = createConnectionLimit(Math.max(1, pool.options.max - 1), 'PostgreSQL')
  let asked: Promise<number> | undefined
  // Asked once for all that wait: after a failover, each question would need one of the few connections.
  function heldBackMs(): Promise<number> {
    asked ??= askHeldBackMs(pool).finally(() => (asked = undefined))
    return asked
  }
  /**
   * Waits on as long as the server holds back a commit as old as ours. A new primary behind the same address may also
   * hold back commits until a standby follows it, but younger ones: a statement that hangs on the old primary is not
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
