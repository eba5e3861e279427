import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import Database from 'better-sqlite3'
import type { StorageError } from 'utility-api/storage'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call, callOfLooks } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { license, newLicense } from './support/license.ts'
import { testContract } from './support/register.ts'
import { newClient, newCode, newToken } from './support/rows.ts'
import { drivers, fileOf, migrated } from './support/sqlite-files.ts'
import { openTwice } from './support/sqlite-fixture.ts'

// On every setup of the connections in the long tests.
if (process.env['ALL_SETUPS'] !== undefined) {
  testContract('SQLite through better-sqlite3 with 64-bit integers', () =>
    openTwice((path) => new Database(path).defaultSafeIntegers(true)),
  )

  testContract('SQLite in memory', async () => {
    const storage = await migrated(new DatabaseSync(':memory:'))
    return { storage, close() {} }
  })
}

type Run = ReturnType<SqliteDatabase['prepare']>['run']

/** A connection on which each run of statements of this kind is passed to `around`. */
function watching(
  database: SqliteDatabase,
  kind: RegExp,
  around: (values: unknown[], run: () => ReturnType<Run>) => ReturnType<Run>,
): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql)
      if (!kind.test(sql)) return statement
      return {
        get: (...values) => statement.get(...values),
        all: (...values) => statement.all(...values),
        run: (...values) => around(values, () => statement.run(...values)),
      }
    },
  }
}

test('a lock that is never released ends in unavailable, for every write that waited', async () => {
  const { open } = fileOf(drivers[0][1])
  const storage = await migrated(open())
  const other = open()
  other.exec('BEGIN IMMEDIATE')
  const errors = await Promise.all(
    ['a', 'b'].map((key) =>
      errorOf(() => storage.insertLicense(newLicense(key), undefined, callOfLooks(10))),
    ),
  )
  expect(errors.map(({ kind, retryable }) => [kind, retryable])).toEqual([
    ['unavailable', true],
    ['unavailable', true],
  ])
  other.exec('ROLLBACK')
  expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
})

test('a read that finds the database busy when its time is just over says so, and does not ask again', async () => {
  let asked = 0
  const busy: SqliteDatabase = {
    exec() {},
    prepare(sql) {
      if (sql === 'PRAGMA database_list') return new DatabaseSync(':memory:').prepare(sql)
      asked += 1
      throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
    },
  }
  const error = await errorOf(() => sqliteStorage(busy).findLicense('a', callOfLooks(2)))
  expect([error.kind, error.retryable, error.message]).toEqual([
    'unavailable',
    true,
    'SQLite: database is locked',
  ])
  expect(asked).toBe(1)
})

