/** A SQLite file, or its write-ahead log, that is deleted or replaced while a store has it open. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { createUtilityApi } from 'utility-api'
import type { StorageError } from 'utility-api/storage'
import { sqliteStorage, type SqliteStorage } from 'utility-api/storage/sqlite'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'
import { drivers, fileOf, migrated } from './support/sqlite-files.ts'
import { temporaryFile, type ClosableDatabase } from './support/sqlite-fixture.ts'

/** The turn of the event loop whose reads share a transaction ends. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

const rounds = Number(process.env['LOST_FILE_ROUNDS'] ?? 4)

type Open = (path: string) => ClosableDatabase

let SecondCopy = Database

beforeAll(() => {
  const { path, remove } = temporaryFile()
  const folder = join(dirname(path), 'better-sqlite3')
  cpSync(dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json')), folder, {
    recursive: true,
  })
  SecondCopy = createRequire(import.meta.url)(folder) as typeof Database
  return remove
})

const openNode: Open = (path) => new DatabaseSync(path)
const openBetter: Open = (path) => new Database(path)
const openCopy: Open = (path) => new SecondCopy(path)

interface Trouble {
  /** Happens before the store opens the file. */
  readonly before?: (path: string) => void
  readonly strike: (path: string) => void
}

function closes(open: Open, when: 'before' | 'after'): () => Trouble {
  return () => {
    let other: ClosableDatabase
    const opened = (path: string): void => void (other = open(path)).exec('CREATE TABLE shop (x)')
    return {
      ...(when === 'before' && { before: opened }),
      strike(path) {
        if (when === 'after') opened(path)
        other.exec('INSERT INTO shop VALUES (1)')
        other.close()
      },
    }
  }
}

function replace(path: string): void {
  const copy = new DatabaseSync(`${path}-copy`)
  copy.exec('CREATE TABLE shop (x)')
  copy.close()
  renameSync(`${path}-copy`, path)
}

const libraries: [name: string, store: Open, trouble: () => Trouble][] = [
  ['better-sqlite3, opened before node:sqlite, closes', openNode, closes(openBetter, 'before')],
  ['better-sqlite3, opened after node:sqlite, closes', openNode, closes(openBetter, 'after')],
  ['node:sqlite, opened before better-sqlite3, closes', openBetter, closes(openNode, 'before')],
  ['node:sqlite, opened after better-sqlite3, closes', openBetter, closes(openNode, 'after')],
  ['a second copy of better-sqlite3, opened before it, closes', openBetter, closes(openCopy, 'before')],
  ['a second copy of better-sqlite3, opened after it, closes', openBetter, closes(openCopy, 'after')],
]
const files = drivers.flatMap(([name, open]): typeof libraries => [
  [`the file of ${name} is deleted`, open, () => ({ strike: (path) => rmSync(path) })],
  [`the file of ${name} is replaced`, open, () => ({ strike: replace })],
  [`the log of ${name} is deleted`, open, () => ({ strike: (path) => rmSync(`${path}-wal`) })],
])

const insert = (storage: SqliteStorage, key: string): Promise<unknown> =>
  Promise.resolve(storage.insertLicense(newLicense(key), undefined, call))

/** Acknowledges three licenses, lets the trouble strike, and sees that nothing is acknowledged or healthy from then on. */
async function runRound(open: Open, { before, strike }: Trouble, healthFirst: boolean): Promise<RoundEnd> {
  const { path, remove } = temporaryFile()
  before?.(path)
  const database = open(path)
  const storage = await migrated(database)
  const { health } = createUtilityApi({ storage })
  for (const key of ['a', 'b', 'c']) expect(await insert(storage, key)).toBe('inserted')
  expect(await health()).toEqual({ storage: 'ok' })
  strike(path)
  if (healthFirst) expect(await health()).toEqual({ storage: 'failed' })
  const writes = [insert(storage, 'd'), insert(storage, 'e')]
  await Promise.allSettled(writes)
  const settled = await Promise.allSettled([...writes, insert(storage, 'f')])
  expect(settled.filter(({ status }) => status === 'fulfilled')).toEqual([])
  expect(await health()).toEqual({ storage: 'failed' })
  expect(() => sqliteStorage(database)).toThrow('was')
  const error = (settled[2] as PromiseRejectedResult).reason as StorageError
  expect([error.kind, error.retryable]).toEqual(['unavailable', false])
  return { path, remove, database, message: error.message.replaceAll(path, 'PATH') }
}

