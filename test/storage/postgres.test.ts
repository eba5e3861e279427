import { inspect } from 'node:util'
import { StorageError, type License } from 'utility-api/storage'
import { postgresStorage } from 'utility-api/storage/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Pool } from 'pg'
import type { StorageFixture } from '../../src/testing/storage-contract.ts'
import { execute, makePool, startPostgres, type PostgresServer } from './postgres-server.ts'
import { testContract } from './register.ts'

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
}, 60_000)

afterAll(async () => {
  await Promise.all(pools.filter((each) => !each.ended).map((each) => each.end()))
  await server?.stop()
}, 60_000)

const tables = 'clients, codes, credentials, licenses, idempotency_keys'.replaceAll(/\w+/g, 'utility_api_$&')

const isolations = ['read committed', 'repeatable read', 'serializable'] as const

for (const isolation of isolations) {
  // One pair of pools for all cases of a level: connecting takes longer than the cases.
  let pair: [Pool, Pool] | undefined
  testContract(`PostgreSQL at ${isolation}`, async (): Promise<StorageFixture> => {
    pair ??= [pool(isolation), pool(isolation)]
    const [storage, second] = pair.map((each) => postgresStorage(each))
    if (storage === undefined || second === undefined) throw new Error('two stores')
    await storage.migrate()
    await pair[0].query(`TRUNCATE ${tables}`)
    return { storage, second, close() {} }
  })
}

// One connection is enough for everything, or two requests could wait for each other for ever.
testContract('PostgreSQL on a pool of one connection that is taken away', async () => {
  const own = pool('read committed', 1)
  const storage = postgresStorage(own)
  await storage.migrate()
  await own.query(`TRUNCATE ${tables}`)
  return { storage, disconnect: () => own.end(), close: () => (own.ended ? undefined : own.end()) }
})

function license(licenseKey: string): License {
  const fields = { registeredTo: 'Ada', domainOrIp: 'example.com', status: 'valid', resellerId: 'r' }
  return { licenseKey, ...fields, createdAt: 1, updatedAt: 1 }
}

async function errorOf(call: () => unknown): Promise<StorageError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof StorageError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('PostgreSQL schema', () => {
  test('ten servers that migrate an empty database at once all succeed', async () => {
    const empty = await server.createDatabase()
    const each = Array.from({ length: 10 }, (_, index) => makePool(empty, isolations[index % 3], 1))
    pools.push(...each)
    await Promise.all(each.map((one) => postgresStorage(one).migrate()))
    const rows = await execute(empty, 'SELECT version FROM utility_api_schema')
    expect(rows).toEqual([{ version: 1 }])
  })

  test('a database without the tables says what to do, and works once it is done', async () => {
    const empty = makePool(await server.createDatabase())
    pools.push(empty)
    const storage = postgresStorage(empty)
    const error = await errorOf(() => storage.findClient('a'))
    expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining('run migrate()')])
    await storage.migrate()
    expect(await storage.findClient('a')).toBeNull()
  })

  test('a schema newer than this version is refused, before anything is read or written', async () => {
    const newer = await server.createDatabase()
    const own = makePool(newer)
    pools.push(own)
    await postgresStorage(own).migrate()
    await execute(newer, 'UPDATE utility_api_schema SET version = 99')
    const storage = postgresStorage(own)
    const calls = [
      () => storage.migrate(),
      () => storage.findClient('a'),
      () => storage.insertLicense(license('a')),
    ]
    const errors = await Promise.all(calls.map(errorOf))
    expect(errors.map(({ kind, message }) => [kind, /version 99.*Update utility-api/.test(message)])).toEqual(
      calls.map(() => ['invalid', true]),
    )
  })

  test('a column that a newer server adds does not disturb those that still run', async () => {
    const database = await server.createDatabase()
    const own = makePool(database, 'read committed', 1)
    pools.push(own)
    const storage = postgresStorage(own)
    await storage.migrate()
    await storage.insertLicense(license('a'))
    const reads = (): Promise<unknown> =>
      Promise.all([
        storage.findClient('a'),
        storage.findAuthorizationCode(new Uint8Array(32)),
        storage.findCredential('api_key', new Uint8Array(32)),
        storage.getLicense('a'),
        storage.listLicenses({ limit: 5 }),
        storage.listLicenses({ limit: 5, resellerId: 'r' }),
      ])
    const before = await reads()
    const added = tables.split(', ').map((table) => `ALTER TABLE ${table} ADD COLUMN added text`)
    await execute(database, added.join(';'))
    expect(await reads()).toEqual(before)
  })

  test('lists and updates by index, so that the table may grow', async () => {
    const plans = await Promise.all(
      [
        "SELECT * FROM utility_api_licenses WHERE seq > 5 AND reseller_id = 'r' ORDER BY seq LIMIT 5",
        "SELECT * FROM utility_api_licenses WHERE license_key = 'a'",
      ].map((sql) => execute(url, `SET enable_seqscan = off; EXPLAIN ${sql}`)),
    )
    expect(JSON.stringify(plans)).not.toContain('Seq Scan')
  })
})

