import { createServer, type AddressInfo, connect, type Socket } from 'node:net'
import { callWithin, type StorageCall, type StorageError } from 'utility-api/storage'
import { postgresStorage, type PostgresStorage } from 'utility-api/storage/postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { license, newLicense } from './support/license.ts'
import { execute, startPostgres, type PostgresServer } from './support/postgres-server.ts'

let server: PostgresServer
const pools: Pool[] = []

/** A store on a pool of its own, in a database of its own. */
async function open(max = 4): Promise<{ storage: PostgresStorage; pool: Pool; url: string }> {
  const url = await server.createDatabase()
  const pool = makePool(url, max)
  const storage = postgresStorage(pool)
  await storage.migrate()
  return { storage, pool, url }
}

function makePool(url: string, max: number): Pool {
  const pool = new Pool({ connectionString: url, max, connectionTimeoutMillis: 5000 })
  pools.push(pool)
  return pool
}

beforeAll(async () => {
  server = await startPostgres()
}, 60_000)

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await server?.stop()
}, 60_000)

function insert(storage: PostgresStorage, key: string, within: StorageCall = call): Promise<unknown> {
  return Promise.resolve(storage.insertLicense(newLicense(key), undefined, within))
}

/** A call whose time is over once it is told so; what waits until then looks at it when it begins. */
function shortCall(ms: number): StorageCall {
  return { timeLeftMs: () => ms }
}

const commitWaits =
  "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()"

/** Throws after ten seconds, so that a test that fails still gives the server its settings back. */
async function untilWaiting(url: string, count: number): Promise<void> {
  const end = performance.now() + 10_000
  while ((await execute(url, commitWaits)).length < count) {
    if (performance.now() > end) throw new Error(`Fewer than ${count} commits wait.`)
  }
}

