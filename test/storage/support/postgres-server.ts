import { randomUUID } from 'node:crypto'
import { Client, Pool } from 'pg'
import { startOwnPostgres } from './own-postgres.ts'

/** A real PostgreSQL server: our own, or the one that `TEST_POSTGRES_URL` names. */
export interface PostgresServer {
  /** Where the `postgres` database is. */
  readonly url: string
  /** Makes a database of its own and says where it is. */
  createDatabase(): Promise<string>
  /** Stops the server and starts it again; absent where it is not ours. */
  readonly restart?: () => Promise<void>
  stop(): Promise<void>
}

export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env['TEST_POSTGRES_URL']
  if (given !== undefined)
    return { url: given, createDatabase: () => createDatabase(given), stop: async () => {} }
  const own = await startOwnPostgres()
  return { ...own, createDatabase: () => createDatabase(own.url) }
}

async function createDatabase(url: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await execute(url, `CREATE DATABASE ${name}`)
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

/** Runs SQL on a connection of its own. */
export async function execute(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return ((await client.query(text)) as { rows: unknown[] }).rows
  } finally {
    await client.end()
  }
}

/** A pool whose transactions run at an isolation level. */
export function makePool(url: string, isolation = 'read committed', max = 10): Pool {
  const options = `-c default_transaction_isolation=${isolation.replaceAll(' ', '\\ ')} -c statement_timeout=10000`
  return new Pool({ connectionString: url, options, max, connectionTimeoutMillis: 5000 })
}

export const tables: string = 'clients, resellers, codes, credentials, licenses, idempotency_keys'.replaceAll(
  /\w+/g,
  'utility_api_$&',
)

/** Several times as fast as TRUNCATE, which makes new files for every table and index. */
export async function emptyTables(pool: Pool): Promise<void> {
  await pool.query(tables.replaceAll(/(\w+),?/g, 'DELETE FROM $1;'))
}