interface RoundEnd {
  readonly path: string
  readonly remove: () => void
  readonly database: ClosableDatabase
  readonly message: string
}

/** Returns what a store that is opened anew finds of the acknowledged licenses. */
async function keysFound(path: string): Promise<string[]> {
  const database = new DatabaseSync(path)
  const storage = sqliteStorage(database)
  const found = await Promise.all(['a', 'b', 'c'].map((key) => storage.findLicense(key, call)))
  const intact = database.prepare('PRAGMA integrity_check').get()
  expect(intact).toEqual({ integrity_check: 'ok' })
  database.close()
  return found.flatMap((license) => license?.licenseKey ?? [])
}

const eachRound = Array.from({ length: rounds }, (_, round) => round)

test.each(libraries)('%s: nothing more is acknowledged, and what was is in the file', async (_, ...given) => {
  const [open, trouble] = given
  for (const round of eachRound) {
    // oxlint-disable-next-line no-await-in-loop -- round after round
    const { path, remove, database, message } = await runRound(open, trouble(), round % 2 === 0)
    expect(message).toContain('PATH-wal was deleted or replaced while it was open, as happens if another')
    // A program that is stopped closes its connection; one that is killed does not.
    if (round % 4 < 2) database.close()
    // oxlint-disable-next-line no-await-in-loop -- round after round
    expect(await keysFound(path)).toEqual(['a', 'b', 'c'])
    if (round % 4 >= 2) database.close()
    remove()
  }
})

test.each(files)(
  '%s: nothing more is acknowledged, and the error says what is lost',
  async (name, ...given) => {
    const [open, trouble] = given
    for (const round of eachRound) {
      // oxlint-disable-next-line no-await-in-loop -- round after round
      const { path, remove, database, message } = await runRound(open, trouble(), round % 2 === 0)
      expect(message).toMatch(
        /^SQLite: PATH(?:-wal)? was deleted.* while it was open.* lost .* program.*\. .*estart/,
      )
      database.close()
      // oxlint-disable-next-line no-await-in-loop -- round after round
      if (name.startsWith('the log')) expect(await keysFound(path)).toEqual(['a', 'b', 'c'])
      remove()
    }
  },
)

