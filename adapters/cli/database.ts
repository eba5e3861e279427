import { closeSync, existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createAdmin, type Admin, type LicenseOptions } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { postgresStorage, type PostgresPool } from 'utility-api/storage/postgres'
import { sqliteStorage, type SqliteDatabase, type SqliteStorage } from 'utility-api/storage/sqlite'
import { UsageError } from './command.ts'
import type { OpenDatabase } from './open-database.ts'
import { jsonOption } from './output.ts'
import { openStorageModule } from './storage-module.ts'

/** The options that every command on a database has. */
export const databaseOptions = {
  database: {
    type: 'string',
    valueHint: 'FILE',
    description:
      'SQLite file, or PostgreSQL, MySQL or MariaDB URL without password. Default: UTILITY_API_DATABASE. Drivers are looked for beside this package, then in the folder that UTILITY_API_DRIVERS names.',
  },
  storage: {
    type: 'string',
    valueHint: 'MODULE',
    description: 'Instead of a database, a module of yours: its default export makes an AdminStorage.',
  },
} as const

/** The options of every command that provisions. */
export const adminOptions: typeof databaseOptions & typeof jsonOption = { ...databaseOptions, ...jsonOption }

/** The option of everything that people give a label. */
export const nameOption = {
  name: { type: 'string', valueHint: 'TEXT', description: 'A label for people.' },
} as const

/** Where the data is, as the command line says it. */
export interface Where {
  readonly database?: string | undefined
  readonly storage?: string | undefined
}

/** Opens what is named on the command line or in the environment; a new file only where `create` allows it. */
async function openDatabase({
  database,
  storage,
  create = false,
}: Where & { readonly create?: boolean }): Promise<OpenDatabase> {
  if (storage !== undefined) {
    if (database !== undefined) throw new UsageError('Give either --database or --storage.')
    return openStorageModule(storage)
  }
  refusePassword(database)
  const name = database ?? process.env['UTILITY_API_DATABASE']
  if (name === undefined || name === '') {
    throw new UsageError('Which database? Give --database FILE, or set UTILITY_API_DATABASE.')
  }
  if (isPostgresUrl(name)) return openPostgres(name)
  if (isMysqlUrl(name)) return openMysql(name)
  if (name.includes('://'))
    throw new UsageError('The database must be a file or a postgres://, mysql:// or mariadb:// URL.')
  if (!create && !existsSync(name)) {
    throw new Error(`There is no file ${name}. To create it: utility-api migrate --database ${name}`)
  }
  return openSqlite(name)
}

/** Opens the database, works on it, and closes it whatever happened. */
export async function withDatabase<Value>(
  where: Where & { readonly create?: boolean },
  work: (storage: OpenDatabase['storage']) => Promise<Value>,
): Promise<Value> {
  const { storage, name, close } = await openDatabase(where)
  try {
    return await work(storage)
  } catch (error) {
    throw error instanceof StorageError && name !== undefined ? naming(name, error) : error
  } finally {
    await close()
  }
}

/** The database itself says "attempt to write a readonly database", and not which. */
function naming(name: string, error: StorageError): Error {
  const message = error.message.replace(/^SQLite: /, '')
  return isMissingTables(error) ? error : new Error(`${name}: ${message}`, { cause: error })
}

export function isMissingTables(error: unknown): boolean {
  return error instanceof StorageError && error.message.includes('migrate()')
}

/** The same for whatever provisions. */
export function withAdmin<Value>(
  where: Where,
  work: (admin: Admin) => Promise<Value>,
  licenses: LicenseOptions = {},
): Promise<Value> {
  return withDatabase(where, (storage) => work(createAdmin({ storage, licenses })))
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text)
}

function isMysqlUrl(text: string): boolean {
  return /^(?:mysql|mariadb):\/\//.test(text)
}

/** Command lines end up in shell histories and process lists. */
function refusePassword(given: string | undefined): void {
  if (given === undefined || !(isPostgresUrl(given) || isMysqlUrl(given))) return
  const url = URL.canParse(given) ? new URL(given) : null
  if (url === null) throw new UsageError('--database is no valid URL.')
  if (url.password === '' && !url.searchParams.has('password')) return
  throw new UsageError(
    'A password on the command line can be read by others. Set UTILITY_API_DATABASE to the URL instead.',
  )
}

async function openSqlite(file: string): Promise<OpenDatabase> {
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
    // The driver would let everybody read what it makes. SQLite gives the files beside this one the same mode.
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
  // Node 22 warns that its own SQLite is experimental: noise between the lines of a command.
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

async function openPostgres(connectionString: string): Promise<OpenDatabase> {
  const path = resolvePackage('pg')
  if (path === null) {
    throw new Error(
      'PostgreSQL needs a driver. Install it beside utility-api with: npm install pg\n' +
        'Or set UTILITY_API_DRIVERS to the folder of a project that has it.',
    )
  }
  const { default: pg } = (await import(path)) as PgModule
  const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 5000, statement_timeout: 5000 })
  const storage = postgresStorage(pool)
  const close = async (): Promise<void> => {
    await storage.close?.()
    await pool.end()
  }
  return { storage, close }
}

interface MysqlModule {
  readonly createPool: (options: object) => MysqlPool & { end(): Promise<void> }
}

async function openMysql(uri: string): Promise<OpenDatabase> {
  const path = resolvePackage('mysql2/promise')
  if (path === null) {
    throw new Error(
      'MySQL needs a driver. Install it beside utility-api with: npm install mysql2\n' +
        'Or set UTILITY_API_DRIVERS to the folder of a project that has it.',
    )
  }
  const { createPool } = (await import(path)) as MysqlModule
  const pool = createPool({ uri, connectTimeout: 5000 })
  const storage = mysqlStorage(pool)
  const close = async (): Promise<void> => {
    await storage.close?.()
    await pool.end()
  }
  return { storage, close }
}

/**
 * Where a driver is: beside this package, or in the folder that UTILITY_API_DRIVERS names; null when in neither.
 *
 * Never in the current folder unasked: whoever can put files where the command is run would run code in it.
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
