import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'
import { temporaryFile, type ClosableDatabase } from '../../storage/support/sqlite-fixture.ts'
import type { Place } from './place.ts'
import { Steps } from './steps.ts'

/** What comes of the chosen step of a connection. */
type Fault = (database: ClosableDatabase, work: () => unknown, sql: string) => unknown

function diskError(): Error {
  return Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR', errcode: 10 })
}

function pages(database: ClosableDatabase, pragma: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() as object)[0])
}

const faults: Readonly<Record<string, Fault>> = {
  'disk error before': () => {
    throw diskError()
  },
  'disk error after': (_, work, sql) => {
    // A BEGIN that fails has begun nothing.
    if (!sql.startsWith('BEGIN')) work()
    throw diskError()
  },
  // As SQLite itself does after some errors of the disk.
  'disk error that rolls back': (database) => {
    if (database.isTransaction === true || database.inTransaction === true) database.exec('ROLLBACK')
    throw diskError()
  },
  // For good: until somebody makes room.
  'disk full': (database, work) => {
    pages(database, `max_page_count = ${pages(database, 'page_count')}`)
    return work()
  },
}

/** A connection each of whose calls is a step. */
export function onSteps(
  database: ClosableDatabase,
  step: (work: () => unknown, sql: string) => unknown,
): SqliteDatabase {
  return {
    exec: (sql) => step(() => database.exec(sql), sql),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        run: (...values) => step(() => statement.run(...values), sql) as { changes: number },
        get: (...values) => step(() => statement.get(...values), sql),
        all: (...values) => step(() => statement.all(...values), sql) as unknown[],
      }
    },
    get isTransaction() {
      return database.isTransaction === true || database.inTransaction === true
    },
  }
}

const drivers: Readonly<Record<string, (path: string) => ClosableDatabase>> = {
  'node:sqlite': (path) => new DatabaseSync(path),
  'better-sqlite3': (path) => new Database(path),
}

export const sqlitePlaces: readonly Place[] = Object.entries(drivers).flatMap(([driver, open]) =>
  Object.entries(faults).map(([fault, fail]) => {
    const steps = new Steps()
    return {
      store: `SQLite, ${driver}`,
      fault,
      steps,
      async make() {
        const { path, remove } = temporaryFile()
        const connections = [open(path), open(path)] as const
        const [first, second] = connections.map((database) =>
          onSteps(database, (work, sql) => (steps.take() ? fail(database, work, sql) : work())),
        ) as [SqliteDatabase, SqliteDatabase]
        const storage = sqliteStorage(first)
        await storage.migrate()
        return {
          storage,
          second: sqliteStorage(second),
          lift: () => connections.forEach((each) => pages(each, `max_page_count = ${2 ** 30}`)),
          reopen: () => sqliteStorage(first),
          close() {
            for (const each of connections) each.close()
            remove()
          },
        }
      },
    }
  }),
)
