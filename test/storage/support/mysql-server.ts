import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, createPool, type Pool } from 'mysql2/promise'
import { freePort } from '../../support/free-port.ts'

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
  const directory = mkdtempSync(join(tmpdir(), 'utility-api-mariadb-'))
  const port = await freePort()
  const user = unprivilegedUser()
  if (user !== null) chownSync(directory, user.uid, user.gid)
  const options = [
    '--no-defaults',
    `--datadir=${join(directory, 'data')}`,
    `--socket=${join(directory, 'socket')}`,
    `--pid-file=${join(directory, 'pid')}`,
    `--tmpdir=${directory}`,
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
  execFileSync(
    'mariadb-install-db',
    [
      ...options.slice(0, 2),
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--skip-name-resolve',
    ],
    { stdio: 'ignore', ...user },
  )
  let server = await start(options, user, port)
  async function end(signal: NodeJS.Signals): Promise<void> {
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  return {
    createDatabase: () => createDatabase(`mysql://root@127.0.0.1:${port}/mysql`),
    crash: async () => {
      await end('SIGKILL')
      server = await start(options, user, port)
    },
    stop: async () => {
      await end('SIGTERM')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** MariaDB does not run as root; Debian has a user for it. */
function unprivilegedUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const idOf = (option: string): number => Number(execFileSync('id', [option, 'mysql'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function start(
  options: readonly string[],
  user: { uid: number; gid: number } | null,
  port: number,
): Promise<ChildProcess> {
  const server = spawn(program, options, { stdio: 'ignore', ...user })
  await answers(`mysql://root@127.0.0.1:${port}/mysql`, server)
  return server
}

async function answers(url: string, server: ChildProcess, attempts = 600): Promise<void> {
  try {
    await execute(url, 'SELECT 1')
  } catch (error) {
    if (attempts === 0 || server.exitCode !== null) throw error
    await sleep(50)
    await answers(url, server, attempts - 1)
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
