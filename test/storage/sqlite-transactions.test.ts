import { callWithin } from 'utility-api/storage'
import { setTimeout as sleep } from 'node:timers/promises'
import { sqliteStorage, type SqliteDatabase } from 'utility-api/storage/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { license, newLicense } from './support/license.ts'
import { newClient, newCode } from './support/rows.ts'
import { drivers, fileOf, migrated } from './support/sqlite-files.ts'

/** A connection that notes what is executed on it. */
function noting(database: SqliteDatabase): SqliteDatabase & { readonly executed: string[] } {
  const executed: string[] = []
  return {
    executed,
    exec(sql) {
      executed.push(sql)
      return database.exec(sql)
    },
    prepare: (sql) => database.prepare(sql),
  }
}

describe.each(drivers)('%s', (_, openPath) => {
  const openFile = (): ReturnType<typeof fileOf> => fileOf(openPath)

  test('writes of one turn share a commit, in batches of 500 at most', async () => {
    const database = noting(openFile().open())
    const storage = await migrated(database)
    database.executed.length = 0
    await Promise.all(
      Array.from({ length: 100 }, (_each, index) =>
        storage.insertLicense(newLicense(`a${index}`), undefined, call),
      ),
    )
    expect(database.executed).toEqual(['BEGIN IMMEDIATE', 'COMMIT'])
    database.executed.length = 0
    await Promise.all(
      Array.from({ length: 1001 }, (_each, index) =>
        storage.insertLicense(newLicense(`b${index}`), undefined, call),
      ),
    )
    expect(database.executed.filter((sql) => sql === 'COMMIT')).toHaveLength(3)
  })

  test('concurrent writes are committed before the event loop turns, and later ones wait for it', async () => {
    const storage = await migrated(openFile().open())
    const happened: string[] = []
    const insert = async (key: string): Promise<unknown> => {
      await storage.insertLicense(newLicense(key), undefined, call)
      return happened.push(`${key} is committed`)
    }
    for (const [first, second] of [
      ['a', 'b'],
      ['c', 'd'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- in a turn of its own
      await new Promise((resolve) => setImmediate(resolve))
      setImmediate(() => happened.push('the loop turned'))
      const writers = [1, 2].map((n) => insert(`${first}${n}`).then(() => insert(`${second}${n}`)))
      // oxlint-disable-next-line no-await-in-loop -- as above
      await Promise.all(writers)
    }
    const committed = (key: string): string[] => [`${key}1 is committed`, `${key}2 is committed`]
    const turned = 'the loop turned'
    expect(happened).toEqual(
      [committed('a'), turned, committed('b'), committed('c'), turned, committed('d')].flat(),
    )
  })

  test("two storages on one connection do not take the transactions of each other for the host's", async () => {
    const database = openFile().open()
    const first = sqliteStorage(database)
    await first.migrate()
    const reads = [first.findLicense('a', call)]
    const second = sqliteStorage(database)
    reads.push(second.findLicense('a', call), first.findLicense('b', call))
    expect(await Promise.all(reads)).toEqual([null, null, null])
    const inserts = [first, second, first, second].map((storage, index) =>
      storage.insertLicense(newLicense(`key-${index}`), undefined, call),
    )
    expect(await second.findLicense('a', call)).toBeNull()
    expect(await Promise.all(inserts)).toEqual(inserts.map(() => 'inserted'))
    await first.close?.()
    expect(await second.findLicense('key-0', call)).toEqual(license('key-0'))
  })

  test('single writes of one turn wait for each other', async () => {
    const database = noting(openFile().open())
    const storage = await migrated(database)
    database.executed.length = 0
    const inserted = ['a', 'b', 'c'].map(async (key) => {
      // All in one turn, each with ticks of its own.
      await new Promise((resolve) => setImmediate(resolve))
      return storage.insertLicense(newLicense(key), undefined, call)
    })
    await Promise.all(inserted)
    expect(database.executed).toEqual(['BEGIN IMMEDIATE', 'COMMIT'])
  })

  test('reads share a transaction until the program returns to the event loop, and no longer', async () => {
    const file = openFile()
    const database = noting(file.open())
    const storage = await migrated(database)
    const other = sqliteStorage(file.open())
    await other.insertLicense(newLicense('a'), undefined, call)
    database.executed.length = 0
    const both = await Promise.all([
      storage.findLicense('a', call),
      Promise.resolve().then(() => storage.findLicense('b', call)),
    ])
    await new Promise<void>((resolve) => process.nextTick(resolve))
    expect([both[0]?.licenseKey, both[1], database.executed]).toEqual(['a', null, ['BEGIN', 'COMMIT']])
    await other.insertLicense(newLicense('b'), undefined, call)
    expect(await storage.findLicense('b', call)).toMatchObject({ licenseKey: 'b' })
    await storage.insertLicense(newLicense('c'), undefined, call)
    expect(await storage.findLicense('c', call)).toMatchObject({ licenseKey: 'c' })
  })

  test('a read does not block what follows immediately: a migration, a write, closing the connection', async () => {
    const database = openPath(':memory:')
    const storage = await migrated(database)
    await Promise.all([
      storage.findLicense('a', call),
      storage.migrate(),
      storage.insertLicense(newLicense('a'), undefined, call),
    ])
    await new Promise((resolve) => setImmediate(resolve))
    // The writes are committed at once, and the read between their call and their commit is still open then.
    await Promise.all([
      storage.insertLicense(newLicense('b'), undefined, call),
      storage.insertLicense(newLicense('c'), undefined, call),
      storage.findLicense('a', call),
    ])
    expect(await storage.findLicense('a', call)).toMatchObject({ licenseKey: 'a' })
    await Promise.all([storage.findLicense('a', call), database.close()])
    await sleep(0)
    expect((await errorOf(() => storage.findLicense('a', call))).kind).toBe('unavailable')
  })

  test("nextTick faked later by a host's test leaves no transaction open", async () => {
    const storage = await migrated(openFile().open())
    // Node.js waits for ticks of its own meanwhile, such as those of the channel to the process that runs the tests.
    const held: (() => void)[] = []
    const faked = vi.spyOn(process, 'nextTick').mockImplementation((tick, ...args) => {
      held.push(() => tick(...args))
    })
    onTestFinished(() => {
      faked.mockRestore()
      for (const tick of held) process.nextTick(tick)
    })
    expect(await storage.findLicense('a', call)).toBeNull()
    expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
  })

  test('a lock held elsewhere delays a write, not the event loop and not the readers', async () => {
    const { open } = openFile()
    const database = noting(open())
    const storage = await migrated(database)
    await storage.insertLicense(newLicense('first'), undefined, call)
    const other = open()
    other.exec('BEGIN IMMEDIATE')
    database.executed.length = 0
    const written = storage.insertLicense(newLicense('second'), undefined, call)
    // Waiting by itself, the driver would try once, and nothing below would run before it gave up.
    while (database.executed.length < 20) {
      // oxlint-disable-next-line no-await-in-loop -- until it has tried so often
      await sleep(5)
      expect((await storage.findLicense('first', call))?.licenseKey).toBe('first')
    }
    other.exec('COMMIT')
    expect(await written).toBe('inserted')
  })

  test('a code that waits for the lock while its client is revoked is refused', async () => {
    const { open } = openFile()
    const storage = await migrated(open())
    await storage.insertClient(newClient('a'), call)
    const other = open()
    other.exec('BEGIN IMMEDIATE')
    const hash = new Uint8Array(32).fill(1)
    const issued = errorOf(async () => storage.insertAuthorizationCode(hash, newCode('a'), call))
    other.exec('UPDATE utility_api_clients SET revoked_at = 5')
    other.exec('COMMIT')
    expect((await issued).kind).toBe('conflict')
    expect(await storage.findAuthorizationCode(hash, call)).toBeNull()
  })

  test('a write that finds the database busy is done once', async () => {
    const { open } = openFile()
    const storage = await migrated(open())
    const [old, fresh] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array]
    await storage.insertClient(newClient('a', { secretHashes: [old] }), call)
    const other = open()
    other.exec('BEGIN IMMEDIATE')
    const rotated = storage.rotateClientSecret('a', fresh, call)
    await sleep(10)
    other.exec('COMMIT')
    expect(await rotated).toBe(true)
    const found = await storage.findClient('a', call)
    expect(found?.secretHashes.map((hash) => Uint8Array.from(hash))).toEqual([fresh, old])
  })

  test('a commit that finds the database busy is made again, with everything in it', async () => {
    const database = noting(openFile().open())
    const storage = await migrated(database)
    database.executed.length = 0
    const { exec } = database
    let isBusy = true
    database.exec = (sql) => {
      if (sql !== 'COMMIT' || !isBusy) return exec.call(database, sql)
      isBusy = false
      database.executed.push('busy')
      throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
    }
    const inserted = ['a', 'b'].map((key) => storage.insertLicense(newLicense(key), undefined, call))
    expect(await Promise.all(inserted)).toEqual(['inserted', 'inserted'])
    expect(database.executed).toEqual(['BEGIN IMMEDIATE', 'busy', 'ROLLBACK', 'BEGIN IMMEDIATE', 'COMMIT'])
    expect(await storage.listing?.countLicenses({}, call)).toBe(2)
  })

  test('a transaction left open by the host is reported, and left to the host to end', async () => {
    const database = openFile().open()
    const storage = await migrated(database)
    database.exec('CREATE TABLE theirs (a); BEGIN; INSERT INTO theirs VALUES (1)')
    const calls = [
      () => storage.insertLicense(newLicense('a'), undefined, call),
      () => storage.findLicense('a', call),
      () => sqliteStorage(database),
    ]
    const errors = await Promise.all(calls.map(errorOf))
    expect(errors.map(({ kind, message }) => [kind, /transaction of the host/.test(message)])).toEqual(
      calls.map(() => ['bug', true]),
    )
    database.exec('COMMIT')
    expect(database.prepare('SELECT count(*) AS count FROM theirs').get()).toEqual({ count: 1 })
    expect(await storage.insertLicense(newLicense('a'), undefined, call)).toBe('inserted')
  })

  test('a write whose time is over when its turn comes never begins', async () => {
    const database = noting(openFile().open())
    const storage = await migrated(database)
    database.executed.length = 0
    let left = 1000
    const writes = ['a', 'b'].map((key) =>
      errorOf(() => storage.insertLicense(newLicense(key), undefined, { timeLeftMs: () => left })),
    )
    left = 0
    const errors = await Promise.all(writes)
    expect(errors.map(({ kind, retryable }) => [kind, retryable])).toEqual([
      ['unavailable', true],
      ['unavailable', true],
    ])
    expect(database.executed).toEqual([])
    expect((await errorOf(() => storage.findLicense('a', callWithin(0)))).kind).toBe('unavailable')
    expect(await storage.findLicense('a', call)).toBeNull()
  })
})
