import { callWithin } from 'utility-api/storage'
import {
  mysqlStorage,
  type MysqlConnection,
  type MysqlPool,
  type MysqlStatement,
} from 'utility-api/storage/mysql'
import { randomBytes } from 'node:crypto'
import type { Pool, ResultSetHeader, RowDataPacket, TypeCastField } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { steps } from '../../adapters/storage/mysql/schema-steps.ts'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'
import { emptyTables, makePool, startMysql, whyNoMysql, type MysqlServer } from './support/mysql-server.ts'
import { openBehindProxy, type BehindProxy } from './support/behind-proxy.ts'
import { call } from './support/call.ts'
import { startCuttingProxy } from './support/cutting-proxy.ts'
import { errorOf } from './support/error-of.ts'
import { license, newLicense, withForm } from './support/license.ts'
import { testContract } from './support/register.ts'
import { replacing } from './support/round-trips.ts'
import { newClient } from './support/rows.ts'
import { verifyStepUnderLoad, verifyTooNew } from './support/steps.ts'

/** Whether the whole suite runs on every setup of the connections, as in the long tests. */
const allSetups = process.env['ALL_SETUPS'] !== undefined

const reason = whyNoMysql()
test.runIf(reason)(`MySQL: ${reason}`, ({ skip }) => skip(reason ?? ''))

