/** Migrates the SQLite file of its argument, and prints what came of it. */
import { argv } from 'node:process'
import Database from 'better-sqlite3'
import type { StorageError } from 'utility-api/storage'
import { sqliteStorage } from 'utility-api/storage/sqlite'

try {
  await sqliteStorage(new Database(argv[2])).migrate()
  console.log('migrated')
} catch (error) {
  console.log((error as StorageError).kind, (error as StorageError).message)
}
