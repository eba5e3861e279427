import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection, createPool, type Pool } from 'mysql2/promise'
import { freePort } from '../../support/free-port.ts'
import { runServer, type RunningServer } from '../../support/run-server.ts'
import { makeFolderFor, serverUser } from '../../support/server-user.ts'
import { removeFolder } from '../../support/remove-folder.ts'

/** A real MariaDB or MySQL server: our own, or the one that `TEST_MYSQL_URL` names. */
export interface MysqlServer {
  /** Makes a database of its own and says where it is. */
  createDatabase(): Promise<string>
  /** Ends the server at once, as a crash would, and starts it again; absent where it is not ours. */
  readonly crash?: () => Promise<void>
  stop(): Promise<void>
}

const program = '/usr/sbin/mariadbd'

/** Why there is no server to test with; null where there is one. */
export function whyNoMysql(): string | null {
  if (process.env['TEST_MYSQL_URL'] !== undefined || existsSync(program)) return null
  return `skipped: there is no ${program} (Debian: mariadb-server-core), and TEST_MYSQL_URL is not set`
}

export async function startMysql(): Promise<MysqlServer> {
  const given = process.env['TEST_MYSQL_URL']
  if (given !== undefined) return { createDatabase: () => createDatabase(given), stop: async () => {} }
  // MariaDB does not run as root; Debian has a user for it.
  const user = serverUser('mysql')
  const directory = makeFolderFor(user, 'utility-api-mariadb-')
  const remove = (): void => removeFolder(directory)
  process.once('exit', remove)
  const port = await freePort()
  const options = [
    '--no-defaults',
    `--datadir=${join(directory, 'data')}`,
    `--tmpdir=${directory}`,
    `--socket=${join(directory, 'socket')}`,
    `--pid-file=${join(directory, 'pid')}`,
    '--bind-address=127.0.0.1',
    `--port=${port}`,
    '--max-connections=300',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-file-size=32M',
    '--skip-name-resolve',
    // As wrong as a server can be set up: what the store needs it sets by itself.
    '--sql-mode=',
    '--transaction-isolation=REPEATABLE-READ',
    '--character-set-server=latin1',
    '--innodb-default-row-format=compact',
  ]
  const initial = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve']
  // In its own temporary folder: a server that starts deletes the temporary tables there, whosever they are.
  await promisify(execFile)('mariadb-install-db', [...options.slice(0, 3), ...initial], {
    cwd: directory,
    ...user,
  })
  const start = (): Promise<RunningServer> => runServer(program, options, /ready for connections/, user)
  let server = await start()
  return {
    createDatabase: () => createDatabase(`mysql://root@127.0.0.1:${port}/mysql`),
    crash: async () => {
      await server.end('SIGKILL')
      server = await start()
    },
    stop: async () => {
      await server.end('SIGTERM')
      process.off('exit', remove)
      remove()
    },
  }
}

async function createDatabase(url: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await execute(url, `CREATE DATABASE ${name}`)
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

/** Runs SQL on a connection of its own. */
export async function execute(url: string, text: string): Promise<unknown> {
  const connection = await createConnection(url)
  try {
    return (await connection.query(text))[0]
  } finally {
    await connection.end()
  }
}

export function makePool(url: string, options: object = {}): Pool {
  return createPool({ uri: url, connectionLimit: 10, connectTimeout: 5000, ...options })
}

const tables = ['clients', 'resellers', 'codes', 'credentials', 'licenses', 'idempotency_keys']

/** Several times as fast as TRUNCATE, which makes new files for every table and index. */
export async function emptyTables(pool: Pool): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- a handful
  for (const table of tables) await pool.query(`DELETE FROM utility_api_${table}`)
}
