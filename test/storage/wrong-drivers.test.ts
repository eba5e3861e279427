import Database from 'better-sqlite3'
import { createPool, createPoolCluster } from 'mysql2'
import { createPoolCluster as createPromiseCluster } from 'mysql2/promise'
import { Client, Pool } from 'pg'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { expect, test } from 'vitest'

test.each([undefined, 'utility.sqlite', { prepare() {} }, { exec() {} }])(
  'sqliteStorage %# says what it takes',
  (wrong) => {
    expect(() => sqliteStorage(wrong as never)).toThrow('sqliteStorage takes an open connection')
  },
)

test('sqliteStorage refuses libsql, which would end the process', () => {
  const libsql = { prepare() {}, exec() {}, syncUntil() {} }
  expect(() => sqliteStorage(libsql as never)).toThrow('The driver libsql ends the process')
})

test.each([undefined, 'postgres://localhost/a', new Client()])(
  'postgresStorage %# says what it takes',
  (wrong) => {
    expect(() => postgresStorage(wrong as never)).toThrow('postgresStorage takes a Pool of pg.')
  },
)

test('postgresStorage takes a pool whose size is text, as from a variable of the environment', () => {
  expect(postgresStorage(new Pool({ max: '5' as never }))).toHaveProperty('migrate')
})

test.each([
  undefined,
  'mysql://localhost/a',
  createPool({}),
  createPoolCluster(),
  createPoolCluster().of('*'),
  createPromiseCluster(),
])('mysqlStorage %# says what it takes', (wrong) => {
  expect(() => mysqlStorage(wrong as never)).toThrow('mysqlStorage takes a Pool of mysql2/promise.')
})

test.each([null, 5, [], new Map()])('sqliteStorage refuses %o in place of options', (options) => {
  const database = new Database(':memory:')
  expect(() => sqliteStorage(database, options as never)).toThrow(
    "options: must be an object, as in { durability: 'normal' }.",
  )
  database.close()
})

test.each([{ durability: 'none' }, { durabilty: 'normal' }])(
  'sqliteStorage refuses the options %j',
  (options) => {
    const database = new Database(':memory:')
    expect(() => sqliteStorage(database, options as never)).toThrow(Object.keys(options)[0])
    database.close()
  },
)
