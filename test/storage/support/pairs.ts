import { DatabaseSync } from 'node:sqlite'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { makePool as makeMysqlPool, startMysql, whyNoMysql } from './mysql-server.ts'
import { makePool, startPostgres } from './postgres-server.ts'
import { temporaryFile } from './sqlite-fixture.ts'

/** An empty store twice, as two servers have it. */
export type Pair = readonly [AdminStorage, AdminStorage]

/** What to do in the end, the last first. */
export type CleanUp = (() => unknown)[]

/** Opens a pair on each kind of store; starts a database server where it needs one. */
export const pairs: Readonly<Record<string, (cleanUp: CleanUp) => Promise<Pair>>> = {
  async memory() {
    const storage = memoryStorage()
    return [storage, storage]
  },
  async SQLite(cleanUp) {
    const { path, remove } = temporaryFile()
    cleanUp.push(remove)
    return migrated(() => {
      const database = new DatabaseSync(path)
      cleanUp.push(() => database.close())
      return sqliteStorage(database)
    })
  },
  async PostgreSQL(cleanUp) {
    const server = await startPostgres()
    cleanUp.push(() => server.stop())
    const url = await server.createDatabase()
    return migrated(() => {
      const pool = makePool(url)
      cleanUp.push(() => pool.end())
      return postgresStorage(pool)
    })
  },
  async MySQL(cleanUp) {
    const server = await startMysql()
    cleanUp.push(() => server.stop())
    const url = await server.createDatabase()
    return migrated(() => {
      const pool = makeMysqlPool(url)
      cleanUp.push(() => pool.end())
      return mysqlStorage(pool)
    })
  },
}

/** PAIR_STORES names the kinds that a test of two servers is to run on. */
const chosen = (process.env['PAIR_STORES'] ?? 'SQLite').split(',')
export const chosenPairs: readonly (readonly [kind: string, open: (typeof pairs)[string]])[] = Object.entries(
  pairs,
).filter(([kind]) => chosen.includes(kind))

/** Why a kind of store cannot be opened here; null where it can. */
export function whyNoPair(kind: string): string | null {
  return kind === 'MySQL' ? whyNoMysql() : null
}

async function migrated(open: () => AdminStorage & { migrate(): Promise<unknown> }): Promise<Pair> {
  const storage = open()
  await storage.migrate()
  return [storage, open()]
}

/** The last first, each after the other. */
export async function runCleanUp(cleanUp: CleanUp): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- a pool ends before its server does
  for (const each of cleanUp.splice(0).toReversed()) await each()
}