/** Lets every commit of the server wait for a standby that does not exist. */
async function withoutStandby(work: () => Promise<void>): Promise<void> {
  async function setNames(names: string): Promise<void> {
    await execute(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await execute(server.url, 'SELECT pg_reload_conf()')
  }
  await setNames('nobody')
  try {
    while (!(await waitsForStandby()));
    await work()
  } finally {
    await setNames('')
  }
}

/**
 * Commits something, cancels its wait for a standby, and tells whether there was one. The settings alone do not tell:
 * commits begin to wait when the server's checkpointer has read them.
 */
async function waitsForStandby(): Promise<boolean> {
  const commit = execute(server.url, "SELECT pg_logical_emit_message(true, '', '')").then(() => 'done')
  do {
    const canceled = await execute(server.url, `SELECT pg_cancel_backend(pid) FROM (${commitWaits}) AS waits`)
    if (canceled.length > 0) {
      await commit
      return true
    }
  } while ((await Promise.race([commit, 'waiting'])) === 'waiting')
  return false
}

// Where the server is somebody else's, its settings are not ours to change.
describe.skipIf(process.env['TEST_POSTGRES_URL'] !== undefined)('PostgreSQL without its standby', () => {
  test('a commit whose wait is canceled is unavailable, or a failover loses what was acknowledged', async () => {
    const { storage, pool, url } = await open()
    await withoutStandby(async () => {
      const outcome = errorOf(() => insert(storage, 'canceled'))
      await untilWaiting(url, 1)
      await execute(url, `SELECT pg_cancel_backend(pid) FROM (${commitWaits}) AS waits`)
      expect((await outcome).kind).toBe('unavailable')
    })
    expect(await storage.findLicense('canceled', call)).not.toBeNull()
    expect(await insert(storage, 'later')).toBe('inserted')
    expect(pool.totalCount, 'the connection is sound and stays').toBe(1)
  })

  test('of writes that share a commit whose wait is canceled, each is unavailable, and none is repeated', async () => {
    const { storage, url } = await open()
    await withoutStandby(async () => {
      const outcomes = ['a', 'b', 'c'].map((key) => errorOf(() => insert(storage, key)))
      await untilWaiting(url, 1)
      const canceled = await execute(url, `SELECT pg_cancel_backend(pid) FROM (${commitWaits}) AS waits`)
      expect(canceled).toHaveLength(1)
      expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(Array(3).fill('unavailable'))
      expect(await execute(url, commitWaits), 'a repeat would wait').toEqual([])
    })
    const stored = await storage.listing?.licenses({ limit: 50 }, call)
    expect(stored?.licenses.map(({ licenseKey }) => licenseKey).toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('a repeat with an idempotency key also waits for a standby, or it is answered with a license that a failover loses', async () => {
    const { storage, url } = await open()
    const hash = new Uint8Array(32)
    const idempotency = { resellerId: 'r', keyHash: hash, requestHash: hash, at: 1, expiresAt: 1000 }
    await withoutStandby(async () => {
      const outcome = errorOf(() => storage.insertLicense(newLicense('first'), idempotency, call))
      await untilWaiting(url, 1)
      await execute(url, `SELECT pg_cancel_backend(pid) FROM (${commitWaits}) AS waits`)
      expect((await outcome).kind).toBe('unavailable')
      expect(await storage.findLicense('first', call), 'it is there, on the primary').not.toBeNull()
      const repeat = storage.insertLicense(newLicense('second'), idempotency, shortCall(500))
      expect((await errorOf(() => repeat)).kind).toBe('unavailable')
    })
    const answer = await storage.insertLicense(newLicense('third'), idempotency, call)
    expect(answer).toMatchObject({ replay: 'first' })
  })

  test('a migration whose wait is canceled is unavailable too', async () => {
    const url = await server.createDatabase()
    const storage = postgresStorage(makePool(url, 1))
    await withoutStandby(async () => {
      const outcome = errorOf(() => storage.migrate())
      await untilWaiting(url, 1)
      await execute(url, `SELECT pg_cancel_backend(pid) FROM (${commitWaits}) AS waits`)
      expect((await outcome).kind).toBe('unavailable')
    })
    await storage.migrate()
  })

  test('while commits wait, reads are answered, callers are answered in time, and no connection is left behind', async () => {
    const { storage, pool, url } = await open(6)
    await withoutStandby(async () => {
      for (let wave = 0; wave < 2; wave += 1) {
        const writes: Promise<StorageError>[] = []
        for (let index = 0; index < 8; index += 1) {
          writes.push(errorOf(() => insert(storage, `${wave}-${index}`, callWithin(1500))))
          // Each has a commit of its own: those that arrive before it waits could share one.
          await untilWaiting(url, Math.min(index + 1, 5))
        }
        expect(await storage.findLicense('nobody', call)).toBeNull()
        await storage.ping?.(call)
        expect(new Set((await Promise.all(writes)).map(({ kind }) => kind))).toEqual(new Set(['unavailable']))
        expect(await execute(url, commitWaits), 'all but one of six').toHaveLength(5)
      }
      expect(pool.waitingCount).toBe(0)
    })
    expect(await insert(storage, 'after')).toBe('inserted')
    const waves = async (): Promise<string[] | undefined> => {
      const stored = await storage.listing?.licenses({ limit: 50 }, call)
      return stored?.licenses.map(({ licenseKey }) => licenseKey.replace(/-.*/, '')).toSorted()
    }
    // A commit that has been confirmed is visible as soon as its process has had a moment.
    await expect.poll(waves, { timeout: 10_000 }).toEqual(['0', '0', '0', '0', '0', 'after'])
  })
})

/** Something between a pool and the server that lets connections hang, as a frozen machine does. */
async function hangingProxy(port: number): Promise<{ port: number; freeze(): void; close(): void }> {
  let current: Socket[] = []
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    current.push(near, far)
    near.on('error', () => far.destroy()).on('close', () => far.destroy())
    far.on('error', () => near.destroy()).on('close', () => near.destroy())
    near.pipe(far)
    far.pipe(near)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    port: (proxy.address() as AddressInfo).port,
    freeze: () => {
      for (const socket of current) socket.unpipe().pause()
      current = []
    },
    close: () => proxy.close(),
  }
}

describe('PostgreSQL after a failover', () => {
  test('hanging connections are given up when the time is over, and others reach the new primary', async () => {
    const url = await server.createDatabase()
    const proxy = await hangingProxy(Number(new URL(url).port))
    const pool = makePool(Object.assign(new URL(url), { port: `${proxy.port}` }).href, 2)
    const storage = postgresStorage(pool)
    await storage.migrate()
    await Promise.all([storage.findLicense('a', call), storage.findLicense('b', call)])
    proxy.freeze()
    const lost = [insert(storage, 'lost', shortCall(300)), storage.findLicense('lost', shortCall(300))]
    const errors = await Promise.all(lost.map((each) => errorOf(() => each)))
    expect(errors.map(({ kind, retryable }) => [kind, retryable])).toEqual([
      ['unavailable', false],
      ['unavailable', false],
    ])
    expect(await insert(storage, 'found')).toBe('inserted')
    expect(await storage.findLicense('found', call)).toEqual(license('found'))
    proxy.close()
  })

  test.skipIf(process.env['TEST_POSTGRES_URL'] !== undefined)(
    'a connection that hangs is not kept for commits that the new primary holds back',
    async () => {
      const { storage: direct, url } = await open()
      const proxy = await hangingProxy(Number(new URL(url).port))
      const pool = makePool(Object.assign(new URL(url), { port: `${proxy.port}` }).href, 2)
      const storage = postgresStorage(pool)
      await storage.ping?.(call)
      proxy.freeze()
      const lost = errorOf(() => insert(storage, 'lost', shortCall(2000)))
      await new Promise((resolve) => setTimeout(resolve, 600))
      await withoutStandby(async () => {
        const younger = errorOf(() => insert(direct, 'younger', shortCall(20_000)))
        await untilWaiting(url, 1)
        expect((await lost).kind).toBe('unavailable')
        await expect.poll(() => pool.totalCount - pool.idleCount, { timeout: 5000 }).toBe(0)
        await execute(url, `SELECT pg_cancel_backend(pid) FROM (${commitWaits}) AS waits`)
        expect((await younger).kind).toBe('unavailable')
      })
      proxy.close()
    },
  )

  test('a first call that hangs does not prevent later ones from reading the schema', async () => {
    const { url } = await open()
    const proxy = await hangingProxy(Number(new URL(url).port))
    const pool = makePool(Object.assign(new URL(url), { port: `${proxy.port}` }).href, 1)
    const client = await pool.connect()
    client.release()
    proxy.freeze()
    const storage = postgresStorage(pool)
    expect((await errorOf(() => storage.findLicense('a', shortCall(100)))).kind).toBe('unavailable')
    let answer: unknown
    for (let attempt = 0; attempt < 10 && answer === undefined; attempt += 1) {
      answer = await Promise.resolve(storage.findLicense('a', call)).catch(() => undefined)
    }
    expect(answer).toBeNull()
    proxy.close()
  }, 30_000)

  test('a connection to a server that turned read-only is closed, or its pool never writes again', async () => {
    const { url } = await open()
    const database = new URL(url).pathname.slice(1)
    await execute(server.url, `ALTER DATABASE ${database} SET default_transaction_read_only = on`)
    const storage = postgresStorage(makePool(url, 1))
    expect(await storage.findLicense('a', call)).toBeNull()
    await execute(server.url, `ALTER DATABASE ${database} RESET default_transaction_read_only`)
    expect((await errorOf(() => insert(storage, 'refused'))).kind).toBe('unavailable')
    expect(await insert(storage, 'taken')).toBe('inserted')
  })
})
