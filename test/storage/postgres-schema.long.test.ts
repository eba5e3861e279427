import { Client, Pool, types, type CustomTypesConfig } from 'pg'
import { postgresStorage, type PostgresStorage } from 'utility-api/storage/postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { takeBack, verifyDomainsMigrated } from './support/before-domains.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'
import { execute, makePool, startPostgres, tables, type PostgresServer } from './support/postgres-server.ts'
import { verifyOldWrites, verifyTooNew, verifyUpgraded } from './support/upgrade.ts'
import * as version1 from './support/version-1.ts'

let server: PostgresServer
const pools: Pool[] = []

beforeAll(async () => {
  server = await startPostgres()
}, 60_000)

afterAll(async () => {
  await Promise.all(pools.filter((each) => !each.ended).map((each) => each.end()))
  await server?.stop()
}, 60_000)

/** A store on a pool to this database, and the pool. */
function storeOn(url: string, max?: number): { storage: PostgresStorage; pool: Pool } {
  const pool = makePool(url, 'read committed', max)
  pools.push(pool)
  return { storage: postgresStorage(pool), pool }
}

const isolations = ['read committed', 'repeatable read', 'serializable'] as const

test('ten servers that migrate an empty database at once all succeed', async () => {
  const empty = await server.createDatabase()
  const each = Array.from({ length: 10 }, (_, index) => makePool(empty, isolations[index % 3], 1))
  pools.push(...each)
  await Promise.all(each.map((one) => postgresStorage(one).migrate()))
  const rows = await execute(empty, 'SELECT version FROM utility_api_schema')
  expect(rows).toEqual([{ version: 1 }])
})

test('the error for a database without tables says what to do, and doing it helps', async () => {
  const { storage } = storeOn(await server.createDatabase())
  const error = await errorOf(() => storage.findClient('a', call))
  expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('run migrate()')])
  await storage.migrate()
  expect(await storage.findClient('a', call)).toBeNull()
})

/** Creates a role that the test's end removes. Returns its name. */
async function createRole(role: string, database: string): Promise<string> {
  await execute(server.url, `DROP ROLE IF EXISTS ${role}`)
  await execute(server.url, `CREATE ROLE ${role} LOGIN PASSWORD 'password'`)
  onTestFinished(async () => {
    await execute(database, `DROP OWNED BY ${role}`)
    await execute(server.url, `DROP ROLE ${role}`)
  })
  return role
}

