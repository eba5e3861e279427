import { callWithin } from 'utility-api/storage'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { postgresStorage, type PostgresClient, type PostgresPool } from 'utility-api/storage/postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Pool, type PoolConfig } from 'pg'
import { storageContract, type StorageFixture } from '../../src/testing/storage-contract.ts'
import {
  emptyTables,
  execute,
  makePool,
  startPostgres,
  type PostgresServer,
} from './support/postgres-server.ts'
import { openBehindProxy, type BehindProxy } from './support/behind-proxy.ts'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { license, newLicense } from './support/license.ts'
import { isInTime, testContract } from './support/register.ts'
import { counting, countRoundTrips, countUnderLoad, replacing } from './support/round-trips.ts'
import { newClient, newCode, newCredential, newToken } from './support/rows.ts'

let server: PostgresServer
let url: string
const pools: Pool[] = []

function pool(isolation?: string, max?: number): Pool {
  const made = makePool(url, isolation, max)
  pools.push(made)
  return made
}

beforeAll(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  await postgresStorage(pool()).migrate()
}, 60_000)

afterAll(async () => {
  await Promise.all(pools.filter((each) => !each.ended).map((each) => each.end()))
  await server?.stop()
}, 60_000)

/** Whether the whole suite runs on every setup of the connections, as in the long tests. */
const allSetups = process.env['ALL_SETUPS'] !== undefined

const isolations = ['read committed', 'repeatable read', 'serializable'] as const

/** Lists read one statement: at which level makes no difference to them. */
const isAlike = (name: string): boolean => /\blisted\b|listing shows|page mark|last page|two pages/.test(name)

for (const isolation of allSetups ? isolations : isolations.slice(0, 1)) {
  // One pair of pools for all cases of a level: connecting takes longer than the cases.
  let pair: [Pool, Pool] | undefined
  const make = async (): Promise<StorageFixture> => {
    pair ??= [pool(isolation), pool(isolation)]
    const [storage, second] = pair.map((each) => postgresStorage(each))
    if (storage === undefined || second === undefined) throw new Error('two stores')
    await emptyTables(pair[0])
    return { storage, second, close() {} }
  }
  testContract(
    `PostgreSQL at ${isolation}`,
    make,
    (name) => isInTime(name) && (isolation === 'read committed' || !isAlike(name)),
  )
}

let proxied: BehindProxy | undefined
const behindProxy = async (): Promise<StorageFixture> => (proxied ??= await openBehindProxy(url)).make()
for (const { name, run } of storageContract(behindProxy).filter((each) => /\bcut\b/.test(each.name)))
  test(`PostgreSQL behind a proxy that cuts connections: ${name}`, async () =>
    expect(await run()).toBe('passed'))
afterAll(() => proxied?.close())

// One connection is enough for everything, or two requests could wait for each other for ever.
if (allSetups)
  testContract('PostgreSQL on a pool of one connection that is taken away', async () => {
    const own = pool('read committed', 1)
    const storage = postgresStorage(own)
    await emptyTables(own)
    return { storage, disconnect: () => own.end(), close: () => (own.ended ? undefined : own.end()) }
  })

interface Watched {
  readonly pool: PostgresPool
  /** How many rows each write changed. */
  readonly changed: number[]
  /** Which write of a kind finds the connection lost. */
  failAt?: { readonly kind: 'DELETE' | 'UPDATE'; readonly count: number }
}

/** The same pool, but its writes are counted and can fail. */
function watching(own: Pool): Watched {
  const watched: Watched = { pool: { options: own.options, connect }, changed: [] }
  let sent = 0
  async function connect(): Promise<PostgresClient> {
    const client: PostgresClient = await own.connect()
    return Object.assign(Object.create(client) as PostgresClient, {
      query: async (statement: Parameters<PostgresClient['query']>[0]) => {
        const text = typeof statement === 'string' ? statement : statement.text
        const [kind] = text.trim().split(' ')
        if (kind === watched.failAt?.kind) sent += 1
        if (sent === watched.failAt?.count) throw new Error('Connection terminated unexpectedly')
        const result = await client.query(statement)
        if (kind === 'DELETE' || kind === 'UPDATE') watched.changed.push(result.rowCount ?? 0)
        return result
      },
      release: (destroy?: boolean) => client.release(destroy),
    })
  }
  return watched
}

