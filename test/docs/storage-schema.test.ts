import { spawnSync } from 'node:child_process'
import { callWithin } from 'utility-api/storage'
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import * as mysql from '../../adapters/storage/mysql/schema-steps.ts'
import * as postgres from '../../adapters/storage/postgres/schema-steps.ts'
import { quoted } from '../support/shell.ts'

// The page on the tables names every table and column there is, and no other.

const root = join(import.meta.dirname, '../..')

/** Columns by table, in alphabetical order. */
type Tables = Record<string, string[]>

/** What the page says of one database: columns that only others have left out. */
function documented(database: string): Tables {
  const page = readFileSync(join(root, 'docs/storage-schema.md'), 'utf8')
  return Object.fromEntries(
    page
      .split('\n## ')
      .filter((part) => part.startsWith('`utility_api_'))
      .map((part) => {
        const rows = part.split('\n').filter((line) => line.startsWith('| `'))
        const own = rows.filter((row) => (/\| (\w+) only: /.exec(row)?.[1] ?? database) === database)
        const columns = own.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)])
        return [part.slice(1, part.indexOf('`', 1)), columns.map(([, name = '']) => name).toSorted()]
      }),
  )
}

test('SQLite has the tables of the page', async () => {
  const database = new DatabaseSync(':memory:')
  await sqliteStorage(database).migrate()
  const names = database.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'utility_api_%'`,
  )
  const tables = names.all().map(({ name }): [string, string[]] => {
    const columns = database.prepare('SELECT name FROM pragma_table_info(?) ORDER BY name').all(String(name))
    return [String(name), columns.map((column) => String(column['name']))]
  })
  expect(documented('SQLite')).toEqual(Object.fromEntries(tables))
  database.close()
})

test('the backup of MariaDB names every table of the page', () => {
  const page = readFileSync(join(root, 'docs/storage-schema.md'), 'utf8')
  const [command = ''] = /mariadb-dump [^]*?> copy\.sql/.exec(page) ?? []
  const names = command.match(/utility_api_\w+/g) ?? []
  expect(names.toSorted()).toEqual(Object.keys(documented('MariaDB')).toSorted())
})

test('a backup of SQLite is restored as the page says; beside the two files, newer rows come back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-restore-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, copy] = [join(folder, 'utility.sqlite'), join(folder, 'copy.sqlite')]
  const [wal, shm] = [`${file}-wal`, `${file}-shm`]
  const service = new DatabaseSync(file)
  const storage = sqliteStorage(service)
  await storage.migrate()
  const page = readFileSync(join(root, 'docs/storage-schema.md'), 'utf8')
  const [line = ''] = /^\(umask 077; node -e .*\)$/m.exec(page) ?? []
  const asPrinted = line.replace('node -e', `${quoted(process.execPath)} --no-warnings -e`)
  expect(spawnSync('sh', ['-c', asPrinted], { cwd: folder, encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  })
  expect(statSync(join(folder, 'copy.sqlite')).mode & 0o077).toBe(0)
  // It overwrites nothing.
  expect(spawnSync('sh', ['-c', asPrinted], { cwd: folder, encoding: 'utf8' }).stderr).toContain('exists')
  await storage.insertReseller({ resellerId: 'newer', createdAt: 1 }, callWithin(Infinity))
  const afterCrash = mkdtempSync(join(folder, 'crash-'))
  for (const each of [wal, shm]) cpSync(each, join(afterCrash, basename(each)))
  await storage.close?.()
  service.close()

  const resellers = (): unknown[] => {
    const restored = new DatabaseSync(file)
    const rows = restored.prepare('SELECT reseller_id FROM utility_api_resellers').all()
    restored.close()
    return rows
  }
  cpSync(afterCrash, folder, { recursive: true })
  cpSync(copy, file)
  expect(resellers()).toEqual([{ reseller_id: 'newer' }])

  cpSync(afterCrash, folder, { recursive: true })
  for (const each of [wal, shm]) rmSync(each)
  cpSync(copy, file)
  expect(resellers()).toEqual([])
})

test.each([
  ['PostgreSQL', postgres.steps],
  ['MariaDB', mysql.steps.flat()],
] as const)('%s has the tables of the page', (database, steps) => {
  const made = steps.join(';').matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(([^;]*)/g)
  const tables = Array.from(made, ([, table = '', body = '']): [string, string[]] => {
    const columns = Array.from(body.matchAll(/(?:^|,)\s*([a-z_]+) /g), ([, name = '']) => name)
    return [table, columns.toSorted()]
  })
  expect(tables).toHaveLength(7)
  expect(documented(database)).toEqual(Object.fromEntries(tables))
})
