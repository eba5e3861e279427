import { DatabaseSync } from 'node:sqlite'
import { createPool } from 'mysql2/promise'
import { Client, Pool } from 'pg'
import { callWithin, comparedDomain, withCheckedRows } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { called, newPostgres, newSqlite, type Mistakes } from './mistake.ts'
import { callbackPool, database, mysqlPool, pool } from './values.ts'

const sqlite = `sqliteStorage takes an open connection of better-sqlite3, node:sqlite or bun:sqlite. Write ${newSqlite}.`
const postgres = `postgresStorage takes a Pool of pg. Write ${newPostgres}.`
const mysql = 'mysqlStorage takes a Pool of mysql2/promise. Write mysqlStorage(createPool(url)).'

export const ofStores: Mistakes = {
  memoryStorage: [],
  sqliteStorage: [
    ['nothing', called(sqliteStorage), sqlite],
    ['a file', called(sqliteStorage, 'utility.sqlite'), sqlite],
    ['a class', called(sqliteStorage, DatabaseSync), sqlite],
    ['a pool', called(sqliteStorage, pool), sqlite],
    ['named', called(sqliteStorage, { database }), sqlite],
    ['what can only prepare', called(sqliteStorage, { prepare: () => ({}) }), sqlite],
    [
      'a word',
      called(sqliteStorage, database, 'full'),
      "options: must be an object, as in { durability: 'normal' }.",
    ],
    [
      'a misspelled option',
      called(sqliteStorage, database, { durable: 'full' }),
      'durable: is not an option of sqliteStorage, which takes durability.',
    ],
  ],
  postgresStorage: [
    ['nothing', called(postgresStorage), postgres],
    ['a URL', called(postgresStorage, 'postgres://me:secret@localhost/db'), postgres],
    [
      'options of a pool',
      called(postgresStorage, { connectionString: 'postgres://me:secret@localhost/db' }),
      postgres,
    ],
    ['a class', called(postgresStorage, Pool), postgres],
    ['a client', called(postgresStorage, new Client()), postgres],
    ['the other pool', called(postgresStorage, mysqlPool), postgres],
  ],
  mysqlStorage: [
    ['nothing', called(mysqlStorage), mysql],
    ['a URL', called(mysqlStorage, 'mysql://me:secret@localhost/db'), mysql],
    ['a function that is not called', called(mysqlStorage, createPool), mysql],
    [
      'a pool with callbacks',
      called(mysqlStorage, callbackPool),
      'mysqlStorage takes a Pool of mysql2/promise. Write mysqlStorage(pool.promise()).',
    ],
    ['the other pool', called(mysqlStorage, pool), mysql],
  ],
  callWithin: [
    ['nothing', called(callWithin), 'timeoutMs must be a number of milliseconds.'],
    ['a text', called(callWithin, '5s'), 'timeoutMs must be a number of milliseconds.'],
  ],
  withCheckedRows: [
    [
      'nothing',
      called(withCheckedRows),
      'storage: must have the methods of AdminStorage, and lacks insertClient.',
    ],
    [
      'a database',
      called(withCheckedRows, database),
      'storage: must have the methods of AdminStorage, and lacks insertClient.',
    ],
    [
      'a storage that cannot purge',
      called(withCheckedRows, { ...memoryStorage(), purgeExpired: undefined }),
      'storage: must have the methods of AdminStorage, and lacks purgeExpired.',
    ],
  ],
  comparedDomain: [['nothing', called(comparedDomain), 'domainOrIp must be a string.']],
}
