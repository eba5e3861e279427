import type { Pool, RowDataPacket } from 'mysql2/promise'
import type { NewAccessToken } from 'utility-api/storage'
import { mysqlStorage, type MysqlStorage } from 'utility-api/storage/mysql'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { call } from './support/call.ts'
import { license, newLicense } from './support/license.ts'
import {
  emptyTables,
  execute,
  makePool,
  startMysql,
  whyNoMysql,
  type MysqlServer,
} from './support/mysql-server.ts'
import { newToken } from './support/rows.ts'

// Writes that share a commit, and lookups that share a statement, on a real server.

const count = 256
/** The one of them that has a problem. */
const bad = 77

const hashOf = (index: number): Buffer => Buffer.alloc(32, `hash ${index} `)
const keyOf = (index: number): string => `LIC-${String(index).padStart(3, '0')}`
const indexes = Array.from({ length: count }, (_, index) => index)
const tokenOf = (index: number): NewAccessToken => newToken(`token-${index}`, hashOf(index))

describe.skipIf(whyNoMysql())('MySQL', () => {
  let server: MysqlServer
  let own: Pool
  let direct: Pool
  let other: Pool
  let storage: MysqlStorage

  beforeAll(async () => {
    server = await startMysql()
    const url = await server.createDatabase()
    ;[own, direct, other] = [makePool(url), makePool(url), makePool(url)]
    storage = mysqlStorage(own)
    await storage.migrate()
    // The first call reads the schema, on a connection of its own.
    await storage.findLicense('nobody', call)
  }, 60_000)

  beforeEach(() => emptyTables(direct))

  afterAll(async () => {
    await Promise.all([own, direct, other].map((pool) => pool?.end()))
    await server?.stop()
  }, 60_000)

  async function insertCodes(): Promise<void> {
    await direct.query(
      `INSERT INTO utility_api_codes (hash, client_id, redirect_uri, scope, expires_at)
       VALUES ${indexes.map(() => "(?, 'client', 'u', 'a', 99)").join(', ')}`,
      indexes.map(hashOf),
    )
  }

  async function insertLicenses(): Promise<void> {
    await direct.query(
      `INSERT INTO utility_api_licenses
         (license_key, registered_to, domain_or_ip, compared_domain, status, reseller_id, created_at, updated_at)
       VALUES ${indexes.map(() => "(?, 'Ada', 'example.com', 'example.com', 'valid', 'r', 1, 1)").join(', ')}`,
      indexes.map(keyOf),
    )
  }

  /** What is different about the bad write. */
  interface How {
    readonly text?: string
    readonly at?: number
    readonly reseller?: string
  }

  const kinds = {
    redemption: {
      prepare: insertCodes,
      write: async (index: number, { text = 'a', at = 5 }: How = {}) =>
        storage.redeemAuthorizationCode(hashOf(index), at, { ...tokenOf(index), scope: text }, call),
      made: true,
    },
    license: {
      prepare: async () => {},
      write: async (index: number, { text = 'valid', at = 1 }: How = {}) =>
        storage.insertLicense(newLicense(keyOf(index), { status: text, updatedAt: at }), undefined, call),
      made: 'inserted',
    },
    update: {
      prepare: insertLicenses,
      write: async (index: number, { text = 'new', at = 9, reseller = 'r' }: How = {}) =>
        storage.updateLicense(
          { licenseKey: keyOf(index), resellerId: reseller, patch: { status: text }, at },
          call,
        ),
      made: 'updated',
    },
  }
  type Name = keyof typeof kinds

  /** Counts the connections that the store is lent from now on. */
  function counted(): { lent: number } {
    const counts = { lent: 0 }
    const add = (): void => void (counts.lent += 1)
    own.on('acquire', add)
    onTestFinished(() => void own.off('acquire', add))
    return counts
  }

  const long = 'x'.repeat(70_000)
  const badnesses: readonly {
    readonly of: Name
    readonly that: string
    readonly prepare?: () => Promise<unknown>
    readonly how?: How
    readonly outcome: unknown
    /** How many calls go alone. */
    readonly alone: number
    /** Reads what it must not have changed. */
    readonly read?: () => Promise<unknown>
    readonly unchanged?: unknown
  }[] = [
    ...(Object.keys(kinds) as Name[]).map((of) => ({
      of,
      that: 'has a text that is too long',
      how: { text: long },
      outcome: { kind: 'invalid' },
      alone: count,
    })),
    // Such a time of a new license does not reach the database.
    ...(['redemption', 'update'] as const).map((of) => ({
      of,
      that: 'has a time that is too large',
      how: { at: 1e19 },
      outcome: { kind: 'invalid' },
      alone: count,
    })),
    {
      of: 'redemption',
      that: 'has no code',
      prepare: () => direct.query('DELETE FROM utility_api_codes WHERE hash = ?', [hashOf(bad)]),
      outcome: false,
      alone: 1,
    },
    {
      of: 'redemption',
      that: 'comes too late',
      prepare: () =>
        direct.query('UPDATE utility_api_codes SET redeemed_at = 1 WHERE hash = ?', [hashOf(bad)]),
      outcome: false,
      alone: 1,
      read: async () => storage.findCredential('access_token', hashOf(bad), call),
      unchanged: null,
    },
    {
      of: 'redemption',
      that: 'brings a token that exists',
      prepare: () =>
        direct.query(
          `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, created_at)
           VALUES ('t', 'access_token', ?, 'c', '', 1)`,
          [hashOf(bad)],
        ),
      outcome: { kind: 'conflict' },
      alone: count,
    },
    {
      of: 'license',
      that: 'has a key that is taken',
      prepare: async () => storage.insertLicense(newLicense(keyOf(bad)), undefined, call),
      outcome: 'key_taken',
      alone: count,
    },
    {
      of: 'update',
      that: 'has no license',
      prepare: () => direct.query('DELETE FROM utility_api_licenses WHERE license_key = ?', [keyOf(bad)]),
      outcome: 'not_found',
      alone: 1,
    },
    {
      of: 'update',
      that: "is another reseller's",
      how: { reseller: 'another' },
      outcome: 'not_owner',
      alone: 1,
      read: async () => storage.findLicense(keyOf(bad), call),
      unchanged: license(keyOf(bad)),
    },
  ]

  for (const { of, that, prepare, how = {}, outcome, alone, read, unchanged } of badnesses)
    test(`of ${count} writes, a ${of} that ${that} gets its own answer, and the others are made`, async () => {
      const { write, made, prepare: prepareAll } = kinds[of]
      await prepareAll()
      await prepare?.()
      const counts = counted()
      const outcomes = await Promise.all(
        indexes.map((index) => write(index, index === bad ? how : {}).catch((error: unknown) => error)),
      )
      expect(outcomes.filter((each, index) => index !== bad && each !== made)).toEqual([])
      if (typeof outcome === 'object') expect(outcomes[bad]).toMatchObject(outcome as object)
      else expect(outcomes[bad]).toBe(outcome)
      expect(counts.lent).toBe(1 + alone)
      expect(await read?.()).toEqual(unchanged)
    })

  test.each([
    ['redemption', 'SELECT 1 FROM utility_api_codes WHERE hash = ? FOR UPDATE', hashOf(bad)],
    ['update', 'SELECT 1 FROM utility_api_licenses WHERE license_key = ? FOR UPDATE', keyOf(bad)],
  ] as const)(
    'a %s whose row another program has locked holds up nobody, and is made as soon as that lets go',
    async (name, text, value) => {
      const { write, made, prepare } = kinds[name]
      await prepare()
      const holder = await direct.getConnection()
      await holder.query('START TRANSACTION')
      await holder.query(text, [value])
      const counts = counted()
      let isAnswered = false
      const waiting = write(bad).finally(() => (isAnswered = true))
      const others = indexes.filter((index) => index !== bad)
      expect(new Set(await Promise.all(others.map((index) => write(index))))).toEqual(new Set([made]))
      expect(isAnswered).toBe(false)
      expect(counts.lent, 'the shared transaction, and the one that waits').toBe(2)
      await holder.query('ROLLBACK')
      holder.release()
      expect(await waiting).toBe(made)
    },
  )

  test.each([1, 2, 4, 5, 17, 100, 130])(
    '%i lookups of each kind that arrive together share statements, and each gets its own row or none',
    async (lookups) => {
      await insertCodes()
      await direct.query(
        `INSERT INTO utility_api_clients (client_id, secret_hashes, redirect_uris, created_at)
         VALUES ${indexes.map(() => "(?, '', '[]', 1)").join(', ')}`,
        indexes.map(keyOf),
      )
      await direct.query(
        `INSERT INTO utility_api_credentials (id, kind, hash, owner_id, scope, created_at)
         VALUES ${indexes.map(() => "(?, 'api_key', ?, 'client', '', 1)").join(', ')}`,
        indexes.flatMap((index) => [keyOf(index), hashOf(index)]),
      )
      // The last one of each kind is not there.
      const asked = [...indexes.slice(0, lookups - 1), count]
      const counts = counted()
      const found = await Promise.all(
        asked.map(async (index) => [
          (await storage.findClient(keyOf(index), call))?.clientId,
          (await storage.findAuthorizationCode(hashOf(index), call))?.clientId,
          (await storage.findCredential('api_key', hashOf(index), call))?.id,
          (await storage.findCredential('reseller_token', hashOf(index), call))?.id,
        ]),
      )
      const missing = [undefined, undefined, undefined, undefined]
      expect(found).toEqual(
        asked.map((index) => (index === count ? missing : [keyOf(index), 'client', keyOf(index), undefined])),
      )
      expect(counts.lent).toBeLessThanOrEqual(4 * Math.ceil(lookups / 100))
    },
  )

  test('patches of one license in one turn all count, in their order', async () => {
    await insertLicenses()
    const patches = [
      { status: 'first', registeredTo: 'Grace' },
      { status: 'second' },
      { domainOrIp: 'last.example', comparedDomain: 'last.example' },
    ]
    const keys = [0, 1, 2, 3, 4].map(keyOf)
    const counts = counted()
    const updates = patches.flatMap((patch, index) =>
      keys.map((licenseKey) =>
        storage.updateLicense({ licenseKey, resellerId: 'r', patch, at: 10 + index }, call),
      ),
    )
    expect(new Set(await Promise.all(updates))).toEqual(new Set(['updated']))
    expect(counts.lent).toBe(3)
    const changed = { registeredTo: 'Grace', status: 'second', domainOrIp: 'last.example', updatedAt: 12 }
    for (const key of keys)
      // oxlint-disable-next-line no-await-in-loop -- five
      expect(await storage.findLicense(key, call)).toEqual({ ...license(key), ...changed })
  })

  test('texts that have a meaning of their own in JSON or SQL are stored as they are', async () => {
    const texts = [
      '',
      ' ',
      'null',
      '[]',
      '"',
      '\\',
      "'",
      'a\nb',
      '\\u0041',
      '0x41',
      'é',
      '\u{1f600}',
      'nul\0',
    ]
    const inserts = texts.map((text, index) =>
      storage.insertLicense(newLicense(keyOf(index), { registeredTo: text }), undefined, call),
    )
    expect(new Set(await Promise.all(inserts))).toEqual(new Set(['inserted']))
    const stored = await Promise.all(texts.map((_, index) => storage.findLicense(keyOf(index), call)))
    expect(stored.map((each) => each?.registeredTo)).toEqual(texts)
  })

  test.for(['latin1', 'utf16', 'binary'])(
    'the charset of the database, %s, is none of its tables',
    async (charset) => {
      const url = await server.createDatabase()
      await execute(url, `ALTER DATABASE CHARACTER SET ${charset}`)
      const pool = makePool(url)
      onTestFinished(() => pool.end())
      const inIt = mysqlStorage(pool)
      await inIt.migrate()
      const keys = indexes.map((index) => `\u{1f600}${index}`)
      const [key = ''] = keys
      const once = { resellerId: 'r', keyHash: hashOf(1), requestHash: hashOf(2), at: 1, expiresAt: null }
      expect(await inIt.insertLicense(newLicense(key), once, call)).toBe('inserted')
      const held = { replay: key, requestHash: new Uint8Array(hashOf(2)) }
      expect(await inIt.insertLicense(newLicense('other'), once, call)).toEqual(held)
      await Promise.all(keys.slice(1).map((each) => inIt.insertLicense(newLicense(each), undefined, call)))
      let lent = 0
      pool.on('acquire', () => void (lent += 1))
      const update = { resellerId: 'r', patch: { registeredTo: '\u5c71' }, at: 9 }
      const outcomes = keys.map((licenseKey) => inIt.updateLicense({ licenseKey, ...update }, call))
      expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['updated']))
      expect(lent).toBe(1)
    },
  )

  test('of two servers that spend the same codes at once, exactly one spends each', async () => {
    await insertCodes()
    const stores = [storage, mysqlStorage(other)]
    const spent = await Promise.all(
      stores.map((store, which) =>
        Promise.all(
          indexes.map((index) => {
            const token = newToken(`${which}-${index}`, hashOf(index + 1000 * (which + 1)))
            return store.redeemAuthorizationCode(
              hashOf(which === 0 ? index : count - 1 - index),
              5,
              token,
              call,
            )
          }),
        ),
      ),
    )
    const [one = [], two = []] = spent
    expect(indexes.map((index) => Number(one[index]) + Number(two[count - 1 - index]))).toEqual(
      indexes.map(() => 1),
    )
    const [rows] = await direct.query<RowDataPacket[]>(
      'SELECT 1 FROM utility_api_codes AS code JOIN utility_api_credentials AS token ON token.hash = code.token_hash',
    )
    expect(rows).toHaveLength(count)
  })

  test('two servers whose transactions deadlock both have all their writes answered', async () => {
    await insertLicenses()
    // Each update also changes the license that its status names, after a while.
    await direct.query(`CREATE TABLE crossed (name VARCHAR(9) PRIMARY KEY, at BIGINT) ENGINE = InnoDB`)
    await direct.query(`INSERT INTO crossed VALUES ('x', 0), ('y', 0)`)
    await direct.query(`
      CREATE TRIGGER crossing BEFORE UPDATE ON utility_api_licenses FOR EACH ROW
      BEGIN UPDATE crossed SET at = at + 1 WHERE name = NEW.status; SET @slept = SLEEP(0.3); END`)
    onTestFinished(async () => {
      await direct.query('DROP TRIGGER crossing')
      await direct.query('DROP TABLE crossed')
    })
    const deadlocks = async (): Promise<number> => {
      const [[row]] = await direct.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")
      return Number((row as { Value: string }).Value)
    }
    const before = await deadlocks()
    const update = async (store: MysqlStorage, index: number, status: string): Promise<string> =>
      store.updateLicense({ licenseKey: keyOf(index), resellerId: 'r', patch: { status }, at: 9 }, call)
    const second = mysqlStorage(other)
    await second.ping?.(call)
    const outcomes = await Promise.all([
      update(storage, 1, 'x'),
      update(storage, 2, 'y'),
      update(second, 3, 'y'),
      update(second, 4, 'x'),
    ])
    expect(outcomes).toEqual(['updated', 'updated', 'updated', 'updated'])
    expect(await deadlocks()).toBeGreaterThan(before)
  })

  test('one write after the other borrows one connection each', async () => {
    await insertLicenses()
    const counts = counted()
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (let index = 0; index < 5; index += 1) expect(await kinds.update.write(index)).toBe('updated')
    expect(counts.lent).toBe(5)
  })
})
