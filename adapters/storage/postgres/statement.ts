import { hash } from 'node:crypto'
import type { StorageCall } from 'utility-api/storage'
import { performance, setTimeout } from '../shared/timers.ts'
import { onPrimary } from './balancing.ts'
import { withConnection } from './connection.ts'
import type { PostgresClient, PostgresPool, PostgresResult, PostgresTypes } from './driver.ts'
import { leavesConnection, losesStatements, lostConnection, lostRace, neverBegan } from './errors.ts'
import { requireTime, within } from '../shared/call-time.ts'
import type { InContext } from '../shared/no-context.ts'

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
  /** Whether it makes the writes of several callers. If it loses a race, it is not repeated, and they go alone. */
  readonly isShared?: boolean
  /** Runs work in the async context of whom the statement is for. Default: the present one. */
  readonly inContext?: InContext
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

/** Pools whose connections have been found not to keep prepared statements. */
const keepsNoStatements = new WeakSet<PostgresPool>()

/** For how long a connection may be idle before it is asked whether it is still open. */
const idleMs = 1000

/** How a statement is run. */
export interface Manner {
  readonly waitOn: Patience
  /** Whether it only reads, so that it is sent again if its connection is lost. */
  readonly reads: boolean
}

/**
 * Runs a statement, and again if it did nothing: if it lost a race, if what stands between keeps no prepared statements,
 * or if the server had ended the session before. What only reads is also repeated, once, if its connection is lost.
 * A write whose connection is lost may have been done.
 */
export async function run(pool: PostgresPool, statement: Statement, manner: Manner): Promise<PostgresResult> {
  let workedSince = performance.now() - idleMs
  let hasLost = false
  for (let attempt = 1; ; attempt += 1) {
    let isLent = false
    const work = (client: PostgresClient): Promise<PostgresResult> => {
      isLent = true
      return send(pool, client, statement, manner)
    }
    try {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      return await withConnection(pool, work, leavesConnection, workedSince)
    } catch (error) {
      const isLost = neverBegan(error) || (manner.reads && isLent && lostConnection(error))
      const hasLostRace = lostRace(error) && statement.isShared !== true
      const mayRepeat = hasLostRace || losesStatements(error) || (isLost && !hasLost)
      if (attempt === maxAttempts || !mayRepeat) throw error
      if (losesStatements(error)) keepsNoStatements.add(pool)
      // Nobody waits any more for an answer that did not come in time.
      if (isLost && statement.call.timeLeftMs() <= 0) throw error
      if (isLost) workedSince = performance.now()
      hasLost ||= isLost
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(attempt, 6)))
  }
}

/**
 * Sends a statement. Connections prepare it under a name made from its text, because two versions of this library may
 * share a pool. Behind a pooler that keeps none, it has no name and is prepared each time. Does not use the pool's own
 * `query`, which sends it however long it has waited for a connection, and hides the server's notices.
 */
async function send(
  pool: PostgresPool,
  client: PostgresClient,
  { toSql, call, inContext = here }: Statement,
  { waitOn, reads }: Manner,
): Promise<PostgresResult> {
  const timeLeftMs = requireTime(call, 'PostgreSQL')
  const sql = toSql()
  const text = reads ? onPrimary(sql.text) : sql.text
  const sentAt = performance.now()
  const name = keepsNoStatements.has(pool) ? undefined : nameOf(text)
  const query = { name, text, values: sql.values, types: postgresTypes }
  const answer = inContext(() => client.query(query))
  const result = (await within(timeLeftMs, answer)) ?? (await waitOn(answer, sentAt))
  if (result === undefined) throw new Error('The server did not answer in the time that the call had.')
  return result
}

const here: InContext = (work, ...args) => work(...args)

const names: Map<string, string> = new Map()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = `utility_api_${hash('sha256', text).slice(0, 16)}`
  names.set(text, name)
  return name
}

/** Parsers for the types of our columns, by their object identifiers. All others stay text, integers of 64 bits too. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't', // boolean
  17: toOctets, // bytea
  23: Number, // integer
  701: Number, // double precision
}

/**
 * Parses the columns of our tables. The host may have other parsers for its own, with which a hash would match no
 * secret, so every credential would be refused.
 */
const postgresTypes: PostgresTypes = {
  getTypeParser: (oid) => parsers[oid] ?? ((text: string) => text),
}

/** Parses octets in hexadecimal, or in the escape format that a server can be set to. */
function toOctets(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex')
  const unescaped = text.replaceAll(/\\(\\|[0-3][0-7]{2})/g, (_, octet: string) =>
    octet === '\\' ? octet : String.fromCharCode(Number.parseInt(octet, 8)),
  )
  return Buffer.from(unescaped, 'latin1')
}
