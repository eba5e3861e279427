import Database from 'better-sqlite3'
import { Pool } from 'pg'
import type { AdminStorage } from 'utility-api/storage'
import { createPool } from 'mysql2/promise'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'

/** A store to race on, opened in as many processes as one likes. */
export interface RaceStore {
  readonly storage: AdminStorage
  migrate(): Promise<unknown>
  /** How many access tokens are stored. */
  tokenRows(): Promise<number>
  close(): Promise<void>
}

const countTokens = "SELECT count(*) AS rows FROM utility_api_credentials WHERE kind = 'access_token'"

/** Opens a URL of PostgreSQL or MariaDB, or a SQLite file. */
export function openRaceStore(target: string): RaceStore {
  if (target.startsWith('mysql:')) return openMysql(target)
  return target.startsWith('postgres:') ? openPostgres(target) : openSqlite(target)
}

function openSqlite(file: string): RaceStore {
  const database = new Database(file)
  const storage = sqliteStorage(database)
  return {
    storage,
    migrate: () => storage.migrate(),
    tokenRows: async () => (database.prepare(countTokens).get() as { rows: number }).rows,
    close: async () => void database.close(),
  }
}

function openPostgres(url: string): RaceStore {
  const pool = new Pool({ connectionString: url })
  const storage = postgresStorage(pool)
  return {
    storage,
    migrate: () => storage.migrate(),
    tokenRows: async () => Number((await pool.query<{ rows: string }>(countTokens)).rows[0]?.rows),
    close: () => pool.end(),
  }
}

function openMysql(url: string): RaceStore {
  const pool = createPool(url)
  const storage = mysqlStorage(pool)
  return {
    storage,
    migrate: () => storage.migrate(),
    tokenRows: async () => {
      const [rows] = await pool.query(countTokens)
      return Number((rows as { rows: number }[])[0]?.rows)
    },
    close: () => pool.end(),
  }
}
