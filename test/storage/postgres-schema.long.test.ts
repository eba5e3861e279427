import { connect, createServer, type AddressInfo } from 'node:net'
import { Client, Pool, types, type CustomTypesConfig } from 'pg'
import { postgresStorage, type PostgresStorage } from 'utility-api/storage/postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { steps } from '../../adapters/storage/postgres/schema-steps.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'
import { execute, makePool, startPostgres, tables, type PostgresServer } from './support/postgres-server.ts'
import { verifyStepUnderLoad, verifyTooNew, withStep } from './support/steps.ts'

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

test('the error for a database without tables says what to do, and a health check sees that they are gone', async () => {
  const database = await server.createDatabase()
  const { storage } = storeOn(database)
  const error = await errorOf(() => storage.findClient('a', call))
  expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('run migrate()')])
  await storage.migrate()
  expect(await storage.findClient('a', call)).toBeNull()
  await storage.ping?.(call)
  await execute(database, 'ALTER SCHEMA public RENAME TO elsewhere')
  expect((await errorOf(async () => storage.ping?.(call))).message).toContain('does not exist')
})

/** The same database, as another role. */
function as(role: string, database: string): string {
  return Object.assign(new URL(database), { username: role, password: 'password' }).href
}

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
  const { storage } = storeOn(as(role, database))
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

