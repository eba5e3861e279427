import { hash } from 'node:crypto'
import type { StorageCall } from 'utility-api/storage'
import { withConnection } from './connection.ts'
import type { PostgresClient, PostgresPool, PostgresResult } from './driver.ts'
import { leavesConnection, lostRace } from './errors.ts'
import { postgresTypes } from './types.ts'
import { requireTime, within } from '../shared/call-time.ts'

/** SQL and the values of its `$1`, `$2` … */
export interface Sql {
  readonly text: string
  readonly values: unknown[]
}

/** A statement, and how long its caller waits for it. */
export interface Statement {
  /** Returns what to send, once there is a connection. */
  readonly toSql: () => Sql
  readonly call: StorageCall
}

/** Runs a statement to its end. */
export type Run = (statement: Statement) => Promise<PostgresResult>

/** Decides what to do with an answer that does not arrive in time: waits on and returns it, or gives up. */
export type Patience = (
  answer: Promise<PostgresResult>,
  sentAt: number,
) => Promise<PostgresResult | undefined>

/**
 * The maximum number of attempts at a statement that keeps losing to others. At SERIALIZABLE, each statement in a crowd
 * needs several.
 */
const maxAttempts = 12

/** Runs a statement, and again if it lost a race. A statement that lost did nothing, so repeating it is safe. */
export async function run(
  pool: PostgresPool,
  statement: Statement,
  waitOn: Patience,
  attempt: number = 1,
): Promise<PostgresResult> {
  requireTime(statement.call, 'PostgreSQL')
  try {
    return await withConnection(pool, (client) => send(client, statement, waitOn), leavesConnection)
  } catch (error) {
    if (attempt === maxAttempts || !lostRace(error)) throw error
  }
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(attempt, 6)))
  return run(pool, statement, waitOn, attempt + 1)
}

/**
 * Sends a statement. Connections prepare it under a name made from its text: two versions of this library may share a
 * pool. Does not use the pool's own `query`, which sends it however long it has waited for a connection, and hides the
 * server's notices.
 */
async function send(
  client: PostgresClient,
  { toSql, call }: Statement,
  waitOn: Patience,
): Promise<PostgresResult> {
  const timeLeftMs = requireTime(call, 'PostgreSQL')
  const { text, values } = toSql()
  const sentAt = performance.now()
  const answer = client.query({ name: nameOf(text), text, values, types: postgresTypes })
  const result = (await within(timeLeftMs, answer)) ?? (await waitOn(answer, sentAt))
  if (result === undefined) throw new Error('The server did not answer in the time that the call had.')
  return result
}

const names: Map<string, string> = new Map()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = `utility_api_${hash('sha256', text).slice(0, 16)}`
  names.set(text, name)
  return name
}
