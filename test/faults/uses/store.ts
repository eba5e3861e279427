import { DatabaseSync } from 'node:sqlite'
import type { AdminStorage, StorageListing } from 'utility-api/storage'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { makePool } from '../../storage/support/postgres-server.ts'

/** A storage on a database of its own, and its rows. */
export interface UsesStore {
  readonly storage: AdminStorage & { readonly listing?: StorageListing; migrate(): Promise<unknown> }
  /** How many rows there are for credentials. */
  countRows(): Promise<number>
  close(): Promise<void>
}

const countCredentials = 'SELECT count(*) AS count FROM utility_api_credentials'

/** Opens a PostgreSQL URL or the path of a SQLite file. */
export function openUses(store: string): UsesStore {
  if (!store.startsWith('postgres')) {
    const database = new DatabaseSync(store)
    return {
      storage: sqliteStorage(database),
      countRows: async () => Number(database.prepare(countCredentials).get()?.['count']),
      close: async () => database.close(),
    }
  }
  const pool = makePool(store)
  return {
    storage: postgresStorage(pool),
    countRows: async () => Number((await pool.query(countCredentials)).rows[0].count),
    close: () => pool.end(),
  }
}