describe.each(drivers)('%s', (name, openPath) => {
  const openFile = (): ReturnType<typeof fileOf> => fileOf(openPath)
  const openOther = name === 'node:sqlite' ? openBetter : openNode

  async function openStore(path: string): Promise<{ database: ClosableDatabase; storage: SqliteStorage }> {
    const database = openPath(path)
    onTestFinished(() => void database.close())
    const storage = await migrated(database)
    return { database, storage }
  }

  test('a store whose log is gone writes nothing, or the file of the library that goes on is malformed', async () => {
    const { path, remove } = temporaryFile()
    const database = openPath(path)
    const storage = await migrated(database)
    await insert(storage, 'a')
    openOther(path).close()
    const first = openOther(path)
    first.exec('CREATE TABLE shop (x)')
    first.close()
    const other = openOther(path)
    other.exec(`
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500)
      INSERT INTO shop SELECT printf('%0500d', n) FROM number`)
    const keys = Array.from({ length: 100 }, (_, index) => `lost-${index}`)
    const writes = await Promise.allSettled(keys.map((key) => insert(storage, key)))
    expect(writes.every(({ status }) => status === 'rejected')).toBe(true)
    database.close()
    other.close()
    const after = new DatabaseSync(path)
    expect(after.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(after.prepare('SELECT count(*) AS count FROM utility_api_licenses').get()).toEqual({ count: 1 })
    after.close()
    remove()
  })

  test('a file that is lost during a commit is noticed before the answer', async () => {
    const { path, open } = openFile()
    await openStore(path)
    const database = open()
    const storage = sqliteStorage({
      prepare: (sql) => database.prepare(sql),
      exec(sql) {
        database.exec(sql)
        if (sql === 'COMMIT') rmSync(path)
      },
    })
    expect((await errorOf(() => insert(storage, 'a'))).message).toContain(`${path} was deleted`)
  })

  test('a read looks once a second, or revocations in the new file would be hidden', async () => {
    const { path } = openFile()
    const { storage } = await openStore(path)
    await insert(storage, 'a')
    replace(path)
    expect(await storage.findLicense('a', call)).toMatchObject({ licenseKey: 'a' })
    const later = performance.now() + 1000
    const spy = vi.spyOn(performance, 'now').mockReturnValue(later)
    await turn()
    const error = await errorOf(() => storage.findLicense('a', call))
    expect([error.kind, error.retryable]).toEqual(['unavailable', false])
    spy.mockRestore()
    expect((await errorOf(() => storage.findLicense('a', call))).message).toContain('replaced')
  })

  test('whoever keeps the rules is no loss: own connections, other processes, checkpoints, VACUUM', async () => {
    const { path, open } = openFile()
    const { database, storage } = await openStore(path)
    await insert(storage, '0')
    const inProcess = (sql: string): void => {
      const code = `const d = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}); d.exec(${JSON.stringify(sql)}); d.close()`
      const { status, stderr } = spawnSync(process.execPath, ['--no-warnings', '-e', code], {
        encoding: 'utf8',
      })
      expect([status, stderr]).toEqual([0, ''])
    }
    const events = [
      () => inProcess('CREATE TABLE shop (x)'),
      () => inProcess('PRAGMA wal_checkpoint(TRUNCATE)'),
      () => inProcess('VACUUM'),
      () => inProcess(`VACUUM INTO '${path}-copy'`),
      () => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'),
      () => database.exec('VACUUM'),
      () => {
        const own = openPath(path)
        own.exec('INSERT INTO shop VALUES (1); VACUUM')
        expect(() => own.exec('PRAGMA journal_mode = DELETE')).toThrow('locked')
        own.close()
      },
      () => void open().exec('PRAGMA journal_mode = WAL'),
    ]
    for (const [index, event] of events.entries()) {
      event()
      // oxlint-disable-next-line no-await-in-loop -- event after event
      expect(await insert(storage, `after-${index}`)).toBe('inserted')
      // oxlint-disable-next-line no-await-in-loop -- event after event
      await storage.ping?.(call)
      // oxlint-disable-next-line no-await-in-loop -- event after event
      await turn()
    }
  })

  test('a store that leaves the log for another mode has lost nothing, and still knows its file', async () => {
    const { path } = openFile()
    const { database, storage } = await openStore(path)
    await insert(storage, 'a')
    database.exec('PRAGMA journal_mode = DELETE')
    expect(await insert(storage, 'b')).toBe('inserted')
    rmSync(path)
    expect((await errorOf(() => insert(storage, 'c'))).message).toContain(`${path} was deleted`)
  })

  test('a log that another connection turned on is known from the first write into it', async () => {
    const { path, open } = openFile()
    const first = openPath(path)
    await sqliteStorage(first).migrate()
    first.exec('PRAGMA journal_mode = DELETE')
    first.close()
    const storage = sqliteStorage(open())
    expect(await insert(storage, 'a')).toBe('inserted')
    open().exec('PRAGMA journal_mode = WAL')
    expect(await insert(storage, 'b')).toBe('inserted')
    rmSync(`${path}-wal`)
    expect((await errorOf(() => insert(storage, 'c'))).message).toContain(`${path}-wal was deleted`)
  })

  test('the log that migrate() turns on is known at once, or the first write after it would be lost', async () => {
    const { path, open } = openFile()
    const first = openPath(path)
    await sqliteStorage(first).migrate()
    first.exec('PRAGMA journal_mode = DELETE')
    first.close()
    const storage = await migrated(open())
    const other = openOther(path)
    other.exec('CREATE TABLE shop (x)')
    other.close()
    expect((await errorOf(() => insert(storage, 'a'))).message).toContain(`${path}-wal was deleted`)
  })

  test('a link, a relative path and a database in memory are no loss', async () => {
    const { path } = openFile()
    const link = `${path}-link`
    symlinkSync(path, link)
    const { storage } = await openStore(relative(process.cwd(), link))
    rmSync(link)
    const before = process.cwd()
    process.chdir(dirname(path))
    onTestFinished(() => process.chdir(before))
    expect(await insert(storage, 'a')).toBe('inserted')
    const inMemory = await openStore(':memory:')
    expect(await insert(inMemory.storage, 'a')).toBe('inserted')
    await inMemory.storage.ping?.(call)
  })

  test('a file that cannot be looked at is not taken for lost', async () => {
    const { path } = openFile()
    const { storage } = await openStore(path)
    const folder = dirname(path)
    renameSync(folder, `${folder}-moved`)
    symlinkSync(folder, folder)
    const error = await errorOf(() => storage.ping?.(call))
    expect([error.kind, error.retryable, error.message]).toEqual([
      'unavailable',
      false,
      expect.stringMatching(/^SQLite: ELOOP/),
    ])
    rmSync(folder)
    renameSync(`${folder}-moved`, folder)
    expect(await insert(storage, 'a')).toBe('inserted')
  })
})

const mayMount = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0
const whyNot = 'mounting a file takes the rights of root on Linux'

/** Migrates a file after these commands, in a namespace whose mounts end with it. */
function migrateAfter(commands: string): string {
  const { path, remove } = temporaryFile()
  onTestFinished(remove)
  const folder = dirname(path)
  mkdirSync(join(folder, 'a b\\c'))
  const sources = new URL('../support/sources.ts', import.meta.url).href
  const worker = fileURLToPath(new URL('support/migrate-worker.ts', import.meta.url))
  const script = `set -e; cd "$0"; mount -t tmpfs none /mnt; ${commands}; exec "$@"`
  const program = [process.execPath, '--import', sources, worker, join(folder, 'a b\\c/file.sqlite')]
  const { stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', script, folder, ...program], {
    encoding: 'utf8',
  })
  return stdout.replaceAll(folder, 'FOLDER') + stderr
}