test('tables in a later schema of the search_path are refused, or a new schema before it hides every row', async () => {
  const database = await server.createDatabase()
  await storeOn(database).storage.migrate()
  await execute(database, 'CREATE SCHEMA postgres')
  const { storage } = storeOn(database)
  const error = await errorOf(() => storage.migrate())
  expect([error.kind, error.message]).toEqual([
    'invalid',
    expect.stringContaining('SET search_path = public'),
  ])
  expect(await storage.findClient('a', call)).toBeNull()
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
  const { storage } = storeOn(as(role, database))
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

test('a database whose first connections hang, as while it wakes up, is waited for', async () => {
  const database = new URL(await server.createDatabase())
  const port = Number(database.port)
  let hanging = 2
  const sleeper = createServer((socket) => {
    socket.on('error', () => {})
    if ((hanging -= 1) >= 0) return
    const to = connect(port, '127.0.0.1').on('error', () => {})
    socket.pipe(to).pipe(socket)
  })
  await new Promise<void>((resolve) => sleeper.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void sleeper.close())
  database.port = String((sleeper.address() as AddressInfo).port)
  const pool = new Pool({ connectionString: database.href, connectionTimeoutMillis: 1000 })
  pools.push(pool)
  expect((await postgresStorage(pool).migrate()).changed).toBe(true)
  expect(hanging).toBeLessThan(0)
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

describe('a step', () => {
  const planted = {
    steps,
    step: `
      ALTER TABLE utility_api_credentials ADD COLUMN planted text;
      ALTER TABLE utility_api_codes ADD COLUMN planted text;
      ALTER TABLE utility_api_licenses ADD COLUMN planted text;
      CREATE INDEX utility_api_planted ON utility_api_licenses (status)`,
  }

  test('is taken once, while servers of before serve and several migrate, and those of before start again', async () => {
    const database = await server.createDatabase()
    await verifyStepUnderLoad({
      ...planted,
      open: () => storeOn(database, 4).storage,
      readSchema: async () => (await execute(database, 'SELECT * FROM utility_api_schema'))[0],
    })
  })

  test('waits longer than requests may, and is repeated after a deadlock', async () => {
    const database = await server.createDatabase()
    const other = new Client({ connectionString: database })
    await other.connect()
    onTestFinished(() => other.end())
    // Less than the second after which PostgreSQL looks for a deadlock.
    const pool = new Pool({ connectionString: database, statement_timeout: 700, lock_timeout: 700 })
    pools.push(pool)
    const storage = postgresStorage(pool)
    await storage.migrate()
    await other.query(
      "SET deadlock_timeout = '30s'; BEGIN; LOCK TABLE utility_api_licenses IN ROW EXCLUSIVE MODE",
    )
    await withStep(planted.steps, planted.step, async () => {
      const migrated = storage.migrate()
      const waiting = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE NOT granted AND datname = current_database()`
      await expect.poll(() => execute(database, waiting)).not.toEqual([])
      await other.query('LOCK TABLE utility_api_credentials IN ROW EXCLUSIVE MODE; COMMIT')
      await migrated
    })
    expect(await execute(database, 'SELECT * FROM utility_api_schema')).toEqual([{ version: 1, step: 2 }])
  })
})

test('a database whose tables are all published is migrated, and published on', async () => {
  const database = await server.createDatabase()
  await execute(database, 'CREATE PUBLICATION everything FOR ALL TABLES')
  const { storage } = storeOn(database)
  await storage.migrate()
  await verifyWrites(storage)
})

/** Every kind of write of a license. */
async function verifyWrites(storage: PostgresStorage): Promise<void> {
  expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
  expect(await storage.changeLicense('a', { status: 'new' }, 5, call)).toBe(true)
  expect(await storage.deleteLicense('a', call)).toBe(true)
}

test('text that is compared has the collation C, so that no change of the system breaks an index', async () => {
  const database = await server.createDatabase()
  await storeOn(database).storage.migrate()
  const others = `
    SELECT indrelid::regclass::text AS "table", attname AS "column", collname AS collation
    FROM pg_index JOIN pg_attribute ON attrelid = indexrelid JOIN pg_collation ON pg_collation.oid = attcollation
    WHERE indrelid::regclass::text LIKE 'utility\\_api\\_%' AND collname <> 'C'`
  expect(await execute(database, others)).toEqual([])
})

/** A database with eight licenses whose numbers begin again, as after a restore of the rows alone. */
async function withNumbersBehind(): Promise<{ database: string; storage: PostgresStorage }> {
  const database = await server.createDatabase()
  const { storage } = storeOn(database)
  await storage.migrate()
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
    // oxlint-disable-next-line no-await-in-loop -- one number each
    await storage.insertLicense(newLicense(key), undefined, call)
  await execute(database, 'ALTER TABLE utility_api_licenses ALTER COLUMN seq RESTART WITH 1')
  return { database, storage }
}

const readNext = "SELECT nextval(pg_get_serial_sequence('utility_api_licenses', 'seq'))::int AS next"

describe('numbers of licenses that are behind the rows', () => {
  test('are put forward by migrate(), or no license could be generated', async () => {
    const { storage } = await withNumbersBehind()
    expect((await storage.migrate()).changed).toBe(true)
    expect((await storage.migrate()).changed).toBe(false)
    const keys = ['x', 'y', 'z']
    const stored = keys.map((key) => storage.insertLicense(newLicense(key), undefined, call))
    expect(await Promise.all(stored)).toEqual(['inserted', 'inserted', 'inserted'])
  })

  test('are never put back, whoever takes one meanwhile', async () => {
    const { database, storage } = await withNumbersBehind()
    const other = new Client({ connectionString: database })
    await other.connect()
    onTestFinished(() => other.end())
    // A license that another server inserts, and has not committed yet.
    await other.query(
      `SELECT setval('utility_api_licenses_seq_seq', 7); BEGIN; LOCK TABLE utility_api_licenses IN ROW EXCLUSIVE MODE`,
    )
    const migrated = storage.migrate()
    await expect
      .poll(() =>
        execute(database, `SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'ShareRowExclusiveLock'`),
      )
      .not.toEqual([])
    await other.query("SELECT setval('utility_api_licenses_seq_seq', 100); COMMIT")
    await migrated
    expect(await execute(database, readNext)).toEqual([{ next: 101 }])
  })

  const behind = expect.stringMatching(
    /^The numbers of new licenses are behind .* as the owner of the tables/,
  )

  test.each([
    ['may not change them', 'SELECT ON utility_api_licenses_seq_seq', behind],
    ['may not read them', 'SELECT ON utility_api_schema', expect.stringMatching(/GRANT SELECT ON SEQUENCE/)],
  ])('are a warning to a role that %s', async (_, right, warning) => {
    const { database } = await withNumbersBehind()
    const role = await createRole('utility_api_test_no_sequence', database)
    await execute(
      database,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}; GRANT ${right} TO ${role}`,
    )
    const { storage } = storeOn(as(role, database))
    const { changed, warnings } = await storage.migrate()
    expect({ changed, warnings }).toEqual({
      changed: false,
      warnings: expect.arrayContaining([warning]) as string[],
    })
  })

  test('are a warning where nothing may be written, as on a standby', async () => {
    const { database } = await withNumbersBehind()
    const pool = new Pool({ connectionString: database, options: '-c default_transaction_read_only=on' })
    pools.push(pool)
    const { warnings } = await postgresStorage(pool).migrate()
    expect(warnings).toEqual(expect.arrayContaining([behind]))
  })
})

test('settings by which a power cut loses what was acknowledged are warnings', async () => {
  const database = await server.createDatabase()
  const warningsWith = async (options: string): Promise<string> => {
    const pool = new Pool({ connectionString: database, options })
    pools.push(pool)
    return (await postgresStorage(pool).migrate()).warnings.join('\n')
  }
  expect(await warningsWith('-c synchronous_commit=off')).toMatch(/^synchronous_commit is off: /m)
  expect(await warningsWith('-c synchronous_commit=local')).not.toMatch(/synchronous_commit/)
  const [{ fsync }] = (await execute(database, 'SHOW fsync')) as [{ fsync: string }]
  expect(/^fsync is off: /m.test(await warningsWith(''))).toBe(fsync === 'off')
})

describe('row level security', () => {
  /** A database whose tables have it, and one row that nobody but the owner sees. */
  async function secured(table: string): Promise<{ owner: PostgresStorage; served: PostgresStorage }> {
    const database = await server.createDatabase()
    const owner = storeOn(database).storage
    await owner.migrate()
    const role = await createRole('utility_api_test_row_security', database)
    await execute(
      database,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role};
       ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
    )
    return { owner, served: storeOn(as(role, database)).storage }
  }

  test.each(['utility_api_credentials', 'utility_api_schema'])(
    'of %s that hides rows from the role is refused, or every token would be unknown and none could be revoked',
    async (table) => {
      const { owner, served } = await secured(table)
      for (const work of [
        () => served.migrate(),
        () => served.findClient('a', call),
        () => served.ping?.(call),
      ]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const error = await errorOf(work)
        expect([error.kind, error.message]).toEqual([
          'invalid',
          `Row level security of ${table} applies to the role of the pool and would hide rows: ALTER ROLE … BYPASSRLS, let the tables' owner serve, or ALTER TABLE … DISABLE ROW LEVEL SECURITY.`,
        ])
      }
      expect((await owner.migrate()).changed, 'it does not apply to the owner').toBe(false)
      expect(await owner.findClient('a', call)).toBeNull()
    },
  )
})

test('a number that was given already is no key that is taken', async () => {
  const { storage } = await withNumbersBehind()
  const keys = ['x', 'y']
  const errors = await Promise.all(
    keys.map((key) => errorOf(() => storage.insertLicense(newLicense(key), undefined, call))),
  )
  expect(errors.map(({ kind }) => kind)).toEqual(['conflict', 'conflict'])
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
      'licenses_compared_domain',
      "SELECT 1 FROM utility_api_licenses WHERE seq > 5 AND compared_domain = 'a' ORDER BY seq LIMIT 5",
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