describe('PostgreSQL trouble', () => {
  test('a killed idle connection is noticed by nobody, and the process lives', async () => {
    const own = pool()
    const storage = postgresStorage(own)
    await storage.migrate()
    await storage.ping?.()
    await execute(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle'",
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await storage.findClient('nobody')).toBeNull()
  })

  test('a statement that waits too long is unavailable and changed nothing', async () => {
    const own = pool()
    const storage = postgresStorage(own)
    await storage.migrate()
    await storage.insertLicense(license('waits'))
    const holder = await own.connect()
    await holder.query("BEGIN; UPDATE utility_api_licenses SET status = 'held' WHERE license_key = 'waits'")
    const other = new Pool({ connectionString: url, statement_timeout: 100 })
    pools.push(other)
    const update = { licenseKey: 'waits', resellerId: 'r', patch: { status: 'invalid' }, at: 5 }
    expect((await errorOf(() => postgresStorage(other).updateLicense(update))).kind).toBe('unavailable')
    await holder.query('ROLLBACK')
    holder.release()
    expect(await storage.getLicense('waits')).toEqual(license('waits'))
  })

  test('a server that is not there is unavailable, and the driver text stays in the cause', async () => {
    const nowhere = makePool('postgres://postgres:password@127.0.0.1:1/postgres')
    pools.push(nowhere)
    const error = await errorOf(() => postgresStorage(nowhere).findClient('a'))
    expect([error.kind, error.retryable, error.cause instanceof Error]).toEqual(['unavailable', true, true])
  })

  test('an error quotes neither keys nor hashes nor what customers wrote: it is logged with its cause', async () => {
    const own = makePool(await server.createDatabase())
    pools.push(own)
    const storage = postgresStorage(own)
    await storage.migrate()
    await own.query("ALTER TABLE utility_api_licenses ADD CHECK (status <> 'refused')")
    const hash = Buffer.alloc(32, 'hash')
    const credential = { id: 'an-id', ownerId: 'Ada', scope: '', expiresAt: 1, revokedAt: null }
    await storage.insertCredential('access_token', hash, credential)
    const errors = await Promise.all(
      [
        () => storage.insertLicense({ ...license('LIC-1'), status: 'refused' }),
        () => storage.insertCredential('access_token', hash, { ...credential, id: 'another-id' }),
        () => storage.insertCredential('api_key', hash, credential),
      ].map(errorOf),
    )
    expect(errors.map(({ kind }) => kind)).toEqual(['invalid', 'conflict', 'conflict'])
    const text = inspect(errors, { depth: Infinity, showHidden: true })
    expect(text).toContain('utility_api_licenses')
    expect(text).not.toMatch(/LIC-1|Ada|example\.com|an-id|another-id|68617368/)
  })

  test('text that PostgreSQL cannot hold is invalid, not a broken server', async () => {
    const storage = postgresStorage(pool())
    await storage.migrate()
    expect((await errorOf(() => storage.insertLicense(license('nul\0')))).kind).toBe('invalid')
  })
})