describe.each(drivers)('%s', (_, openPath) => {
  const openFile = (): ReturnType<typeof fileOf> => fileOf(openPath)

  test('is durable unless told otherwise, and waits for locks 3 ms at most', async () => {
    const { open } = openFile()
    const pragmas = async (durability?: 'full' | 'normal'): Promise<unknown[]> => {
      const database = open()
      await sqliteStorage(database, durability === undefined ? {} : { durability }).migrate()
      return ['journal_mode', 'synchronous', 'busy_timeout'].map(
        (name) => Object.values(database.prepare(`PRAGMA ${name}`).get() as object)[0] as unknown,
      )
    }
    expect(await pragmas()).toEqual(['wal', 2, 3])
    expect(await pragmas('full')).toEqual(['wal', 2, 3])
    expect(await pragmas('normal')).toEqual(['wal', 1, 3])
  })

  test('a connection that names columns otherwise finds the same rows', async () => {
    const database = openFile().open()
    database.exec('PRAGMA full_column_names = ON')
    database.exec('PRAGMA short_column_names = OFF')
    const storage = await migrated(database)
    const reseller = { resellerId: 'r', createdAt: 5, name: 'Ada' }
    await storage.insertReseller(reseller, call)
    await storage.insertLicense(newLicense('a'), undefined, call)
    expect(await storage.findReseller('r', call)).toEqual(reseller)
    expect(await storage.findLicense('a', call)).toEqual(license('a'))
  })

  test('a file that another process holds while it closes is waited for, or a restart fails', async () => {
    const { path, open } = openFile()
    const first = openPath(path)
    await sqliteStorage(first).migrate()
    first.close()
    const code = `
      const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)})
      database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
      console.log('locked')
      setTimeout(() => database.close(), 100)`
    const other = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(other, 'close')
    await once(other.stdout, 'data')
    expect(await sqliteStorage(open()).findLicense('a', call)).toBeNull()
    expect(await ended).toEqual([0, null])
  })

  test('a purge reads 500 codes at a time, or spent codes with live tokens stop the service meanwhile', async () => {
    const database = openFile().open()
    await migrated(database)
    database.exec(`
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1600)
      INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at, redeemed_at, token_hash)
      SELECT CAST(printf('%032d', n) AS BLOB), 'shop', '', '', 10, 5, CAST(printf('%032d', n) AS BLOB) FROM number;
      INSERT INTO utility_api_credentials (kind, bought, id, hash, owner_id, scope, created_at, expires_at)
      SELECT 'access_token', 1, rowid, token_hash, 'shop', '', 5, 99 FROM utility_api_codes WHERE rowid <> 1100`)
    const portions: unknown[] = []
    const watched = watching(database, /DELETE FROM utility_api_codes/, (values, run) => {
      portions.push(values.slice(1))
      return run()
    })
    expect(await sqliteStorage(watched).purgeExpired(50, call)).toEqual({
      codes: 1,
      tokens: 0,
      idempotency: 0,
    })
    expect(portions).toEqual([
      [0, 500],
      [500, 1000],
      [1000, 1500],
      [1500, Number.MAX_SAFE_INTEGER],
    ])
  })

  test('access is revoked 500 rows at a time, and a repeat finishes what a full disk has ended', async () => {
    const database = openFile().open()
    await migrated(database)
    // By its number, a code is unspent, or has bought a token. Of the other tokens, each second has another subject.
    database.exec(`
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 2400)
      INSERT INTO utility_api_codes (hash, client_id, subject, redirect_uri, scope, expires_at, redeemed_at, token_hash)
      SELECT CAST(printf('%032d', n) AS BLOB), 'shop', 'ada', '', '', 99,
        CASE WHEN n % 2 = 0 THEN 5 END, CASE WHEN n % 2 = 0 THEN CAST(printf('%032d', n) AS BLOB) END FROM number;
      INSERT INTO utility_api_credentials (kind, bought, id, hash, owner_id, subject, scope, created_at, expires_at)
      SELECT 'access_token', 1, 'bought-' || rowid, token_hash, 'shop', 'ada', '', 5, 99 FROM utility_api_codes
      WHERE redeemed_at IS NOT NULL;
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1300)
      INSERT INTO utility_api_credentials (kind, id, hash, owner_id, subject, scope, created_at, expires_at)
      SELECT 'access_token', 'other-' || n, CAST(printf('x%031d', n) AS BLOB), 'shop',
        CASE WHEN n % 2 = 0 THEN 'ada' ELSE 'bob' END, '', 5, 99 FROM number`)
    const changed: number[] = []
    let left = 6
    const watched = watching(database, /^\s*(?:DELETE|UPDATE)/, (_values, run) => {
      if (left === 0) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      left -= 1
      const result = run()
      changed.push(Number(result.changes))
      return result
    })
    const revoking = sqliteStorage(watched)
    const error = await errorOf(() => revoking.revokeAccess({ clientId: 'shop' }, 10, call))
    expect(error.kind).toBe('unavailable')
    left = Infinity
    expect(await revoking.revokeAccess({ clientId: 'shop' }, 20, call)).toEqual({ codes: 0, tokens: 2000 })
    expect(await revoking.revokeAccess({ clientId: 'shop' }, 30, call)).toEqual({ codes: 0, tokens: 0 })
    expect(Math.max(...changed)).toBeLessThanOrEqual(500)
    expect(changed.reduce((sum, each) => sum + each)).toBe(1200 + 1200 + 1300)
    const byTime = 'SELECT revoked_at AS at, count(*) AS count FROM utility_api_credentials GROUP BY 1'
    expect(
      database
        .prepare(byTime)
        .all()
        .map((row) => ({ ...(row as object) })),
    ).toEqual([
      { at: 10, count: 500 },
      { at: 20, count: 2000 },
    ])
    database.exec('UPDATE utility_api_credentials SET revoked_at = NULL')
    expect(await revoking.revokeAccess({ subject: 'ada' }, 40, call)).toEqual({ codes: 0, tokens: 1850 })
  })

  test('a client with many codes is revoked first, and its codes are ended 500 at a time', async () => {
    const database = openFile().open()
    const storage = await migrated(database)
    await storage.insertClient(newClient('shop'), call)
    database.exec(`
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1200)
      INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at)
      SELECT CAST(printf('%032d', n) AS BLOB), CASE WHEN n <= 1100 THEN 'shop' ELSE 'other' END, '', '', 99 FROM number`)
    const changed: number[] = []
    const watched = watching(database, /^\s*(?:DELETE|UPDATE)/, (_values, run) => {
      const result = run()
      changed.push(Number(result.changes))
      return result
    })
    expect(await sqliteStorage(watched).revokeClient('shop', 10, call)).toBe(true)
    expect(changed).toEqual([1, 500, 500, 100])
    expect(await sqliteStorage(watched).revokeClient('shop', 20, call)).toBe(false)
    const left = 'SELECT client_id AS id, count(*) AS count FROM utility_api_codes GROUP BY 1'
    expect(
      database
        .prepare(left)
        .all()
        .map((row) => ({ ...(row as object) })),
    ).toEqual([{ id: 'other', count: 100 }])
  })

  test('closing waits for writes, and not for a lock that another process holds', async () => {
    const { open } = openFile()
    const storage = await migrated(open())
    const other = open()
    other.exec('BEGIN IMMEDIATE')
    const late = errorOf(() => storage.insertLicense(newLicense('late'), undefined, callOfLooks(5)))
    await storage.close?.()
    expect(await late).toMatchObject({ kind: 'unavailable', message: 'SQLite: database is locked' })
    other.exec('ROLLBACK')
  })

  test('closing waits for a read that waits for the lock of another process', async () => {
    const { open } = openFile()
    const other = open()
    await sqliteStorage(other).migrate()
    // With a rollback journal, a writer keeps readers out.
    other.exec('PRAGMA journal_mode = DELETE')
    const storage = sqliteStorage(open())
    other.exec('BEGIN EXCLUSIVE')
    const done: string[] = []
    const read = Promise.resolve(storage.findLicense('a', call)).then(() => done.push('read'))
    const closed = Promise.resolve(storage.close?.()).then(() => done.push('closed'))
    other.exec('COMMIT')
    await Promise.all([read, closed])
    expect(done).toEqual(['read', 'closed'])
  })

  test('closing does not wait for a read that ran out of time at a locked file', async () => {
    const { open } = openFile()
    const other = open()
    await sqliteStorage(other).migrate()
    other.exec('PRAGMA journal_mode = DELETE')
    const storage = sqliteStorage(open())
    other.exec('BEGIN EXCLUSIVE')
    const error = await errorOf(() => storage.findLicense('a', callOfLooks(5)))
    expect(error).toMatchObject({ kind: 'unavailable', message: 'SQLite: database is locked' })
    await storage.close?.()
    other.exec('COMMIT')
  })

  test('following a list to its end lets the event loop turn after every page', async () => {
    const storage = await migrated(openFile().open())
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((key) => storage.insertLicense(newLicense(key), undefined, call)),
    )
    let turns = 0
    const count = setInterval(() => (turns += 1), 0)
    let after: string | undefined
    let pages = 0
    do {
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const list = await storage.listing?.licenses({ limit: 1, ...(after !== undefined && { after }) }, call)
      after = list?.next
      pages += 1
      const until = performance.now() + 2
      while (performance.now() < until);
    } while (after !== undefined)
    clearInterval(count)
    expect(pages).toBe(4)
    expect(turns).toBeGreaterThanOrEqual(3)
  })

  test('the licenses of a domain are found without a turn of the event loop, like the license of a key', async () => {
    const storage = await migrated(openFile().open())
    await storage.insertLicense(newLicense('a'), undefined, call)
    let turned = false
    const turn = setImmediate(() => (turned = true))
    const list = await storage.listing?.licenses({ comparedDomains: ['example.com'], limit: 50 }, call)
    clearImmediate(turn)
    expect([list?.licenses, turned]).toEqual([[license('a')], false])
  })

  test('a status that few licenses have is searched for with turns of the event loop in between', async () => {
    const database = openPath(':memory:')
    const storage = await migrated(database)
    database.exec(`
      INSERT INTO utility_api_licenses
        (license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at)
      WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT 65000)
      SELECT 'LIC-' || number, 'Ada', 'shop.example', 'shop.example', 'valid', 'r', 1, 1 FROM numbers`)
    let turns = 0
    let isListed = false
    const count = (): void => {
      turns += 1
      if (!isListed) setImmediate(count)
    }
    const listed = storage.listing?.licenses({ status: 'rare', limit: 10 }, call)
    setImmediate(count)
    expect((await listed)?.licenses).toEqual([])
    isListed = true
    expect(turns).toBeGreaterThanOrEqual(2)
  })

  test('a value that a column cannot store is invalid, and an existing key a conflict', async () => {
    const storage = await migrated(openFile().open())
    await storage.insertLicense(newLicense('LIC-1'), undefined, call)
    const update = { licenseKey: 'LIC-1', resellerId: 'r', patch: {}, at: 'soon' as unknown as number }
    expect((await errorOf(() => storage.updateLicense(update, call))).kind).toBe('invalid')
    await storage.insertClient(newClient('a'), call)
    await storage.insertAuthorizationCode(new Uint8Array(32), newCode('a'), call)
    const again = errorOf(() => storage.insertAuthorizationCode(new Uint8Array(32), newCode('a'), call))
    expect((await again).kind).toBe('conflict')
  })

  test("an owner's tokens are listed from among all others, wherever they lie", async () => {
    const database = openFile().open()
    const storage = await migrated(database)
    database.exec(`
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 45000)
      INSERT INTO utility_api_credentials (rowid, kind, bought, id, hash, owner_id, scope, created_at)
      SELECT n, 'access_token', n % 2, 'id-' || n, CAST(printf('%032d', n) AS BLOB),
        CASE WHEN n IN (1, 19999, 20000, 20001, 40500, 40501, 45000) THEN 'shop' ELSE 'other' END, '', n
      FROM number;
      DELETE FROM utility_api_credentials WHERE rowid BETWEEN 100 AND 600`)
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = {
        kind: 'access_token',
        ownerId: 'shop',
        limit: 2,
        ...(after !== undefined && { after }),
      } as const
      // oxlint-disable-next-line no-await-in-loop -- page after page
      const list = await storage.listing?.credentials(page, call)
      seen.push(...(list?.credentials ?? []).map(({ id }) => id))
      after = list?.next
    } while (after !== undefined)
    expect(seen).toEqual([1, 19_999, 20_000, 20_001, 40_500, 40_501, 45_000].map((number) => `id-${number}`))
  })

  test('a full disk fails new writes, keeps answered ones, and recovers when there is space', async () => {
    const { open } = openFile()
    const database = open()
    const storage = await migrated(database)
    const pages = (database.prepare('PRAGMA page_count').get() as { page_count: number }).page_count
    database.prepare(`PRAGMA max_page_count = ${pages + 8}`).get()
    const outcomes: string[] = []
    for (let batch = 0; batch < 40; batch += 1) {
      const keys = Array.from({ length: 10 }, (_each, index) => `${batch}-${index}`)
      // oxlint-disable-next-line no-await-in-loop -- batch after batch, until the disk is full
      const results = await Promise.allSettled(
        keys.map((key) =>
          storage.insertLicense(newLicense(key, { registeredTo: 'x'.repeat(255) }), undefined, call),
        ),
      )
      for (const result of results) {
        outcomes.push(result.status === 'fulfilled' ? 'inserted' : (result.reason as StorageError).kind)
      }
    }
    const inserted = outcomes.filter((outcome) => outcome === 'inserted').length
    expect(inserted).toBeGreaterThan(0)
    expect(outcomes.filter((outcome) => outcome === 'unavailable')).toHaveLength(400 - inserted)
    expect(inserted).toBeLessThan(400)
    expect(await storage.listing?.countLicenses({}, call)).toBe(inserted)
    database.prepare('PRAGMA max_page_count = 1000000').get()
    expect(await storage.insertLicense(newLicense('after'), undefined, call)).toBe('inserted')
  })

  test("an error quotes neither keys nor hashes nor customers' text, because it is logged with its cause", async () => {
    const storage = await migrated(openFile().open())
    const hash = Buffer.alloc(32, 'hash')
    const code = newCode('c', { redirectUri: 'https://client.example/' })
    await storage.insertAuthorizationCode(hash, code, call)
    const token = newToken('an-id', hash, { ownerId: 'Ada' })
    await storage.insertCredential('access_token', hash, { ...token, revokedAt: null }, call)
    await storage.insertLicense(newLicense('LIC-1'), undefined, call)
    const update = { licenseKey: 'LIC-1', resellerId: 'r', patch: {}, at: 'Ada' as never }
    const errors = await Promise.all(
      [
        () => storage.redeemAuthorizationCode(hash, 1, { ...token, id: 'another-id' }, call),
        () => storage.redeemAuthorizationCode(hash, 1, { ...token, hash: Buffer.alloc(32) }, call),
        () => storage.updateLicense(update, call),
      ].map(errorOf),
    )
    expect(errors.map(({ kind }) => kind)).toEqual(['conflict', 'conflict', 'invalid'])
    const text = inspect(errors, { depth: Infinity, showHidden: true })
    expect(text).toContain('utility_api_licenses')
    expect(text).not.toMatch(/LIC-1|Ada|example\.com|an-id|another-id|68617368/)
  })

  test('a write to a closed store rejects and throws nothing synchronously', async () => {
    const database = openPath(':memory:')
    onTestFinished(() => void database.close())
    const storage = await migrated(database)
    await storage.close?.()
    const written = storage.insertLicense(newLicense('K'), undefined, call)
    await expect(written).rejects.toThrow('closed')
  })

  test('closing waits for the writes under way, and leaves the connection to its owner', async () => {
    const database = openFile().open()
    const storage = await migrated(database)
    const written = storage.insertLicense(newLicense('a'), undefined, call)
    await storage.close?.()
    const rows = database.prepare('SELECT count(*) AS count FROM utility_api_licenses').get()
    expect(rows).toEqual({ count: 1 })
    expect(await written).toBe('inserted')
  })
})
