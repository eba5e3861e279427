import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StorageFixture } from '../../src/testing/storage-contract.ts'
import {
  emptyTables as emptyMysqlTables,
  execute as executeMysql,
  makePool as makeMysqlPool,
  startMysql,
  type MysqlServer,
  whyNoMysql,
} from '../storage/support/mysql-server.ts'
import {
  emptyTables,
  execute,
  makePool,
  startPostgres,
  tables,
  type PostgresServer,
} from '../storage/support/postgres-server.ts'
import { testContract } from '../storage/support/register.ts'
import { codeBlocks } from './code-blocks.ts'
import { deployTwice, page, pageWith, tools, whyNoTools, type Outcome } from './deploys.ts'

// The SQL of the page about other tools, as it stands there: the owner migrates, the server serves, and the role of the
// tools, which may do anything in a schema of its own, reaches none of our tables.

const noTools = whyNoTools()
if (noTools !== null) console.log(noTools)
const outcomes = new Map<string, Outcome>()

const [forPostgres = '', forMysql = ''] = codeBlocks()
  .filter(({ file, language }) => file === 'docs/guide/beside-migrations.md' && language === 'sql')
  .map(({ text }) => text.replaceAll('…', 'password'))

const cleanUp: (() => Promise<unknown>)[] = []

afterAll(async () => {
  // oxlint-disable-next-line no-await-in-loop -- a pool ends before its server does
  for (const each of cleanUp.splice(0).toReversed()) await each()
}, 60_000)

function as(url: string, username: string, database?: string): string {
  const found = Object.assign(new URL(url), { username, password: 'password' })
  if (database !== undefined) found.pathname = `/${database}`
  return found.href
}

describe('PostgreSQL, in a schema of its own', () => {
  let server: PostgresServer
  let url: string
  let pool: Pool

  beforeAll(async () => {
    server = await startPostgres()
    cleanUp.push(() => server.stop())
    url = await server.createDatabase()
    await execute(url, forPostgres)
    await execute(url, "CREATE ROLE shop LOGIN PASSWORD 'password'; GRANT ALL ON SCHEMA public TO shop")
    cleanUp.push(async () => {
      for (const role of ['shop', 'utility_server', 'utility_owner'])
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await execute(url, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)
    })
    const owner = makePool(as(url, 'utility_owner'))
    await postgresStorage(owner).migrate()
    await owner.end()
    pool = makePool(as(url, 'utility_server'))
    cleanUp.push(() => pool.end())
  }, 120_000)

  testContract('the server does all that a storage does', async (): Promise<StorageFixture> => {
    await emptyTables(pool)
    return { storage: postgresStorage(pool), close() {} }
  })

  test('a start of the server changes nothing, and knows the numbers of licenses', async () => {
    const { changed, warnings } = await postgresStorage(pool).migrate()
    expect(changed).toBe(false)
    expect(warnings.filter((each) => !each.startsWith('fsync is off'))).toEqual([])
  })

  test.each([
    'DROP TABLE utility.utility_api_licenses',
    'CREATE TABLE utility.other ()',
    'DROP SCHEMA utility CASCADE',
  ])('the server may not %s', async (sql) => {
    await expect(execute(as(url, 'utility_server'), sql)).rejects.toThrow(/must be owner|permission denied/)
  })

  test("the tools' role sees no table in its path, and can read and drop none", async () => {
    const shop = as(url, 'shop')
    await execute(shop, 'CREATE TABLE orders (id int)')
    expect(await execute(shop, "SELECT to_regclass('utility_api_licenses') AS found")).toEqual([
      { found: null },
    ])
    for (const table of tables.split(', '))
      for (const sql of [`SELECT 1 FROM utility.${table}`, `DROP TABLE utility.${table} CASCADE`])
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await expect(execute(shop, sql)).rejects.toThrow('permission denied for schema utility')
    await expect(execute(shop, 'DROP SCHEMA utility CASCADE')).rejects.toThrow(
      'must be owner of schema utility',
    )
    await execute(shop, 'DROP TABLE orders')
  })

  const count = async (at: string): Promise<number> => {
    const found = "SELECT 1 FROM pg_tables WHERE tablename LIKE 'utility\\_api\\_%'"
    return (await execute(at, found)).length
  }

  test.skipIf(noTools).for(tools)('$name deploys and leaves the tables and their rows', async (tool) => {
    const own = await deployTwice(tool, as(url, 'shop'), postgresStorage(pool), () => count(url))
    await execute(as(url, 'shop'), 'DROP TABLE orders')
    const naive = await server.createDatabase()
    await execute(url, `ALTER DATABASE ${new URL(naive).pathname.slice(1)} OWNER TO shop`)
    const naivePool = makePool(as(naive, 'shop'))
    const one = await deployTwice(tool, as(naive, 'shop'), postgresStorage(naivePool), () => count(naive))
    await naivePool.end()
    await execute(url, `DROP DATABASE ${new URL(naive).pathname.slice(1)}`)
    outcomes.set(`${tool.name}, PostgreSQL, set up`, own)
    outcomes.set(`${tool.name}, PostgreSQL, one schema`, one)
    expect(own).toBe('kept')
  })
})