test('a role that may not create tables migrates a schema that is current', async () => {
  const database = await server.createDatabase()
  await storeOn(database).storage.migrate()
  const role = await createRole('utility_api_test_serves_only', database)
  await execute(
    database,
    `REVOKE CREATE ON SCHEMA public FROM PUBLIC;
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
  )
  const url = Object.assign(new URL(database), { username: role, password: 'password' }).href
  const { storage } = storeOn(url)
  await storage.migrate()
  expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
})

test('tables without the row that says their version are refused with a clear error', async () => {
  const database = await server.createDatabase()
  const { storage } = storeOn(database)
  await storage.migrate()
  await execute(database, 'DELETE FROM utility_api_schema')
  const error = await errorOf(() => storeOn(database).storage.migrate())
  expect([error.kind, error.message]).toEqual([
    'invalid',
    expect.stringContaining('utility_api_schema has no row'),
  ])
})

test('a role that may only read migrates a schema that is current, and reads', async () => {
  const database = await server.createDatabase()
  await storeOn(database).storage.migrate()
  const role = await createRole('utility_api_test_only_reads', database)
  await execute(
    database,
    `ALTER ROLE ${role} SET default_transaction_read_only = on;
     GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`,
  )
  const { storage } = storeOn(Object.assign(new URL(database), { username: role, password: 'password' }).href)
  await storage.migrate()
  expect(await storage.findClient('a', call)).toBeNull()
})

test('a pool whose only connection the host holds says that none was free', async () => {
  const { storage, pool } = storeOn(await server.createDatabase(), 1)
  await storage.migrate()
  const holder = await pool.connect()
  const error = await errorOf(() => postgresStorage(pool).findClient('a', call))
  holder.release()
  expect([error.kind, error.message]).toEqual(['unavailable', expect.stringContaining('(max: 1) was free')])
})

const integersAs = (convert: (text: string) => unknown): CustomTypesConfig => ({
  getTypeParser: (oid, format) => (oid === 23 ? convert : types.getTypeParser(oid, format)),
})

test.each<[string, CustomTypesConfig | undefined]>([
  ['numbers', undefined],
  ['text', integersAs(String)],
  ['bigint', integersAs(BigInt)],
])(
  'a new database that cannot hold every name is refused, before a table is made, where integers are %s',
  async (_, parsers) => {
    const name = 'test_latin1'
    await execute(server.url, `DROP DATABASE IF EXISTS ${name}`)
    await execute(server.url, `CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`)
    const database = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    const pool = new Pool({ connectionString: database, ...(parsers && { types: parsers }) })
    pools.push(pool)
    const error = await errorOf(() => postgresStorage(pool).migrate())
    await pool.end()
    const message = 'The encoding of the database is LATIN1: it must be UTF8.'
    expect([error.kind, error.message]).toEqual(['invalid', message])
    expect(await execute(database, "SELECT to_regclass('utility_api_schema') AS made")).toEqual([
      { made: null },
    ])
  },
)

test('a schema newer than this version is refused, before anything is read or written', async () => {
  const newer = await server.createDatabase()
  await storeOn(newer).storage.migrate()
  await execute(newer, 'UPDATE utility_api_schema SET version = 99')
  await verifyTooNew(storeOn(newer).storage)
})

test('a column added by a newer server does not affect running servers', async () => {
  const database = await server.createDatabase()
  const { storage } = storeOn(database, 1)
  await storage.migrate()
  await storage.insertLicense(newLicense('a'), undefined, call)
  const reads = (): Promise<unknown> =>
    Promise.all([
      storage.findClient('a', call),
      storage.findAuthorizationCode(new Uint8Array(32), call),
      storage.findCredential('api_key', new Uint8Array(32), call),
      storage.findLicense('a', call),
      storage.listing?.licenses({ limit: 5 }, call),
      storage.listing?.licenses({ limit: 5, resellerId: 'r' }, call),
    ])
  const before = await reads()
  const added = tables.split(', ').map((table) => `ALTER TABLE ${table} ADD COLUMN added text`)
  await execute(database, added.join(';'))
  expect(await reads()).toEqual(before)
})

describe('a migration beside servers of version 1', () => {
  /**
   * A database of version 1, a connection to it, and a store whose pool limits the time of statements: to less than the
   * second after which PostgreSQL looks for a deadlock.
   */
  async function begin(): Promise<{ database: string; other: Client; storage: PostgresStorage }> {
    const database = await server.createDatabase()
    await execute(database, version1.postgresSchema)
    const other = new Client({ connectionString: database })
    await other.connect()
    onTestFinished(() => other.end())
    const pool = new Pool({ connectionString: database, statement_timeout: 700, lock_timeout: 700 })
    pools.push(pool)
    return { database, other, storage: postgresStorage(pool) }
  }
  async function isWaiting(database: string): Promise<void> {
    const waiting = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
      WHERE NOT granted AND datname = current_database()`
    if ((await execute(database, waiting)).length === 0) await isWaiting(database)
  }

  test('locks tables in the order in which an exchange does, so that the two cannot wait for each other', async () => {
    const { database, other, storage } = await begin()
    await other.query(
      "SET deadlock_timeout = '10ms'; BEGIN; LOCK TABLE utility_api_credentials IN ROW EXCLUSIVE MODE",
    )
    const migrated = storage.migrate()
    await isWaiting(database)
    await other.query('LOCK TABLE utility_api_codes IN ROW EXCLUSIVE MODE; COMMIT')
    await migrated
    expect(await storage.findClient('a', call)).toBeNull()
  })

  test('waits longer than requests may, and is repeated after a deadlock', async () => {
    const { database, other, storage } = await begin()
    await other.query(
      "SET deadlock_timeout = '30s'; BEGIN; LOCK TABLE utility_api_clients IN ROW EXCLUSIVE MODE",
    )
    const migrated = storage.migrate()
    await isWaiting(database)
    await other.query('LOCK TABLE utility_api_credentials IN ROW EXCLUSIVE MODE; COMMIT')
    await migrated
    expect(await storage.findClient('a', call)).toBeNull()
  })

  test('builds the index of domains while they go on writing', async () => {
    const { database, other, storage } = await begin()
    // The index waits for those that have read before it was there.
    await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    const migrated = storage.migrate()
    const building = `SELECT 1 AS building FROM pg_index
      WHERE indexrelid = to_regclass('utility_api_licenses_domain') AND NOT indisvalid`
    await expect.poll(() => execute(database, building), { timeout: 20_000 }).toEqual([{ building: 1 }])
    await execute(
      database,
      `INSERT INTO utility_api_licenses
         (license_key, registered_to, domain_or_ip, status, reseller_id, created_at, updated_at)
       VALUES ('LIC-1', 'Ada', 'Shop.example', 'valid', 'r', 1, 1)`,
    )
    await other.query('COMMIT')
    await migrated
    expect(
      await storage.listing?.licenses({ comparedDomains: ['shop.example'], limit: 5 }, call),
    ).toMatchObject({
      licenses: [{ licenseKey: 'LIC-1' }],
    })
  })
})

test('a database of version 1 is migrated completely, and a process of version 1 keeps working on it', async () => {
  const database = await server.createDatabase()
  await execute(database, version1.postgresSchema)
  await execute(database, version1.rows.map(version1.forPostgres).join(';'))
  const { storage } = storeOn(database)
  await storage.migrate()
  await verifyUpgraded(storage)
  await execute(database, version1.oldWrites.map(version1.forPostgres).join(';'))
  expect(await execute(database, version1.oldVersionCheck)).toEqual([{ version: 1 }])
  await verifyOldWrites(storage)
})

