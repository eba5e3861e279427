import { postgresStorage } from 'utility-api/storage/postgres'
import { afterAll, beforeAll } from 'vitest'
import type { Pool } from 'pg'
import type { StorageFixture } from '../../src/testing/storage-contract.ts'
import { emptyTables, makePool, startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { testContract } from './support/register.ts'

// An owner may make partitions of the licenses. Each names its constraints and indexes in its own way.

let server: PostgresServer
let pool: Pool

beforeAll(async () => {
  server = await startPostgres()
  pool = makePool(await server.createDatabase())
  await postgresStorage(pool).migrate()
  await pool.query(`
    ALTER TABLE utility_api_licenses RENAME TO whole;
    CREATE TABLE utility_api_licenses (LIKE whole INCLUDING IDENTITY, UNIQUE (license_key)) PARTITION BY HASH (license_key);
    DROP TABLE whole;
    CREATE INDEX ON utility_api_licenses (seq);
    ${[0, 1, 2].map((part) => `CREATE TABLE part_${part} PARTITION OF utility_api_licenses FOR VALUES WITH (MODULUS 3, REMAINDER ${part});`).join('')}
  `)
}, 60_000)

afterAll(async () => {
  await pool?.end()
  await server?.stop()
}, 60_000)

testContract('PostgreSQL with licenses in hash partitions', async (): Promise<StorageFixture> => {
  await emptyTables(pool)
  return { storage: postgresStorage(pool), second: postgresStorage(pool), close() {} }
})
