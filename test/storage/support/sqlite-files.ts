import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { sqliteStorage, type SqliteDatabase, type SqliteStorage } from 'utility-api/storage/sqlite'
import { onTestFinished } from 'vitest'
import { temporaryFile, type ClosableDatabase } from './sqlite-fixture.ts'

type Driver = [name: string, open: (path: string) => ClosableDatabase]

export const drivers: [Driver, Driver] = [
  ['node:sqlite', (path) => new DatabaseSync(path)],
  ['better-sqlite3', (path) => new Database(path)],
]

/** A new file that any number of connections may open; all is cleaned up after the test. */
export function fileOf(openPath: (path: string) => ClosableDatabase): {
  readonly path: string
  readonly open: () => ClosableDatabase
} {
  const { path, remove } = temporaryFile()
  onTestFinished(remove)
  return {
    path,
    open() {
      const database = openPath(path)
      onTestFinished(() => void database.close())
      return database
    },
  }
}

/** A store on a connection, with its tables. */
export async function migrated(database: SqliteDatabase): Promise<SqliteStorage> {
  const storage = sqliteStorage(database)
  await storage.migrate()
  return storage
}