test('the domains of licenses are compared after a migration beside servers that change them without it', async () => {
  const database = await server.createDatabase()
  const { storage, pool } = storeOn(database)
  await storage.migrate()
  for (const sql of takeBack.postgres)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await pool.query(sql)
  await verifyDomainsMigrated(storeOn(database).storage, (sql) => pool.query(sql))
})

test('an index that an interrupted migration has left behind is built again, by one of two servers', async () => {
  const database = await server.createDatabase()
  const { storage } = storeOn(database)
  await storage.migrate()
  await execute(
    database,
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'utility_api_licenses_domain'::regclass`,
  )
  await Promise.all([storage.migrate(), storeOn(database).storage.migrate()])
  const state = `SELECT indisvalid FROM pg_index WHERE indexrelid = 'utility_api_licenses_domain'::regclass`
  expect(await execute(database, state)).toEqual([{ indisvalid: true }])
})

test('a schema of a later step that only adds is used, and not migrated back', async () => {
  const database = await server.createDatabase()
  await storeOn(database).storage.migrate()
  await execute(database, 'UPDATE utility_api_schema SET step = 99')
  const { storage } = storeOn(database)
  await storage.migrate()
  expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
  expect(await execute(database, 'SELECT version, step FROM utility_api_schema')).toEqual([
    { version: 1, step: 99 },
  ])
})

test('lists, updates and purges by index, so that the tables may grow', async () => {
  const after = (id: string): string => `(created_at, ${id}) > (5, 'a') ORDER BY created_at, ${id} LIMIT 5`
  const credentials = 'FROM utility_api_credentials WHERE'
  const plans: readonly (readonly [index: string, sql: string])[] = [
    [
      'licenses_reseller_id',
      "SELECT 1 FROM utility_api_licenses WHERE seq > 5 AND reseller_id = 'r' ORDER BY seq LIMIT 5",
    ],
    ['licenses_license_key_key', "SELECT 1 FROM utility_api_licenses WHERE license_key = 'a'"],
    [
      'licenses_domain',
      "SELECT 1 FROM utility_api_licenses WHERE seq > 5 AND (CASE WHEN compared_of = domain_or_ip THEN compared_domain END) = 'a' ORDER BY seq LIMIT 5",
    ],
    [
      'licenses_domain',
      'SELECT 1 FROM utility_api_licenses WHERE (CASE WHEN compared_of = domain_or_ip THEN compared_domain END) IS NULL AND seq > 5 ORDER BY (CASE WHEN compared_of = domain_or_ip THEN compared_domain END), seq LIMIT 5',
    ],
    ['clients_created_at', `SELECT 1 FROM utility_api_clients WHERE ${after('client_id')}`],
    ['resellers_created_at', `SELECT 1 FROM utility_api_resellers WHERE ${after('reseller_id')}`],
    [
      'credentials_kind',
      `SELECT 1 ${credentials} kind <> 'access_token' AND kind = 'api_key' AND ${after('id')}`,
    ],
    ['credentials_owner_id', `SELECT 1 ${credentials} owner_id = 'a' AND kind = 'access_token'`],
    ['credentials_subject', `SELECT 1 ${credentials} subject = 'a' AND kind = 'access_token'`],
    ['credentials_expires_at', `SELECT 1 ${credentials} kind = 'access_token' AND expires_at <= 5`],
    ['codes_pkey', "SELECT 1 FROM utility_api_codes WHERE hash > 'a' ORDER BY hash LIMIT 5"],
    [
      'credentials_hash_kind_key',
      `SELECT (SELECT true ${credentials} hash = token_hash AND kind = 'access_token' LIMIT 1) FROM utility_api_codes`,
    ],
    ['codes_client_id', "SELECT 1 FROM utility_api_codes WHERE client_id = 'a'"],
    ['codes_subject', "SELECT 1 FROM utility_api_codes WHERE subject = 'a'"],
    ['idempotency_keys_expires_at', 'SELECT 1 FROM utility_api_idempotency_keys WHERE expires_at <= 5'],
  ]
  // Of its own: what is known of tables that others filled and emptied changes the plans.
  const { storage, pool } = storeOn(await server.createDatabase(), 1)
  await storage.migrate()
  // A planner that knows no rows takes any index for any other.
  await pool.query(`
    INSERT INTO utility_api_credentials (id, kind, hash, owner_id, subject, scope, created_at, expires_at)
    SELECT 't' || n, 'access_token', sha256(('t' || n)::bytea), 'c' || n, 's' || n, '', n, n
    FROM generate_series(1, 5000) AS n;
    ANALYZE utility_api_credentials`)
  await pool.query('SET enable_seqscan = off; SET enable_sort = off')
  for (const [index, sql] of plans) {
    // oxlint-disable-next-line no-await-in-loop -- one connection, whose settings these are
    const { rows } = (await pool.query(`EXPLAIN ${sql}`)) as { rows: unknown[] }
    expect(JSON.stringify(rows), sql).toContain(`utility_api_${index}`)
  }
})
