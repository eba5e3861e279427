import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'
import type { StorageFixture } from '../../src/testing/storage-contract.ts'
import { testContract } from './register.ts'

type Closable = SqliteDatabase & { close(): unknown }

/** Two connections to one file, as two processes would have. */
async function openTwice(open: (path: string) => Closable): Promise<StorageFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'utility-api-'))
  const connections = [open(join(directory, 'a.sqlite')), open(join(directory, 'a.sqlite'))]
  const [storage, second] = connections.map((connection) => sqliteStorage(connection))
  if (storage === undefined || second === undefined) throw new Error('two connections')
  await storage.migrate()
  return {
    storage,
    second,
    disconnect: () => connections.forEach((connection) => connection.close()),
    close: () => {
      for (const connection of connections) ignoreErrors(() => connection.close())
      rmSync(directory, { recursive: true })
    },
  }
}

function ignoreErrors(call: () => unknown): void {
  try {
    call()
  } catch {}
}

testContract('SQLite through node:sqlite', () => openTwice((path) => new DatabaseSync(path)))
testContract('SQLite through better-sqlite3', () => openTwice((path) => new Database(path)))
