import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'
import type { StorageFixture } from '../../../src/testing/storage-contract.ts'

export type ClosableDatabase = SqliteDatabase & { close(): unknown }

/** In memory where the system has such a folder: no power is cut here, and a busy disk makes seconds of each commit. */
function makeDirectory(): string {
  try {
    return mkdtempSync('/dev/shm/utility-api-')
  } catch {
    return mkdtempSync(join(tmpdir(), 'utility-api-'))
  }
}

/** A new directory for a database file, and how to get rid of it. */
export function temporaryFile(): { path: string; remove: () => void } {
  const directory = makeDirectory()
  return { path: join(directory, 'a.sqlite'), remove: () => rmSync(directory, { recursive: true }) }
}

/** Two connections to one file, as two processes would have. */
export async function openTwice(open: (path: string) => ClosableDatabase): Promise<StorageFixture> {
  const { path, remove } = temporaryFile()
  const connections = [open(path), open(path)] as const
  const storage = sqliteStorage(connections[0])
  await storage.migrate()
  return {
    storage,
    second: sqliteStorage(connections[1]),
    disconnect: () => connections.forEach((connection) => connection.close()),
    close: () => {
      for (const connection of connections) ignoreErrors(() => connection.close())
      remove()
    },
  }
}

/** Closing twice is an error in some drivers. */
function ignoreErrors(call: () => unknown): void {
  try {
    call()
  } catch {}
}
