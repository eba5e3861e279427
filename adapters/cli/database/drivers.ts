import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StorageError, type AdminStorage } from 'utility-api/storage'
import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { sqliteStorage, type SqliteDatabase, type SqliteStorage } from 'utility-api/storage/sqlite'
import { naming } from './database-errors.ts'

/** A storage that the command opens and closes. */
export interface OpenDatabase {
  /** `migrate` is missing if the owner's module has none. */
  readonly storage: AdminStorage & { migrate?(): Promise<void> | void }
  /** The name to use in messages if the storage's own messages do not say it. */
  readonly name?: string
  close(): Promise<void>
}

/** How long a connection may take to open, and then a statement on it, in milliseconds. */
export interface TimeLimits {
  readonly connectMs: number
  readonly statementMs: number
}

/**
 * The limits for requests. Together they are less than a request waits for its storage (`storageTimeoutMs`): a statement
 * that had to wait for its connection could otherwise still write after its client was told that it failed.
 */
export const requestLimits: TimeLimits = { connectMs: 1500, statementMs: 2400 }

/**
 * The limits for commands. Together they are less than a call of `Admin` waits, which is 30 seconds: counting millions of
 * licenses takes longer than a request may.
 */
export const commandLimits: TimeLimits = { connectMs: 5000, statementMs: 20_000 }

export async function openSqlite(file: string): Promise<OpenDatabase> {
  const database = await connectSqlite(file)
  const storage = sqliteOn(database, file)
  const close = async (): Promise<void> => {
    await storage.close?.()
    database.close()
  }
  return { storage, name: file, close }
}

function sqliteOn(database: SqliteConnection, file: string): SqliteStorage {
  try {
    return sqliteStorage(database)
  } catch (error) {
    database.close()
    throw error instanceof StorageError ? naming(file, error) : error
  }
}

type SqliteConnection = SqliteDatabase & { close(): void }
type SqliteConstructor = new (file: string) => SqliteConnection

const ownerOnly = 0o600

async function connectSqlite(file: string): Promise<SqliteConnection> {
  const Database = await sqliteDriver()
  const path = resolve(file)
  try {
    // The driver would create a file that everybody can read. SQLite gives the files next to this one the same mode.
    closeSync(openSync(path, 'a', ownerOnly))
    return new Database(path)
  } catch (error) {
    throw new Error(`Cannot open ${file}: ${(error as Error).message}`, { cause: error })
  }
}

async function sqliteDriver(): Promise<SqliteConstructor> {
  if (process.versions['bun'] !== undefined) return constructorIn('bun:sqlite', 'Database')
  const betterSqlite = resolvePackage('better-sqlite3')
  if (betterSqlite !== null) return constructorIn(betterSqlite, 'default')
  // Node 22 warns that its own SQLite is experimental: noise in a command's output.
  process.removeAllListeners('warning')
  return constructorIn('node:sqlite', 'DatabaseSync')
}

async function constructorIn(specifier: string, name: string): Promise<SqliteConstructor> {
  const module = (await import(specifier)) as Record<string, SqliteConstructor>
  return module[name] as SqliteConstructor
}

interface PgModule {
  readonly default: {
    readonly Pool: new (config: object) => PostgresPool & { end(): Promise<void> }
  }
}

export async function openPostgres(connectionString: string, limits: TimeLimits): Promise<OpenDatabase> {
  const path = resolvePackage('pg')
  if (path === null) {
    throw new Error(
      'PostgreSQL needs a driver. Install it next to utility-api with: npm install pg\n' +
        'Or set UTILITY_API_DRIVERS to the folder of a project that has it.',
    )
  }
  const { default: pg } = (await import(path)) as PgModule
  const sockets = new Set<Socket>()
  const stream = (): Socket => {
    const socket = new Socket()
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }
  const pool = new pg.Pool({
    connectionString,
    connectionTimeoutMillis: limits.connectMs,
    statement_timeout: limits.statementMs,
    stream,
  })
  const storage = postgresStorage(pool)
  const close = async (): Promise<void> => {
    await storage.close?.()
    await pool.end()
    // If a login fails in the driver, it leaves its socket open, and the command would hang until the server closes it.
    for (const socket of sockets) socket.destroy()
  }
  return { storage, close }
}

interface MysqlModule {
  readonly createPool: (options: object) => MysqlPool & { end(): Promise<void> }
}

/** The storage itself limits how long a statement waits for a lock. */
export async function openMysql(uri: string, { connectMs }: TimeLimits): Promise<OpenDatabase> {
  const path = resolvePackage('mysql2/promise')
  if (path === null) {
    throw new Error(
      'MariaDB needs a driver. Install it next to utility-api with: npm install mysql2\n' +
        'Or set UTILITY_API_DRIVERS to the folder of a project that has it.',
    )
  }
  const { createPool } = (await import(path)) as MysqlModule
  const pool = createPool({ uri, connectTimeout: connectMs })
  const storage = mysqlStorage(pool)
  const close = async (): Promise<void> => {
    await storage.close?.()
    await pool.end()
  }
  return { storage, name: 'MariaDB', close }
}

/**
 * Finds a driver next to this package or in the folder that UTILITY_API_DRIVERS names, or returns null.
 *
 * Never looks in the current folder on its own: anyone who can put files there could make the command run their code.
 */
function resolvePackage(name: string): string | null {
  const require = createRequire(import.meta.url)
  const named = process.env['UTILITY_API_DRIVERS']
  const paths = named === undefined || named === '' ? [] : [resolve(named)]
  try {
    return pathToFileURL(require.resolve(name, { paths: [import.meta.dirname, ...paths] })).href
  } catch {
    return null
  }
}
