import Database from 'better-sqlite3'
import { appendFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Pool, types, type CustomTypesConfig } from 'pg'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { afterAll, expect, test } from 'vitest'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'
import { emptyTables as emptyMysql, makePool, startMysql, whyNoMysql } from './support/mysql-server.ts'
import { runCleanUp, type CleanUp } from './support/pairs.ts'
import { emptyTables, startPostgres } from './support/postgres-server.ts'
import { openTwice, type ClosableDatabase } from './support/sqlite-fixture.ts'

// Settings of drivers that change the form of rows: the suite passes with each, or a sentence refuses it.
// DRIVER_TABLE=file appends a row of a table for each.

type Make = () => Promise<StorageFixture>
/** Starts what a setting is tried on. */
type Setting = () => Promise<Make>

const cleanUp: CleanUp = []
afterAll(() => runCleanUp(cleanUp))

/** Starts a server for those who need one, once. */
function once<Server extends { stop(): Promise<void> }>(start: () => Promise<Server>): () => Promise<Server> {
  let started: Promise<Server> | undefined
  return () => {
    started ??= start().then((server) => {
      cleanUp.unshift(() => server.stop())
      return server
    })
    return started
  }
}
const postgresServer = once(startPostgres)
const mysqlServer = once(startMysql)

function sqlite(open: (path: string) => ClosableDatabase): Setting {
  return async () => () => openTwice(open)
}

function postgres(options: object): Setting {
  return async () => {
    const server = await postgresServer()
    const connectionString = await server.createDatabase()
    const own = new Pool({ connectionString })
    const pool = new Pool({ connectionString, ...options })
    cleanUp.push(...[own, pool].map((each) => () => each.end()))
    return async () => {
      const storage = postgresStorage(pool)
      await storage.migrate()
      await emptyTables(own)
      return { storage, second: postgresStorage(pool), close() {} }
    }
  }
}

function mysql(options: object): Setting {
  return async () => {
    const server = await mysqlServer()
    const url = await server.createDatabase()
    const [own, pool] = [makePool(url), makePool(url, options)]
    cleanUp.push(...[own, pool].map((each) => () => each.end()))
    return async () => {
      const storage = mysqlStorage(pool)
      await storage.migrate()
      await emptyMysql(own)
      return { storage, second: mysqlStorage(pool), close() {} }
    }
  }
}

const parsedAs = (
  oids: readonly number[],
  parse: (text: string) => unknown,
): { types: CustomTypesConfig } => ({
  types: {
    getTypeParser: (oid, format) => (oids.includes(oid) ? parse : types.getTypeParser(oid, format)),
  },
})

const settings: readonly [driver: string, setting: string, start: Setting, refusal: string | null][] = [
  [
    'better-sqlite3',
    'defaultSafeIntegers(true)',
    sqlite((path) => new Database(path).defaultSafeIntegers(true)),
    null,
  ],
  ['node:sqlite', 'readBigInts: true', sqlite((path) => new DatabaseSync(path, { readBigInts: true })), null],
  [
    'node:sqlite',
    'returnArrays: true',
    sqlite((path) => new DatabaseSync(path, { returnArrays: true })),
    'returns rows in another form than objects',
  ],
  ['pg', 'types: integers as BigInt', postgres(parsedAs([20, 21, 23], BigInt)), null],
  ['pg', 'types: everything as text', postgres(parsedAs([16, 17, 20, 21, 23, 25], String)), null],
  ['pg', 'binary: true', postgres({ binary: true }), 'the option binary'],
  ['mysql2', 'rowsAsArray: true', mysql({ rowsAsArray: true }), null],
  ['mysql2', 'nestTables: true', mysql({ nestTables: true }), null],
  ['mysql2', 'typeCast: false', mysql({ typeCast: false }), null],
  ['mysql2', 'namedPlaceholders: true', mysql({ namedPlaceholders: true }), null],
  [
    'mysql2',
    'supportBigNumbers, bigNumberStrings',
    mysql({ supportBigNumbers: true, bigNumberStrings: true }),
    null,
  ],
  ['mysql2', "charset: 'latin1'", mysql({ charset: 'latin1' }), 'set it to utf8mb4'],
]

test.for(settings)('%s, %s', { timeout: 120_000 }, async ([driver, setting, start, refusal], { skip }) => {
  const reason = driver === 'mysql2' ? whyNoMysql() : null
  if (reason !== null) skip(reason)
  const make = await start()
  let passed = 0
  const failed: string[] = []
  for (const { name, run } of storageContract(make)) {
    // oxlint-disable-next-line no-await-in-loop -- one case after the other
    const outcome = await run().catch((error: unknown) => `${name}: ${String(error)}`)
    if (outcome === 'passed') passed += 1
    else if (outcome !== 'not applicable') failed.push(outcome)
    if (refusal !== null && failed.length > 0) break
  }
  const file = process.env['DRIVER_TABLE']
  const sentence = failed[0]?.replace(/.*StorageError: /, '')
  const result = refusal === null ? `${passed} cases pass, ${failed.length} fail` : `refused: ${sentence}`
  if (file !== undefined) appendFileSync(file, `| ${driver} | ${setting} | ${result} |\n`)
  if (refusal === null) expect(failed).toEqual([])
  else expect(failed[0]).toContain(refusal)
  expect(passed > 0).toBe(refusal === null)
})