const reason = whyNoMysql()
test.runIf(reason)(`MariaDB: ${reason}`, ({ skip }) => skip(reason ?? ''))

describe.skipIf(reason)('MariaDB, in a database of its own', () => {
  let server: MysqlServer
  let url: string
  let pool: ReturnType<typeof makeMysqlPool>

  beforeAll(async () => {
    server = await startMysql()
    cleanUp.push(() => server.stop())
    url = await server.createDatabase()
    const shop = new URL(url).pathname.slice(1)
    for (const sql of [
      ...forMysql.split(';').filter((each) => each.trim() !== ''),
      "CREATE USER shop IDENTIFIED BY 'password'",
      `GRANT ALL PRIVILEGES ON ${shop}.* TO shop`,
    ])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await executeMysql(url, sql)
    const owner = makeMysqlPool(as(url, 'utility_owner', 'utility'))
    await mysqlStorage(owner).migrate()
    await owner.end()
    pool = makeMysqlPool(as(url, 'utility_server', 'utility'))
    cleanUp.push(() => pool.end())
  }, 120_000)

  testContract('the server does all that a storage does', async (): Promise<StorageFixture> => {
    await emptyMysqlTables(pool)
    return { storage: mysqlStorage(pool), close() {} }
  })

  test('a start of the server changes nothing, and it may not change tables', async () => {
    expect((await mysqlStorage(pool).migrate()).changed).toBe(false)
    for (const sql of [
      'DROP TABLE utility_api_licenses',
      'CREATE TABLE other (id INT)',
      'DROP DATABASE utility',
    ])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(pool.query(sql)).rejects.toThrow(/denied/)
  })

  test("the tools' user reaches none of the tables", async () => {
    const shop = as(url, 'shop')
    await executeMysql(shop, 'CREATE TABLE orders (id INT)')
    for (const table of tables.split(', '))
      for (const sql of [`SELECT 1 FROM utility.${table}`, `DROP TABLE utility.${table}`])
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await expect(executeMysql(shop, sql)).rejects.toThrow(/denied/)
    await expect(executeMysql(shop, 'DROP DATABASE utility')).rejects.toThrow(/denied/)
    await executeMysql(shop, 'DROP TABLE orders')
  })

  const count = async (at: string): Promise<number> => {
    const inDatabase = `table_schema = '${new URL(at).pathname.slice(1)}'`
    const found = `SELECT 1 FROM information_schema.tables WHERE table_name LIKE 'utility\\_api\\_%' AND ${inDatabase}`
    return ((await executeMysql(at, found)) as unknown[]).length
  }

  test.skipIf(noTools).for(tools.filter(({ databases = ['MariaDB'] }) => databases.includes('MariaDB')))(
    '$name deploys and leaves the tables and their rows',
    async (tool) => {
      const atUtility = Object.assign(new URL(url), { pathname: '/utility' }).href
      const own = await deployTwice(tool, as(url, 'shop'), mysqlStorage(pool), () => count(atUtility))
      await executeMysql(as(url, 'shop'), 'DROP TABLE orders')
      const naive = await server.createDatabase()
      await executeMysql(url, `GRANT ALL PRIVILEGES ON ${new URL(naive).pathname.slice(1)}.* TO shop`)
      const naivePool = makeMysqlPool(as(naive, 'shop'))
      const one = await deployTwice(tool, as(naive, 'shop'), mysqlStorage(naivePool), () => count(naive))
      await naivePool.end()
      outcomes.set(`${tool.name}, MariaDB, set up`, own)
      outcomes.set(`${tool.name}, MariaDB, one database`, one)
      expect(own).toBe('kept')
    },
  )
})

test.skipIf(noTools ?? reason)('the page says what the tools did; if not: vitest run -u', async () => {
  await expect(pageWith(outcomes)).toMatchFileSnapshot(page)
})
