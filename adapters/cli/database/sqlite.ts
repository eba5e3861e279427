import { closeSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { StorageError } from 'utility-api/storage'
import { sqliteStorage, type SqliteDatabase, type SqliteStorage } from 'utility-api/storage/sqlite'
import { naming } from './database-errors.ts'
import { resolvePackage, type OpenDatabase } from './drivers.ts'

/** @param name - What messages call the file. */
export async function openSqlite(file: string, name: string): Promise<OpenDatabase> {
  const database = await connectSqlite(file, name)
  return { storage: sqliteOn(database, name), name, close: () => database.close() }
}

function sqliteOn(database: SqliteConnection, name: string): SqliteStorage {
  try {
    return sqliteStorage(database)
  } catch (error) {
    database.close()
    throw error instanceof StorageError ? naming(name, error) : error
  }
}

type SqliteConnection = SqliteDatabase & { close(): void }
type SqliteConstructor = new (file: string) => SqliteConnection

const ownerOnly = 0o600

async function connectSqlite(file: string, name: string): Promise<SqliteConnection> {
  const Database = await sqliteDriver()
  const path = resolve(file)
  try {
    // The driver would create a file that everybody can read. SQLite gives the files next to this one the same mode.
    closeSync(openSync(path, 'a', ownerOnly))
    return new Database(path)
  } catch (error) {
    throw new Error(`Cannot open ${name}: ${reasonOf(error as NodeJS.ErrnoException)}`, { cause: error })
  }
}

/** Returns why a file cannot be opened, without its path, which the system's message repeats. */
function reasonOf({ code, errno, message }: NodeJS.ErrnoException): string {
  const known = errno === undefined ? undefined : getSystemErrorMap().get(errno)
  return known === undefined ? message : `${code}: ${known[1]}`
}

async function sqliteDriver(): Promise<SqliteConstructor> {
  if (process.versions['bun'] !== undefined) return constructorIn('bun:sqlite', 'Database')
  const betterSqlite = resolvePackage('better-sqlite3')
  const installed = betterSqlite === null ? null : await usable(betterSqlite)
  if (installed !== null) return installed
  // Node 22 warns that its own SQLite is experimental: noise in a command's output.
  process.removeAllListeners('warning')
  return constructorIn('node:sqlite', 'DatabaseSync')
}

/**
 * Returns the constructor of an installed driver, or null if it does not load. The compiled part of better-sqlite3 12,
 * which npm on Node.js 20 chooses, fits one version of Node.js and is missing where install scripts are not run.
 */
async function usable(driver: string): Promise<SqliteConstructor | null> {
  try {
    const Database = await constructorIn(driver, 'default')
    new Database(':memory:').close()
    return Database
  } catch {
    return null
  }
}

async function constructorIn(specifier: string, name: string): Promise<SqliteConstructor> {
  const module = (await import(specifier)) as Record<string, SqliteConstructor>
  return module[name] as SqliteConstructor
}
