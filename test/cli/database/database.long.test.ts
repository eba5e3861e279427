import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { firstLine, run, shared, start, temporaryFolder } from '../support/cli.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** A folder whose `better-sqlite3` leaves a mark where it is loaded. */
function plantedFolder(driver = "require('node:sqlite').DatabaseSync"): {
  readonly path: string
  wasLoaded(): boolean
} {
  const path = mkdtempSync(join(folder.path, 'planted-'))
  const module = join(path, 'node_modules', 'better-sqlite3')
  const mark = join(path, 'loaded')
  mkdirSync(module, { recursive: true })
  writeFileSync(
    join(module, 'index.js'),
    `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')
    module.exports = ${driver}`,
  )
  return { path, wasLoaded: () => existsSync(mark) }
}

/** Hides a driver beside the package, as where nobody installed one. */
function hiddenBeside(driver = 'better-sqlite3'): string {
  const code = `import { Module } from 'node:module'
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, parent, isMain, options) => {
      if (name !== ${JSON.stringify(driver)}) return resolve(name, parent, isMain, options)
      const paths = options.paths.filter((path) => !path.startsWith(${JSON.stringify(process.cwd())}))
      return resolve(name, parent, isMain, { paths })
    }`
  return `data:text/javascript,${encodeURIComponent(code)}`
}

interface Placed {
  readonly cwd: string
  readonly imports?: readonly string[]
  readonly database?: string
  readonly env?: Record<string, string>
}

function migrateIn({ cwd, imports = [], database = 'new.sqlite', env = {} }: Placed): {
  status: number | null
  stderr: string
} {
  const modules = [...imports, resolve('test/support/sources.ts')].flatMap((module) => ['--import', module])
  const { status, stderr } = spawnSync(
    process.execPath,
    [...modules, resolve('adapters/cli/main.ts'), 'migrate', '--database', database],
    { cwd, encoding: 'utf8', env: { ...shared, ...env } },
  )
  return { status, stderr }
}

describe('the SQLite driver', () => {
  test('is not loaded from the folder in which the command is run', () => {
    const planted = plantedFolder()
    expect(migrateIn({ cwd: planted.path })).toEqual({ status: 0, stderr: '' })
    expect(planted.wasLoaded()).toBe(false)
  })

  test('is not loaded from there even if there is no other', () => {
    const planted = plantedFolder()
    expect(migrateIn({ cwd: planted.path, imports: [hiddenBeside()] })).toEqual({ status: 0, stderr: '' })
    expect(planted.wasLoaded()).toBe(false)
  })

  test('is loaded from the folder that UTILITY_API_DRIVERS names', () => {
    const planted = plantedFolder()
    const told = { cwd: folder.path, imports: [hiddenBeside()], env: { UTILITY_API_DRIVERS: planted.path } }
    expect(migrateIn(told)).toEqual({ status: 0, stderr: '' })
    expect(planted.wasLoaded()).toBe(true)
  })

  test.each([
    [
      'has no compiled part',
      "class { constructor() { throw new Error('Could not locate the bindings file.') } }",
    ],
    ['is for another version of Node.js', "(() => { throw new Error('NODE_MODULE_VERSION 115') })()"],
  ])('that %s leaves the work to the SQLite of Node.js', (_, driver) => {
    const planted = plantedFolder(driver)
    const told = { cwd: planted.path, imports: [hiddenBeside()], env: { UTILITY_API_DRIVERS: '.' } }
    expect(migrateIn(told)).toEqual({ status: 0, stderr: '' })
    expect(planted.wasLoaded()).toBe(true)
    expect(existsSync(join(planted.path, 'new.sqlite'))).toBe(true)
  })

  test('installed beside the package is preferred to a named one', () => {
    const planted = plantedFolder()
    expect(migrateIn({ cwd: planted.path, env: { UTILITY_API_DRIVERS: '.' } }).status).toBe(0)
    expect(planted.wasLoaded()).toBe(false)
  })
})

test.each([
  [
    'mariadb:',
    'mysql2/promise',
    'MariaDB needs a driver. Install it next to utility-api with: npm install mysql2',
  ],
  ['postgres:', 'pg', 'PostgreSQL needs a driver. Install it next to utility-api with: npm install pg'],
])('without a driver for %s, the command says which to install', (protocol, driver, says) => {
  const database = `${protocol}//me@127.0.0.1:1/db`
  const { status, stderr } = migrateIn({ cwd: folder.path, imports: [hiddenBeside(driver)], database })
  expect([status, stderr.split('\n')[0]]).toEqual([1, says])
})

describe.skipIf(process.platform === 'win32')('a database file', () => {
  const modes = (place: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(place).map((name) => [name, (statSync(join(place, name)).mode & 0o777).toString(8)]),
    )

  test('created by the command is readable only by its owner, like the files beside it', async () => {
    const place = mkdtempSync(join(folder.path, 'modes-'))
    const file = join(place, 'utility.sqlite')
    expect(await run(['migrate', '--database', file])).toMatchObject({ code: 0, stderr: '' })
    const child = start(['serve', '--port', '0', '--database', file])
    await firstLine(child)
    expect(modes(place)).toEqual({
      'utility.sqlite': '600',
      'utility.sqlite-shm': '600',
      'utility.sqlite-wal': '600',
    })
    child.kill('SIGKILL')
  })

  test('that existed keeps its mode', async () => {
    const place = mkdtempSync(join(folder.path, 'modes-'))
    const file = join(place, 'utility.sqlite')
    writeFileSync(file, '')
    chmodSync(file, 0o640)
    expect(await run(['migrate', '--database', file])).toMatchObject({ code: 0 })
    expect(modes(place)['utility.sqlite']).toBe('640')
  })
})
