import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { memoryStorage } from 'utility-api/storage/memory'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { afterAll, describe, test } from 'vitest'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'
import {
  emptyTables as emptyMysql,
  makePool as makeMysqlPool,
  startMysql,
  whyNoMysql,
} from './support/mysql-server.ts'
import {
  emptyTables as emptyPostgres,
  makePool as makePostgresPool,
  startPostgres,
} from './support/postgres-server.ts'
import { openTwice } from './support/sqlite-fixture.ts'

/** Random histories and bursts, as many of each on every store. */
const seeds = Array.from({ length: Number(process.env['TEST_SEEDS'] ?? 5) }, (_, index) => index + 1)

const ends: (() => unknown)[] = []
afterAll(async () => {
  // oxlint-disable-next-line no-await-in-loop -- pools before their server
  for (const end of ends.toReversed()) await end()
}, 60_000)

/** Starts what all histories of a store share when the first one asks for it. */
function shared<Part>(start: () => Promise<Part>): () => Promise<Part> {
  let started: Promise<Part> | undefined
  return () => (started ??= start())
}

const postgres = shared(async () => {
  const server = await startPostgres()
  ends.push(() => server.stop())
  const url = await server.createDatabase()
  const pools = [makePostgresPool(url), makePostgresPool(url, 'serializable')] as const
  ends.push(() => Promise.all(pools.map((pool) => pool.end())))
  await postgresStorage(pools[0]).migrate()
  return pools
})

const mysql = shared(async () => {
  const server = await startMysql()
  ends.push(() => server.stop())
  const url = await server.createDatabase()
  const pools = [makeMysqlPool(url), makeMysqlPool(url)] as const
  ends.push(() => Promise.all(pools.map((pool) => pool.end())))
  await mysqlStorage(pools[0]).migrate()
  return pools
})

const stores: Readonly<Record<string, () => StorageFixture | Promise<StorageFixture>>> = {
  memory: () => {
    const storage = memoryStorage()
    return { storage, second: storage, close() {} }
  },
  'SQLite through node:sqlite': () => openTwice((path) => new DatabaseSync(path)),
  'SQLite through better-sqlite3': () => openTwice((path) => new Database(path)),
  PostgreSQL: async () => {
    const [one, other] = await postgres()
    await emptyPostgres(one)
    return { storage: postgresStorage(one), second: postgresStorage(other), close() {} }
  },
  ...(whyNoMysql() === null && {
    MySQL: async () => {
      const [one, other] = await mysql()
      await emptyMysql(one)
      return { storage: mysqlStorage(one), second: mysqlStorage(other), close() {} }
    },
  }),
}

describe.each(Object.entries(stores))('%s', (_, make) => {
  const histories = storageContract(make, { seeds }).filter(
    ({ name }) => name.startsWith('random') || name.startsWith('a random'),
  )
  test.each(histories)(
    `${seeds.length} times: $name`,
    async ({ run }) => {
      if ((await run()) !== 'passed') throw new Error('not applicable')
    },
    3_600_000,
  )
})