test.runIf(!mayMount)(`mounts: ${whyNot}`, ({ skip }) => skip(whyNot))

describe.runIf(mayMount)('mounts', () => {
  const refused = `invalid SQLite: FOLDER/a b\\c/file.sqlite is mounted as a single file, so the newest rows, which are in FOLDER/a b\\c/file.sqlite-wal, would not be kept with it. Mount its folder instead.\n`

  test.each([
    ['of another device', 'touch /mnt/f "a b\\c/file.sqlite"; mount --bind /mnt/f "a b\\c/file.sqlite"'],
    ['of the same device', 'touch f "a b\\c/file.sqlite"; mount --bind f "a b\\c/file.sqlite"'],
    [
      'of another device, where no list of mounts can be read',
      'touch /mnt/f "a b\\c/file.sqlite"; mount --bind /mnt/f "a b\\c/file.sqlite"; mount -t tmpfs none /proc',
    ],
  ])('a single file %s is refused', (_, commands) => {
    expect(migrateAfter(commands)).toBe(refused)
  })

  test.each([
    ['a folder', 'mount --bind /mnt "a b\\c"'],
    [
      'an overlay, which names another device for the file',
      `mkdir /mnt/l /mnt/u; mount -t tmpfs none /mnt/l; mount -t tmpfs none /mnt/u; mkdir /mnt/u/u /mnt/u/w
       mount -t overlay none -o lowerdir=/mnt/l,upperdir=/mnt/u/u,workdir=/mnt/u/w,xino=off "a b\\c"
       touch "a b\\c/x"; test "$(stat -c %d "a b\\c")" != "$(stat -c %d "a b\\c/x")"`,
    ],
  ])('%s is not refused', (_, commands) => {
    expect(migrateAfter(commands)).toBe('migrated\n')
  })
})