describe('PostgreSQL trouble', () => {
  test('a killed idle connection affects no caller, and the process lives', async () => {
    const own = pool()
    const storage = postgresStorage(own)
    await storage.ping?.(call)
    await execute(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle'",
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await storage.findClient('nobody', call)).toBeNull()
  })

  test('a statement that waits too long fails with unavailable and changes nothing', async () => {
    const own = pool()
    const storage = postgresStorage(own)
    await storage.insertLicense(newLicense('waits'), undefined, call)
    const holder = await own.connect()
    await holder.query("BEGIN; UPDATE utility_api_licenses SET status = 'held' WHERE license_key = 'waits'")
    const other = new Pool({ connectionString: url, statement_timeout: 100 })
    pools.push(other)
    const update = { licenseKey: 'waits', resellerId: 'r', patch: { status: 'invalid' }, at: 5 }
    expect((await errorOf(() => postgresStorage(other).updateLicense(update, call))).kind).toBe('unavailable')
    await holder.query('ROLLBACK')
    holder.release()
    expect(await storage.findLicense('waits', call)).toEqual(license('waits'))
  })

  test('a statement that waited too long for a connection is not sent, and the connection stays usable', async () => {
    const own = pool('read committed', 1)
    const storage = postgresStorage(own)
    await storage.ping?.(call)
    const holder = await own.connect()
    let left = 1000
    const late = errorOf(() =>
      storage.insertLicense(newLicense('late'), undefined, { timeLeftMs: () => left }),
    )
    while (own.waitingCount === 0) await new Promise((resolve) => setImmediate(resolve))
    left = 0
    holder.release()
    expect((await late).kind).toBe('unavailable')
    expect(await storage.findLicense('late', call)).toBeNull()
    const [row] = (await own.query('SELECT pg_backend_pid() AS pid')).rows as { pid: number }[]
    expect(row?.pid).toBe((holder as unknown as { processID: number }).processID)
  })

  test('finds while all connections are busy cost one statement for each kind of row', async () => {
    const own = pool('read committed', 1)
    const storage = postgresStorage(own)
    await storage.ping?.(call)
    const holder = await own.connect()
    let lent = 0
    own.on('acquire', () => (lent += 1))
    const found = Array.from({ length: 30 }, (_, index) =>
      Promise.all([
        storage.findClient(`client-${index}`, call),
        storage.findAuthorizationCode(new Uint8Array(32).fill(index), call),
        storage.findCredential('api_key', new Uint8Array(32).fill(index), call),
      ]),
    )
    while (own.waitingCount < 3) await new Promise((resolve) => setImmediate(resolve))
    holder.release()
    expect(await Promise.all(found)).toEqual(found.map(() => [null, null, null]))
    expect(lent).toBe(3)
  })

  test('a code waits for the revocation of its client that is under way, and is refused', async () => {
    const own = pool()
    const storage = postgresStorage(own)
    await storage.insertClient(newClient('waits'), call)
    const holder = await own.connect()
    await holder.query("BEGIN; UPDATE utility_api_clients SET revoked_at = 5 WHERE client_id = 'waits'")
    const hash = new Uint8Array(32).fill(78)
    const issued = errorOf(() => storage.insertAuthorizationCode(hash, newCode('waits'), call))
    const isAnswered = issued.then(
      () => true,
      () => true,
    )
    const waiting =
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%utility_api_codes%'"
    const isWaiting = async (): Promise<boolean> => (await execute(url, waiting)).length > 0
    while (!(await isWaiting()) && !(await Promise.race([isAnswered, false]))) await sleep(10)
    await holder.query('COMMIT')
    holder.release()
    expect((await issued).kind).toBe('conflict')
  })

  test('uses are noted in the order of their ids, or servers that note the same ones wait for each other', async () => {
    // The planner may read the rows in the order of the table. Here it has to.
    const own = new Pool({ connectionString: url, options: '-c enable_indexscan=off' })
    pools.push(own)
    const storage = postgresStorage(own)
    const [first, second] = ['noted-first', 'noted-second']
    // The second comes first there.
    for (const [index, id] of [second, first].entries()) {
      const hash = new Uint8Array(32).fill(90 + index)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await storage.insertCredential('api_key', hash, newCredential(id), call)
    }
    const holder = await own.connect()
    const lock = 'SELECT id FROM utility_api_credentials WHERE id ='
    await holder.query(`BEGIN; ${lock} '${first}' FOR UPDATE`)
    const noted = storage.recordUse?.('api_key', [second, first], 86_400_000, call)
    const waiting =
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%last_used_on%'"
    while ((await execute(url, waiting)).length === 0) await sleep(10)
    expect((await holder.query(`${lock} '${second}' FOR UPDATE NOWAIT`)).rowCount).toBe(1)
    await holder.query('COMMIT')
    holder.release()
    await noted
  })

  test('a code that is spent while a purge looks at it stays, or a replay can no longer revoke its token', async () => {
    const own = pool()
    const [storage, other] = [postgresStorage(own), postgresStorage(pool())]
    const codeHash = new Uint8Array(32).fill(77)
    await storage.insertAuthorizationCode(codeHash, newCode('purged', { expiresAt: 10 }), call)
    const token = newToken('bought', codeHash, { expiresAt: 1000 })
    let spent = false
    own.on('acquire', (client) => {
      const query = client.query.bind(client) as (statement: { text: string }) => Promise<unknown>
      const spendFirst = async (statement: { text: string }): Promise<unknown> => {
        if (/DELETE FROM utility_api_codes/.test(statement.text))
          spent ||= await other.redeemAuthorizationCode(codeHash, 9, token, call)
        return query(statement)
      }
      client.query = spendFirst as typeof client.query
    })
    await storage.purgeExpired(20, call)
    expect(spent).toBe(true)
    expect(await storage.revokeAccessTokensOfCode(codeHash, 30, call)).toBe(1)
  })

  const rawText = { getTypeParser: () => (value: string | Buffer) => value }
  test.each([
    ['parsers of its own', { types: rawText }],
    ['octets in escape format', { options: '-c bytea_output=escape' }],
  ])('a pool with %s finds the same rows', async (id, options) => {
    const own = new Pool({ connectionString: url, ...options } as PoolConfig)
    pools.push(own)
    const [plain, storage] = [postgresStorage(pool()), postgresStorage(own)]
    await emptyTables(own)
    const hash = Uint8Array.from(
      { length: 32 },
      (_each, index) => [0, 0x5c, 0x27, 0x80, 0xff, 0x0a, 0x41][index % 7] ?? 0,
    )
    const createdAt = 2 ** 41
    await plain.insertClient(newClient(id, { secretHashes: [hash], createdAt }), call)
    await plain.insertCredential('api_key', hash, newCredential(id, { scope: 'a', createdAt }), call)
    expect(await storage.findClient(id, call)).toEqual(await plain.findClient(id, call))
    expect(await storage.findCredential('api_key', hash, call)).toMatchObject({ id, createdAt })
    expect(await storage.purgeExpired(1, call)).toEqual({ tokens: 0, codes: 0, idempotency: 0 })
    expect(await storage.listing?.countLicenses({ resellerId: 'raw' }, call)).toBe(0)
  })

  test('access is revoked 1,000 rows at a time, and a repeat finishes what a lost connection has ended', async () => {
    const own = pool()
    const watched = watching(own)
    await emptyTables(own)
    await own.query(`
      INSERT INTO utility_api_codes (hash, client_id, subject, redirect_uri, scope, expires_at, redeemed_at)
      SELECT sha256(n::text::bytea), 'many', 'ada', '', '', 99, CASE WHEN n % 5 = 0 THEN 5 END
      FROM generate_series(1, 2500) AS n`)
    await own.query(`
      INSERT INTO utility_api_credentials (kind, id, hash, owner_id, subject, scope, created_at, expires_at)
      SELECT 'access_token', 'many-' || n, sha256(n::text::bytea), 'many',
        CASE WHEN n % 2 = 0 THEN 'ada' END, '', 5, 99 FROM generate_series(1, 2500) AS n`)
    const storage = postgresStorage(watched.pool)
    watched.failAt = { kind: 'UPDATE', count: 2 }
    const error = await errorOf(() => storage.revokeAccess({ clientId: 'many' }, 10, call))
    expect(error.kind).toBe('unavailable')
    expect(watched.changed).toEqual([1000, 1000, 0, 1000])
    delete watched.failAt
    expect(await storage.revokeAccess({ clientId: 'many' }, 20, call)).toEqual({ codes: 0, tokens: 1500 })
    expect(await storage.revokeAccess({ clientId: 'many' }, 30, call)).toEqual({ codes: 0, tokens: 0 })
    expect(watched.changed.slice(4)).toEqual([0, 1000, 500, 0, 0])
    const byTime = 'SELECT revoked_at AS at, count(*) FROM utility_api_credentials GROUP BY 1 ORDER BY 1'
    expect((await own.query(byTime)).rows).toEqual([
      { at: '10', count: '1000' },
      { at: '20', count: '1500' },
    ])
    await own.query('UPDATE utility_api_credentials SET revoked_at = NULL')
    expect(await storage.revokeAccess({ subject: 'ada' }, 40, call)).toEqual({ codes: 0, tokens: 1250 })
  })

  test('a client with many codes is revoked first, and its codes are ended 1,000 at a time', async () => {
    const own = pool()
    const [plain, watched] = [postgresStorage(own), watching(own)]
    await plain.insertClient(newClient('issuing'), call)
    await own.query(`
      INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at)
      SELECT sha256(('issuing-' || n)::bytea), 'issuing', '', '', 99 FROM generate_series(1, 1100) AS n`)
    expect(await postgresStorage(watched.pool).revokeClient('issuing', 10, call)).toBe(true)
    expect(watched.changed).toEqual([1, 1000, 100])
  })

  test('a purge leaves the rows that another program has locked, and waits for none of them', async () => {
    const own = pool()
    const storage = postgresStorage(own)
    const hash = (byte: number): Buffer => Buffer.alloc(32, byte)
    for (const byte of [1, 2]) {
      const key = { resellerId: 'purged', keyHash: hash(byte), requestHash: hash(0), at: 1, expiresAt: 5 }
      // oxlint-disable-next-line no-await-in-loop -- two
      await storage.insertLicense(newLicense(`purged-${byte}`), key, call)
      const token = newCredential(`purged-${byte}`, { expiresAt: 5 })
      // oxlint-disable-next-line no-await-in-loop -- two
      await storage.insertCredential('access_token', hash(byte), token, call)
    }
    const console = await own.connect()
    onTestFinished(() => console.release())
    await console.query('BEGIN')
    await console.query('SELECT 1 FROM utility_api_idempotency_keys WHERE key_hash = $1 FOR UPDATE', [
      hash(1),
    ])
    await console.query('SELECT 1 FROM utility_api_credentials WHERE hash = $1 FOR UPDATE', [hash(1)])
    const counts = { codes: 0, tokens: 1, idempotency: 1 }
    expect(await storage.purgeExpired(5, callWithin(2000))).toEqual(counts)
    await console.query('ROLLBACK')
    expect(await storage.purgeExpired(5, call)).toEqual(counts)
  })

  test('a transaction left open by the host is refused with a clear error, and no write is lost in it', async () => {
    const own = pool('read committed', 1)
    const storage = postgresStorage(own)
    const host = await own.connect()
    await host.query('BEGIN')
    host.release()
    const error = await errorOf(() => storage.insertLicense(newLicense('swallowed'), undefined, call))
    expect([error.kind, error.message]).toEqual(['bug', expect.stringContaining('transaction of the host')])
    expect(await storage.insertLicense(newLicense('swallowed'), undefined, call)).toBe('inserted')
    expect(await postgresStorage(pool()).findLicense('swallowed', call)).toEqual(license('swallowed'))
  })

  test('a transaction that the host begins without waiting for it is refused, and no write is lost in it', async () => {
    const own = pool('read committed', 1)
    const storage = postgresStorage(own)
    await storage.ping?.(call)
    const host = await own.connect()
    const begun = host.query('BEGIN')
    host.release()
    const error = await errorOf(() => storage.insertLicense(newLicense('swallowed-2'), undefined, call))
    expect([error.kind, error.message]).toEqual(['bug', expect.stringContaining('transaction of the host')])
    await begun
    expect(await storage.insertLicense(newLicense('swallowed-2'), undefined, call)).toBe('inserted')
    expect(await postgresStorage(pool()).findLicense('swallowed-2', call)).toEqual(license('swallowed-2'))
  })

  test('where arrays have no NULL, writes that arrive together store none as a text', async () => {
    const own = new Pool({ connectionString: url, options: '-c array_nulls=off' })
    pools.push(own)
    const storage = postgresStorage(own)
    await emptyTables(own)
    const update = { resellerId: 'r', patch: { status: 'new' }, at: 5 }
    const hashes = [1, 2, 3].map((byte) => Buffer.alloc(32, byte))
    await Promise.all(hashes.map((hash) => storage.insertAuthorizationCode(hash, newCode('c'), call)))
    await Promise.all(
      hashes.map((hash, index) =>
        storage.redeemAuthorizationCode(hash, 5, newToken(`t${index}`, hash), call),
      ),
    )
    await Promise.all(
      hashes.map((_, index) => storage.insertLicense(newLicense(`${index}`), undefined, call)),
    )
    await Promise.all(
      hashes.map((_, index) => storage.updateLicense({ ...update, licenseKey: `${index}` }, call)),
    )
    const tokens = await Promise.all(hashes.map((hash) => storage.findCredential('access_token', hash, call)))
    expect(tokens.map((token) => token?.subject)).toEqual([null, null, null])
    for (const index of hashes.keys())
      // oxlint-disable-next-line no-await-in-loop -- three
      expect(await storage.findLicense(`${index}`, call)).toEqual({
        ...license(`${index}`),
        status: 'new',
        updatedAt: 5,
      })
  })

  const latin1 = "SET client_encoding = 'LATIN1'"
  const setLatin1 = async (client: { query(text: string): Promise<unknown> }): Promise<void> => {
    await client.query(latin1)
  }

  test('a connection on which the host has changed the encoding is refused once, and stores no other text', async () => {
    const own = pool('read committed', 1)
    const [storage, others] = [postgresStorage(own), postgresStorage(pool())]
    const fields = { registeredTo: 'Zoë', domainOrIp: 'zoë.example' }
    await own.query(latin1)
    const insert = (): unknown => storage.insertLicense(newLicense('encoded', fields), undefined, call)
    const error = await errorOf(insert)
    expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('to LATIN1')])
    expect(await insert()).toBe('inserted')
    expect(await others.findLicense('encoded', call)).toEqual({ ...license('encoded'), ...fields })
  })

  test.each<[string, (made: Pool) => unknown, PoolConfig & { onConnect?: typeof setLatin1 }]>([
    ['that it then lends', (made) => made.on('connect', (client) => void setLatin1(client)), {}],
    ['before it lends it', () => {}, { onConnect: setLatin1 }],
  ])('a pool that changes the encoding of every connection %s is refused', async (_, prepare, options) => {
    const own = new Pool({ connectionString: url, ...options })
    pools.push(own)
    prepare(own)
    const storage = postgresStorage(own)
    for (const key of ['encoded-1', 'encoded-2']) {
      // oxlint-disable-next-line no-await-in-loop -- two
      const error = await errorOf(() => storage.insertLicense(newLicense(key), undefined, call))
      expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('to LATIN1')])
    }
  })

  test('a database that does not exist is invalid, not a bug', async () => {
    const own = new Pool({ connectionString: Object.assign(new URL(url), { pathname: '/no_such_one' }).href })
    pools.push(own)
    expect((await errorOf(() => postgresStorage(own).findClient('a', call))).kind).toBe('invalid')
  })

  test('a connection that breaks during a call fails that call, and the process lives', async () => {
    const own = pool('read committed', 1)
    const lent: Socket[] = []
    own.on('connect', (client) => {
      const { connection } = client as unknown as { connection: { stream: Socket } }
      lent.push(connection.stream)
    })
    const storage = postgresStorage(own)
    await storage.insertLicense(newLicense('broken'), undefined, call)
    const other = pool('read committed', 1)
    other.on('error', () => {})
    const holder = await other.connect()
    await holder.query("BEGIN; UPDATE utility_api_licenses SET status = 'held' WHERE license_key = 'broken'")
    const waits = errorOf(() => storage.changeLicense('broken', { status: 'new' }, 5, call))
    const waiting =
      "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%utility_api_licenses%'"
    while ((await execute(url, `SELECT 1 ${waiting}`)).length === 0);
    for (const socket of lent) socket.destroy(new Error('reset'))
    expect((await waits).kind).toBe('unavailable')
    await execute(url, `SELECT pg_terminate_backend(pid) ${waiting}`)
    await holder.query('ROLLBACK')
    holder.release()
    expect(await storage.findLicense('broken', call)).toEqual(license('broken'))
  })

  test("without a server, calls fail with unavailable, and the driver's text stays in the cause", async () => {
    const nowhere = makePool('postgres://postgres:password@127.0.0.1:1/postgres')
    pools.push(nowhere)
    const error = await errorOf(() => postgresStorage(nowhere).findClient('a', call))
    expect([error.kind, error.retryable, error.cause instanceof Error]).toEqual(['unavailable', true, true])
  })

  test("an error quotes neither keys nor hashes nor customers' text, because it is logged with its cause", async () => {
    const own = makePool(await server.createDatabase())
    pools.push(own)
    const storage = postgresStorage(own)
    await storage.migrate()
    await own.query("ALTER TABLE utility_api_licenses ADD CHECK (status <> 'refused')")
    const hash = Buffer.alloc(32, 'hash')
    const credential = newCredential('an-id', { ownerId: 'Ada' })
    await storage.insertCredential('access_token', hash, credential, call)
    const errors = await Promise.all(
      [
        () => storage.insertLicense(newLicense('LIC-1', { status: 'refused' }), undefined, call),
        () => storage.insertCredential('access_token', hash, { ...credential, id: 'another-id' }, call),
        () => storage.insertCredential('api_key', hash, credential, call),
      ].map(errorOf),
    )
    expect(errors.map(({ kind }) => kind)).toEqual(['invalid', 'conflict', 'conflict'])
    const text = inspect(errors, { depth: Infinity, showHidden: true })
    expect(text).toContain('utility_api_licenses')
    expect(text).not.toMatch(/LIC-1|Ada|example\.com|an-id|another-id|68617368/)
  })

  test('text that PostgreSQL cannot store is invalid, not a server error', async () => {
    const storage = postgresStorage(pool())
    expect((await errorOf(() => storage.insertLicense(newLicense('nul\0'), undefined, call))).kind).toBe(
      'invalid',
    )
  })
})

describe('PostgreSQL: how many statements are sent', () => {
  /** A store, and how many statements it has sent so far. */
  function counted() {
    let sent = 0
    const plain: PostgresPool = pool()
    const lend = async (): ReturnType<PostgresPool['connect']> =>
      counting(await plain.connect(), ['query'], () => (sent += 1))
    return [postgresStorage(replacing(plain, 'connect', lend)), () => sent] as const
  }

  test('for an exchange 3, for a license updated or generated 2, for a token verified 1', async () => {
    expect(await countRoundTrips(...counted())).toEqual({
      exchange: 3,
      update: 2,
      generate: 2,
      generateWithKey: 2,
      verify: 1,
    })
  })

  test('by each of 32 callers a third of one at most, because they share them', async () => {
    const counts = await countUnderLoad(...counted(), { callers: 32, each: 10 })
    expect(Object.entries(counts).filter(([, count]) => count > 1 / 3)).toEqual([])
  })
})