describe.skipIf(reason)('MySQL', () => {
  let server: MysqlServer
  let url: string
  const pools: Pool[] = []

  function pool(options?: object): Pool {
    const made = makePool(url, options)
    pools.push(made)
    return made
  }

  beforeAll(async () => {
    server = await startMysql()
    url = await server.createDatabase()
  }, 60_000)

  afterAll(async () => {
    await Promise.all(pools.map((each) => each.end().catch(() => {})))
    await server?.stop()
  }, 60_000)

  // Rows that were found, and rows that were changed: drivers count the one or the other.
  // In a mode for safe updates too, which refuses what reads a whole table.
  const safePool = (): Pool => {
    const made = pool()
    made.on('connection', (connection) => void connection.query('SET sql_safe_updates = 1'))
    return made
  }
  const safely = async (): Promise<StorageFixture> => {
    safe ??= [safePool(), safePool()]
    const [storage, second] = [mysqlStorage(safe[0]), mysqlStorage(safe[1])]
    await storage.migrate()
    emptying ??= pool()
    await emptyTables(emptying)
    return { storage, second, close() {} }
  }
  let safe: [Pool, Pool] | undefined
  let emptying: Pool | undefined
  if (allSetups) testContract('with safe updates', safely)

  for (const flags of allSetups ? ['FOUND_ROWS', '-FOUND_ROWS'] : ['-FOUND_ROWS']) {
    let pair: [Pool, Pool] | undefined
    testContract(`with ${flags}`, async (): Promise<StorageFixture> => {
      pair ??= [pool({ flags }), pool({ flags })]
      const [storage, second] = [mysqlStorage(pair[0]), mysqlStorage(pair[1])]
      await storage.migrate()
      await emptyTables(pair[0])
      return { storage, second, close() {} }
    })
  }

  test('a step is taken once, while servers of before serve and several migrate, and those of before start again', async () => {
    const uri = await server.createDatabase()
    const reader = pool({ uri })
    await verifyStepUnderLoad({
      steps,
      // Taken twice, it would fail: a real one would say IF NOT EXISTS.
      step: [
        'ALTER TABLE utility_api_codes ADD COLUMN planted INT',
        'ALTER TABLE utility_api_credentials ADD COLUMN planted INT',
        'ALTER TABLE utility_api_licenses ADD COLUMN planted INT, ADD KEY (status)',
      ],
      open: () => mysqlStorage(pool({ uri, connectionLimit: 4 })),
      readSchema: async () => (await reader.query<RowDataPacket[]>('SELECT * FROM utility_api_schema'))[0][0],
    })
  })

  test('ten servers that migrate an empty database at once all succeed', async () => {
    const uri = await server.createDatabase()
    const each = Array.from({ length: 10 }, () => pool({ uri, connectionLimit: 1 }))
    await Promise.all(each.map((one) => mysqlStorage(one).migrate()))
    const [rows] = await pool({ uri }).query('SELECT * FROM utility_api_schema')
    expect(rows).toEqual([{ version: 1, step: 1 }])
  })

  test("a migration waits for another's as long as it takes, whatever limit statements have", async () => {
    const [limited, other] = [pool({ uri: await server.createDatabase() }), await pool().getConnection()]
    limited.on('connection', (connection) => void connection.query('SET max_statement_time = 0.1'))
    const [[database]] = await limited.query<RowDataPacket[]>('SELECT md5(database()) AS name')
    const lock = `'utility_api_schema:${database?.['name']}'`
    await other.query(`DO get_lock(${lock}, 1)`)
    const migrated = mysqlStorage(limited).migrate()
    await new Promise((resolve) => setTimeout(resolve, 500))
    await other.query(`DO release_lock(${lock})`)
    expect(await migrated).toMatchObject({ changed: true })
    const [[row]] = await limited.query<RowDataPacket[]>('SELECT @@max_statement_time AS seconds')
    expect(Number(row?.['seconds'])).toBe(0.1)
  })

  test('a schema newer than this version is refused, before anything is read or written', async () => {
    const newer = makePool(await server.createDatabase())
    pools.push(newer)
    await mysqlStorage(newer).migrate()
    await newer.query('UPDATE utility_api_schema SET version = 99, step = 99')
    await verifyTooNew(mysqlStorage(newer))
  })

  test('migrate() tells whether it changed anything, and warns about what a power cut would lose', async () => {
    const uri = await server.createDatabase()
    const storage = mysqlStorage(pool({ uri }))
    expect((await storage.migrate()).changed).toBe(true)
    expect((await storage.migrate()).changed).toBe(false)
    const root = pool({ uri })
    const [[{ before }]] = (await root.query(
      'SELECT @@innodb_flush_log_at_trx_commit AS `before`',
    )) as unknown as [[{ before: number }]]
    const set = (value: number): Promise<unknown> =>
      root.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${value}`)
    onTestFinished(async () => void (await set(before)))
    await set(2)
    expect((await storage.migrate()).warnings.join('\n')).toMatch(/^innodb_flush_log_at_trx_commit is 2: /m)
    await set(1)
    expect((await storage.migrate()).warnings.join('\n')).not.toMatch(/innodb_flush_log_at_trx_commit/)
  })

  test('numbers of licenses are never behind the rows: the server puts them forward itself', async () => {
    const storage = mysqlStorage(pool({ uri: await server.createDatabase() }))
    const uri = await server.createDatabase()
    const restored = mysqlStorage(pool({ uri }))
    await Promise.all([storage.migrate(), restored.migrate()])
    const root = pool({ uri })
    for (const key of ['a', 'b'])
      // oxlint-disable-next-line no-await-in-loop -- one number each
      await restored.insertLicense(newLicense(key), undefined, call)
    // As replication and a restore of the rows alone write them, each with its number.
    await root.query('UPDATE utility_api_licenses SET seq = seq + 100')
    await root.query('ALTER TABLE utility_api_licenses AUTO_INCREMENT = 1')
    const keys = ['x', 'y']
    const stored = keys.map((key) => restored.insertLicense(newLicense(key), undefined, call))
    expect(await Promise.all(stored)).toEqual(['inserted', 'inserted'])
    const [rows] = await root.query<RowDataPacket[]>(
      'SELECT min(seq) > 100 AS after FROM utility_api_licenses',
    )
    expect(rows).toEqual([{ after: 1 }])
  })

  /** Makes a user with these rights on a database, and returns its URI. */
  async function userOf(uri: string, rights: string): Promise<string> {
    const database = new URL(uri)
    const name = database.pathname.slice(1)
    const owner = pool({ uri })
    await owner.query(`CREATE USER ${name}@'%'`)
    await owner.query(`GRANT ${rights} ON ${name}.* TO ${name}@'%'`)
    return Object.assign(database, { username: name, password: '' }).href
  }

  test('a user who may only read migrates a schema that is current, and reads', async () => {
    const uri = await server.createDatabase()
    await mysqlStorage(pool({ uri })).migrate()
    const storage = mysqlStorage(pool({ uri: await userOf(uri, 'SELECT') }))
    await storage.migrate()
    expect(await storage.findClient('a', call)).toBeNull()
  })

  test('a user who may not create tables migrates a schema that is current', async () => {
    const uri = await server.createDatabase()
    await mysqlStorage(pool({ uri })).migrate()
    const storage = mysqlStorage(pool({ uri: await userOf(uri, 'SELECT, INSERT, UPDATE, DELETE') }))
    await storage.migrate()
    expect(await storage.insertLicense(newLicense('served'), undefined, call)).toBe('inserted')
  })

  test('after a migration that failed, the pool loses no write that it acknowledges', async () => {
    const uri = await server.createDatabase()
    const owner = mysqlStorage(pool({ uri }))
    const app = await userOf(uri, 'SELECT, INSERT, UPDATE, CREATE, ALTER, INDEX')
    const storage = mysqlStorage(pool({ uri: app, connectionLimit: 1 }))
    expect((await errorOf(() => storage.migrate())).message).toContain('DELETE command denied')
    await owner.migrate()
    expect(await storage.insertLicense(newLicense('kept'), undefined, call)).toBe('inserted')
    expect(await owner.findLicense('kept', call)).toEqual(license('kept'))
  })

  test.each(
    ['a migration', 'the first call', 'a later call'].flatMap((when) => [
      [when, 'START TRANSACTION'],
      [when, 'SET SESSION autocommit = 0'],
    ]),
  )(
    'by %s, a transaction left open by the host (%s) is refused with a clear error, neither committed nor written in',
    async (when, begin) => {
      const uri = await server.createDatabase()
      const own = pool({ uri, connectionLimit: 1 })
      const [storage, other] = [mysqlStorage(own), mysqlStorage(pool({ uri }))]
      if (when === 'a later call') {
        await other.migrate()
        await storage.findLicense('nobody', call)
      }
      const host = await own.getConnection()
      await host.query('CREATE TABLE orders (id INT)')
      await host.query(begin)
      await host.query('INSERT INTO orders VALUES (1)')
      host.release()
      await other.migrate()
      const insert = async (): Promise<unknown> => storage.insertLicense(newLicense(when), undefined, call)
      const error = await errorOf(when === 'a migration' ? () => storage.migrate() : insert)
      expect([error.kind, error.message]).toEqual(['bug', expect.stringContaining('transaction of the host')])
      expect(await insert()).toBe('inserted')
      expect(await other.findLicense(when, call)).toEqual(license(when))
      expect((await own.query('SELECT id FROM orders'))[0]).toEqual([])
    },
  )

  test('a transaction of the host whose statements still wait to be compressed is refused', async () => {
    const own = pool({ connectionLimit: 1, compress: true })
    const storage = mysqlStorage(own)
    await storage.migrate()
    await storage.findLicense('nobody', call)
    const host = await own.getConnection()
    const sent = [host.query('DO length(?)', [randomBytes(50_000)]), host.query('START TRANSACTION')]
    host.release()
    const insert = async (): Promise<unknown> => storage.insertLicense(newLicense('waiting'), undefined, call)
    expect((await errorOf(insert)).message).toContain('transaction of the host')
    expect(await insert()).toBe('inserted')
    await Promise.all(sent)
    expect(await mysqlStorage(pool()).findLicense('waiting', call)).toEqual(license('waiting'))
  })

  test('a transaction that the host begins while the storage has the connection is refused from the next call on', async () => {
    const own = pool({ connectionLimit: 1 })
    let meanwhile: string | undefined
    const storage = mysqlStorage({
      async getConnection() {
        const connection = await own.getConnection()
        const execute: MysqlConnection['execute'] = (statement) => {
          const answer = connection.execute(statement)
          if (meanwhile !== undefined) void connection.query(meanwhile)
          meanwhile = undefined
          return answer
        }
        return replacing(connection as MysqlConnection, 'execute', execute)
      },
    })
    await storage.migrate()
    const insert = async (key: string): Promise<unknown> =>
      storage.insertLicense(newLicense(key), undefined, call)
    await insert('before')
    await insert('warm')
    meanwhile = 'START TRANSACTION'
    expect(await insert('beside')).toBe('inserted')
    expect((await errorOf(() => insert('after'))).message).toContain('transaction of the host')
    expect(await insert('after')).toBe('inserted')
    const found = ['beside', 'after'].map((key) => mysqlStorage(pool()).findLicense(key, call))
    expect(await Promise.all(found)).toEqual([license('beside'), license('after')])
  })

  let proxied: BehindProxy | undefined
  const behindProxy = async (): Promise<StorageFixture> => (proxied ??= await openBehindProxy(url)).make()
  for (const { name, run } of storageContract(behindProxy).filter((each) => /\bcut\b/.test(each.name)))
    test(`behind a proxy that cuts connections: ${name}`, async () => expect(await run()).toBe('passed'))
  afterAll(() => proxied?.close())

  describe.each(['the first call', 'a later call'])('a connection that stops answering during %s', (when) => {
    test('is closed when the time of the call is over, and the pool opens another', async () => {
      await mysqlStorage(pool()).migrate()
      const freezing = await startCuttingProxy(Number(new URL(url).port))
      onTestFinished(() => freezing.close())
      const own = makePool(Object.assign(new URL(url), { port: freezing.port }).href, { connectionLimit: 1 })
      pools.push(own)
      const storage = mysqlStorage(own)
      if (when === 'the first call') own.once('connection', () => freezing.freeze())
      else {
        await storage.findClient('nobody', call)
        freezing.freeze()
      }
      const error = await errorOf(() => storage.findClient('nobody', callWithin(100)))
      expect(error.kind).toBe('unavailable')
      // The first read of the schema has a time of its own, and fails all who wait for it.
      if (when === 'the first call') await errorOf(() => storage.findClient('nobody', call))
      expect(await storage.findClient('nobody', call)).toBeNull()
      await storage.close?.()
    })
  })

  test('for a pool without a database, the error says so, and not that another server is migrating', async () => {
    const own = makePool(Object.assign(new URL(url), { pathname: '/' }).href)
    pools.push(own)
    const error = await errorOf(() => mysqlStorage(own).migrate())
    expect([error.kind, error.message]).toEqual(['invalid', 'The pool has no database: name one in its URL.'])
  })

  test('a server that takes no writes any more loses its connection, since another may have taken its place', async () => {
    const own = pool({ connectionLimit: 1 })
    const storage = mysqlStorage(own)
    await storage.migrate()
    await own.query('SET SESSION TRANSACTION READ ONLY')
    const error = await errorOf(() => storage.insertLicense(newLicense('moved'), undefined, call))
    expect(error.kind).toBe('unavailable')
    expect(await storage.insertLicense(newLicense('moved'), undefined, call)).toBe('inserted')
  })

  test('lists of a hundred lengths are few prepared statements', async () => {
    const own = pool({ connectionLimit: 1 })
    const storage = mysqlStorage(own)
    await storage.migrate()
    const prepared = async (): Promise<number> => {
      const [[status]] = await own.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")
      return Number(status?.['Value'])
    }
    const before = await prepared()
    const listing = storage.listing
    for (const limit of Array.from({ length: 100 }, (_, index) => index + 1))
      // oxlint-disable-next-line no-await-in-loop -- on one connection
      expect((await listing?.licenses({ limit }, call))?.licenses.length).toBeLessThanOrEqual(limit)
    expect((await prepared()) - before).toBeLessThan(8)
  })

  test('writes that wait for a lock of another program leave a connection to reads', async () => {
    const own = pool({ connectionLimit: 2 })
    const storage = mysqlStorage(own)
    await storage.migrate()
    await storage.insertLicense(newLicense('locked'), undefined, call)
    const console = await pool().getConnection()
    onTestFinished(() => console.release())
    await console.query('START TRANSACTION')
    await console.query("SELECT 1 FROM utility_api_licenses WHERE license_key = 'locked' FOR UPDATE")
    const change = { status: 'invalid' }
    const changes = [1, 2, 3].map((at) => storage.changeLicense('locked', change, at, call))
    // The read comes to the pool after all writes that may.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await storage.findLicense('locked', callWithin(1000))).toEqual(license('locked'))
    await console.query('ROLLBACK')
    expect(await Promise.all(changes)).toEqual([true, true, true])
  })

  test('rows have columns whatever the pool wants them to have', async () => {
    const storage = mysqlStorage(pool({ nestTables: true }))
    await storage.migrate()
    await storage.insertLicense(newLicense('nested'), undefined, call)
    expect(await storage.findLicense('nested', call)).toEqual(license('nested'))
  })

  test.each<[string, string, (field: TypeCastField, next: () => unknown) => unknown]>([
    ['text', '+01:00', (field, next) => (/STRING/.test(field.type) ? field.string() : next())],
    ['big integers', '+02:00', (field, next) => (field.type === 'LONGLONG' ? 7n : next())],
  ])('columns have our types whatever the pool makes of them: %s', async (_, timezone, typeCast) => {
    // The driver shares what it has compiled for a statement between pools of one time zone.
    const storage = mysqlStorage(pool({ uri: await server.createDatabase(), typeCast, timezone }))
    await storage.migrate()
    await storage.insertLicense(newLicense('typed'), undefined, call)
    expect(await storage.findLicense('typed', call)).toEqual(license('typed'))
    const client = { clientId: 'typed', redirectUris: [], createdAt: 1, revokedAt: null }
    await storage.insertClient({ ...client, secretHashes: [randomBytes(32).fill(0xff)] }, call)
    expect((await storage.findClient('typed', call))?.secretHashes[0]?.[0]).toBe(0xff)
  })

  test.each(['utf8', 'latin1'])(
    'a pool whose text is %s is refused, and not a character lost',
    async (charset) => {
      await mysqlStorage(pool()).migrate()
      const storage = mysqlStorage(pool({ charset }))
      for (const work of [() => storage.migrate(), () => storage.findLicense('Żółć 😀', call)]) {
        // oxlint-disable-next-line no-await-in-loop -- two
        const { kind, message } = await errorOf(work)
        expect([kind, message]).toEqual([
          'invalid',
          expect.stringMatching(/charset (utf8mb3|utf8|latin1): .* utf8mb4/),
        ])
      }
    },
  )

  test("text stays what it is after the host has changed a connection's charset, and the host keeps its collation", async () => {
    const own = pool({ connectionLimit: 1, charset: 'UTF8MB4_UNICODE_CI' })
    const [storage, other] = [mysqlStorage(own), mysqlStorage(pool())]
    await storage.migrate()
    const collation = async (): Promise<unknown> =>
      (await own.query<RowDataPacket[]>('SELECT @@collation_connection AS name'))[0][0]?.['name']
    await storage.findLicense('nobody', call)
    expect(await collation()).toBe('utf8mb4_unicode_ci')
    for (const charset of ['latin1', 'binary', 'utf8mb3']) {
      const named = { ...license(`named-${charset}`), registeredTo: 'Żółć é 😀' }
      // oxlint-disable-next-line no-await-in-loop -- on one connection
      await own.query(`SET NAMES ${charset}`)
      // oxlint-disable-next-line no-await-in-loop -- as above
      expect(await storage.insertLicense(withForm(named), undefined, call)).toBe('inserted')
      // oxlint-disable-next-line no-await-in-loop -- as above
      expect(await other.findLicense(named.licenseKey, call)).toEqual(named)
      // oxlint-disable-next-line no-await-in-loop -- as above
      expect(await storage.findLicense(named.licenseKey, call)).toEqual(named)
    }
  })

  // With CHAIN, a COMMIT begins the next transaction.
  test.each(['completion_type = CHAIN', 'sql_select_limit = 1'])(
    'after the host has set %s, what is written is committed, and what is looked up together is found',
    async (setting) => {
      const [own, others] = [pool({ connectionLimit: 1 }), mysqlStorage(pool())]
      const storage = mysqlStorage(own)
      await storage.migrate()
      await emptyTables(own)
      const keys = ['a', 'b', 'c']
      await Promise.all(keys.map((key) => storage.insertClient(newClient(key), call)))
      await own.query(`SET SESSION ${setting}`)
      // Two together, in a transaction, and one that commits on its own.
      await Promise.all(['a', 'b'].map((key) => storage.insertLicense(newLicense(key), undefined, call)))
      const update = { resellerId: 'r', patch: { status: 'new' }, at: 5 }
      await Promise.all(
        ['a', 'b'].map((licenseKey) => storage.updateLicense({ ...update, licenseKey }, call)),
      )
      await storage.insertLicense(newLicense('c'), undefined, call)
      const found = await Promise.all(keys.map((key) => others.findLicense(key, call)))
      expect(found.map((each) => each?.status)).toEqual(['new', 'new', 'valid'])
      const clients = await Promise.all(keys.map((key) => storage.findClient(key, call)))
      expect(clients.map((each) => each?.clientId)).toEqual(keys)
    },
  )

  test('a migration is seen by a connection that was in a transaction before', async () => {
    const database = await server.createDatabase()
    const [own, other] = [makePool(database, { connectionLimit: 1 }), makePool(database)]
    pools.push(own, other)
    const connection = await own.getConnection()
    await connection.query('SET SESSION autocommit = 0')
    await connection.query(
      'CREATE TABLE utility_api_schema (version INT NOT NULL PRIMARY KEY, step INT NOT NULL)',
    )
    connection.release()
    const storage = mysqlStorage(own)
    expect((await errorOf(() => storage.findClient('nobody', call))).message).toContain('run migrate() first')
    await mysqlStorage(other).migrate()
    expect(await storage.findClient('nobody', call)).toBeNull()
  })

  /** The same pool, but its writes are counted, and the one after so many of a kind finds the connection lost. */
  function watching(own: Pool): { pool: MysqlPool; changed: number[]; left: Map<string, number> } {
    const changed: number[] = []
    const left = new Map<string, number>()
    async function getConnection(): Promise<MysqlConnection> {
      const connection = await own.getConnection()
      return {
        query: (text) => connection.query(text),
        async execute(statement) {
          const [kind = ''] = statement.sql.trim().split(' ')
          const more = left.get(kind) ?? Infinity
          if (more === 0) throw new Error('Connection lost')
          left.set(kind, more - 1)
          const result = await connection.execute(statement)
          if (kind !== 'SELECT') changed.push((result[0] as ResultSetHeader).affectedRows)
          return result
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    }
    return { pool: { getConnection }, changed, left }
  }

  test('access is revoked 1,000 rows at a time, and a repeat finishes what a lost connection has ended', async () => {
    const own = pool()
    const watched = watching(own)
    const storage = mysqlStorage(watched.pool)
    await mysqlStorage(own).migrate()
    await emptyTables(own)
    const numbers = Array.from({ length: 2500 }, (_, index) => index)
    await own.query(
      'INSERT INTO utility_api_codes (hash, client_id, subject, redirect_uri, scope, expires_at, redeemed_at) VALUES ?',
      [numbers.map((n) => [randomBytes(32), 'many', 'ada', '', '', 99, n % 5 === 0 ? 5 : null])],
    )
    await own.query(
      'INSERT INTO utility_api_credentials (kind, id, hash, owner_id, subject, scope, created_at, expires_at) VALUES ?',
      [
        numbers.map((n) => {
          const subject = n % 2 === 0 ? 'ada' : null
          return ['access_token', `many-${n}`, randomBytes(32), 'many', subject, '', 5, 99]
        }),
      ],
    )
    watched.left.set('UPDATE', 1)
    const error = await errorOf(() => storage.revokeAccess({ clientId: 'many' }, 10, call))
    expect(error.kind).toBe('unavailable')
    expect(watched.changed).toEqual([1000, 1000, 0, 1000])
    watched.left.clear()
    expect(await storage.revokeAccess({ clientId: 'many' }, 20, call)).toEqual({ codes: 0, tokens: 1500 })
    expect(await storage.revokeAccess({ clientId: 'many' }, 30, call)).toEqual({ codes: 0, tokens: 0 })
    expect(watched.changed.slice(4)).toEqual([0, 0, 1000, 500, 0, 0, 0, 0])
    const byTime =
      'SELECT revoked_at AS at, count(*) AS count FROM utility_api_credentials GROUP BY revoked_at ORDER BY 1'
    expect((await own.query(byTime))[0]).toEqual([
      { at: 10, count: 1000 },
      { at: 20, count: 1500 },
    ])
    await own.query('UPDATE utility_api_credentials SET revoked_at = NULL')
    expect(await storage.revokeAccess({ subject: 'ada' }, 40, call)).toEqual({ codes: 0, tokens: 1250 })
  })

  test('a page of a long list and a portion of a revocation are read from where they begin in their index', async () => {
    const own = pool({ uri: await server.createDatabase(), connectionLimit: 1 })
    const storage = mysqlStorage(own)
    await storage.migrate()
    const numbers = Array.from({ length: 3000 }, (_, index) => 10_000 + index)
    await own.query(
      'INSERT INTO utility_api_licenses (license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at) VALUES ?',
      [numbers.map((n) => [`LIC-${n}`, '', 'a', 'a', '', n % 10 === 0 ? 'other' : 'big', n, n])],
    )
    await own.query(
      'INSERT INTO utility_api_credentials (kind, id, hash, owner_id, scope, created_at, expires_at) VALUES ?',
      [
        numbers.map((n) => [
          'access_token',
          `token-${n}`,
          randomBytes(32),
          n % 10 === 0 ? 'other' : 'big',
          '',
          n,
          99,
        ]),
      ],
    )
    await own.query('ANALYZE TABLE utility_api_licenses, utility_api_credentials')
    const sent: MysqlStatement[] = []
    const watched = mysqlStorage({
      async getConnection() {
        const connection = await own.getConnection()
        const execute: MysqlConnection['execute'] = (statement) => {
          sent.push(statement)
          return connection.execute(statement)
        }
        return Object.assign(Object.create(connection) as MysqlConnection, { execute })
      },
    })
    const { listing } = watched
    await watched.findLicense('nobody', call)
    sent.length = 0
    await listing?.licenses({ resellerId: 'big', after: '1000', limit: 50 }, call)
    await listing?.licenses({ comparedDomains: ['a'], resellerId: 'big', after: '1000', limit: 50 }, call)
    await listing?.credentials({ kind: 'access_token', after: '11000:x', limit: 50 }, call)
    await listing?.credentials({ kind: 'access_token', ownerId: 'big', after: '11000:x', limit: 50 }, call)
    await watched.revokeAccess({ clientId: 'big' }, 5, call)
    const plans = await Promise.all(
      sent.map(async ({ sql, values }) => {
        const [[plan]] = await own.execute<RowDataPacket[]>(`EXPLAIN ${sql}`, values)
        return `${plan?.['type']} ${plan?.['key']} ${plan?.['Extra']}`
      }),
    )
    const [licenses, ofDomain, tokens, tokensOfOwner, codes, ...portions] = plans
    expect([licenses, ofDomain, tokens, tokensOfOwner]).toEqual([
      expect.stringMatching(/^range reseller_id (?!.*filesort)/),
      expect.stringMatching(/^range compared_domain (?!.*filesort)/),
      expect.stringMatching(/^range kind (?!.*filesort)/),
      expect.stringMatching(/^range kind (?!.*filesort)/),
    ])
    expect(codes).toMatch(/client_id/)
    expect(portions).toEqual(
      Array.from({ length: 6 }, () => expect.stringMatching(/^range owner_id (?!.*filesort)/)),
    )
  })

  test('a client with many codes is revoked first, and its codes are ended 1,000 at a time', async () => {
    const own = pool()
    const watched = watching(own)
    const storage = mysqlStorage(own)
    await storage.migrate()
    await storage.insertClient(newClient('issuing'), call)
    await own.query(
      'INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at) VALUES ?',
      [Array.from({ length: 1100 }, () => [randomBytes(32), 'issuing', '', '', 99])],
    )
    expect(await mysqlStorage(watched.pool).revokeClient('issuing', 10, call)).toBe(true)
    expect(watched.changed).toEqual([1, 1000, 100])
  })

  // One connection is enough for everything, or two requests could wait for each other for ever.
  if (allSetups)
    testContract('on a pool of one connection that is taken away', async () => {
      const own = pool({ connectionLimit: 1 })
      const storage = mysqlStorage(own)
      await storage.migrate()
      await emptyTables(own)
      return { storage, disconnect: () => own.end(), close: () => own.end().catch(() => {}) }
    })
})
