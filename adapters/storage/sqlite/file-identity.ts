import { readFileSync, statSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import { StorageError } from 'utility-api/storage'
import { performance } from '../shared/timers.ts'
import type { SqliteDatabase } from './driver.ts'

/**
 * Throws if the database file or the write-ahead log at its path is not the one that the connection has open. What is
 * committed then is lost, and once it has thrown, it always throws. It does not look if its last look is no older than
 * `maxAgeMs`, 0 by default.
 */
export type RequireSameFiles = (maxAgeMs?: number) => void

/** Creates the check for a connection. Its first call takes the files that are there for the connection's. */
export function createFileCheck(database: SqliteDatabase): RequireSameFiles {
  let path: string | undefined
  let file: BigIntStats | undefined
  let log: BigIntStats | undefined
  let lookedAt = -Infinity
  let loss: string | undefined

  function findLoss(): string | undefined {
    path ??= pathOf(database)
    if (path === '') return undefined
    const fileNow = statOf(path)
    file ??= fileNow
    if (!isSame(file, fileNow))
      return `SQLite: ${path} was deleted, moved or replaced while it was open. All that was acknowledged is in the old file: if that was deleted, it is lost when the program ends. Put the right file in its place and restart the program.`
    const logNow = statOf(`${path}-wal`)
    if (isSame(log, logNow)) return undefined
    // In another mode, a log is of no concern, because whoever changes the mode may create and delete it.
    const hasLog = journalModeOf(database) === 'wal'
    if (hasLog && log !== undefined)
      return `SQLite: ${path}-wal was deleted or replaced while it was open, as happens if another SQLite library or installed copy in this process closes the file. Nothing that was acknowledged is lost if the program closes its connection; if it is killed, what was only in the log may be. Restart it, and open the file through one library only.`
    log = hasLog ? logNow : undefined
    return undefined
  }

  return (maxAgeMs = 0) => {
    const now = performance.now()
    if (loss === undefined && now - lookedAt >= maxAgeMs) {
      loss = findLoss()
      lookedAt = now
    }
    if (loss !== undefined) throw new StorageError('unavailable', loss)
  }
}

/**
 * Throws if the database file is a mount of its own. Its write-ahead log is then in the folder below, and ends with the
 * container while the file stays.
 */
export function refuseMountedFile(database: SqliteDatabase): void {
  const path = pathOf(database)
  if (path === '' || !isMounted(path)) return
  const message = `SQLite: ${path} is mounted as a single file, so the newest rows, which are in ${path}-wal, would not be kept with it. Mount its folder instead.`
  throw new StorageError('invalid', message)
}

function isMounted(path: string): boolean {
  let mounts: string
  try {
    mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    // Only where no list of mounts can be read, because an overlay may name another device for each file.
    return statOf(path)?.dev !== statOf(dirname(path))?.dev
  }
  const escaped = path.replaceAll(/[ \t\n\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`)
  return mounts.split('\n').some((line) => line.split(' ')[4] === escaped)
}

/** Returns the absolute path of the database file, or `''` if the database is in memory. */
function pathOf(database: SqliteDatabase): string {
  const { file } = database.prepare('PRAGMA database_list').get() as { readonly file?: string }
  if (file === undefined)
    throw new StorageError('bug', 'The connection returns rows in another form than objects.')
  return file
}

function journalModeOf(database: SqliteDatabase): string {
  return (database.prepare('PRAGMA journal_mode').get() as { journal_mode: string }).journal_mode
}

/** Looks without opening the file, because closing it again would drop the locks that the process has on it. */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    throw new StorageError('unavailable', `SQLite: ${(error as Error).message}`, { cause: error })
  }
}

/** A file that is open keeps both numbers, also after it was deleted, and no other file gets them. */
function isSame(seen: BigIntStats | undefined, now: BigIntStats | undefined): boolean {
  return seen !== undefined && seen.ino === now?.ino && seen.dev === now.dev
}
