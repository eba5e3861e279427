import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { StorageError, type StorageErrorKind } from 'utility-api/storage'
import { mysqlStorage, type MysqlConnection, type MysqlPool } from 'utility-api/storage/mysql'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from './support/call.ts'
import { newLicense } from './support/license.ts'
import { newCode, newToken } from './support/rows.ts'

// What the store makes of a driver's errors, on a pool that answers what a test wants it to.

interface FakePool {
  readonly pool: MysqlPool
  /** How often the statement under test was sent. */
  sent: number
  readonly released: string[]
}

/** A server with the schema; `answer` is asked for every statement that names the table. */
function poolOf(
  answer: (attempt: number, sql: string) => unknown,
  table = 'utility_api_clients',
  version = '10.11-MariaDB',
): FakePool {
  const fake = { sent: 0, released: [] as string[] }
  const connection = {
    query: async () => [{}, undefined] as const,
    execute: async ({ sql }: { readonly sql: string }) => {
      if (sql.includes('version()')) return [[{ version, charset: 'utf8mb4' }], undefined] as const
      if (!sql.includes(table)) return [[{ version: 1, step: 99 }], undefined] as const
      fake.sent += 1
      return [answer(fake.sent, sql), undefined] as const
    },
    release: () => void fake.released.push('released'),
    destroy: () => void fake.released.push('destroyed'),
  }
  return Object.assign(fake, { pool: { getConnection: async () => connection } })
}

/** An error as the server sends one. */
function errorOf(errno: number, message = "Duplicate entry 'LIC-1' for key 'a'"): Error {
  const sql = "INSERT INTO utility_api_licenses VALUES ('LIC-1')"
  return Object.assign(new Error(message), { code: 'ER_TROUBLE', errno, sqlState: 'HY000', sql })
}

async function outcomeOf({ pool }: FakePool): Promise<unknown> {
  try {
    return await mysqlStorage(pool).rotateClientSecret('a', new Uint8Array(32), call)
  } catch (error) {
    return error
  }
}

const byKind: Readonly<Record<StorageErrorKind, readonly number[]>> = {
  conflict: [1062],
  unavailable: [
    1021, 1030, 1037, 1038, 1041, 1114, 1135, 1040, 1203, 1226, 1461, 1047, 1053, 1077, 1079, 1152, 1158,
    1159, 1160, 1161, 1184, 1290, 1792, 1836, 1180, 1317, 1927, 1969,
  ],
  invalid: [1044, 1045, 1049, 1054, 1142, 1143, 1048, 1264, 1265, 1292, 1366, 1406, 4025],
  bug: [1064, 1, 9999],
}
const kinds = Object.entries(byKind).flatMap(([kind, errnos]) =>
  errnos.map((errno) => [errno, kind] as const),
)

/** Other servers may take the writes by now, at the same address, or this one has ended the connection. */
const closes: ReadonlySet<number> = new Set([1047, 1290, 1792, 1836, 1053, 1927])

test.each(kinds)(
  'error %i of the server is %s, told at once, and leaves the connection of a server that takes writes',
  async (errno, kind) => {
    const fake = poolOf(() => {
      throw errorOf(errno)
    })
    const error = await outcomeOf(fake)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({
      kind,
      retryable: errno === 1040,
      message: "MariaDB: ER_TROUBLE: Duplicate entry '…'",
    })
    // Nor does the cause quote the row or the statement, which are logged with it.
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('LIC-1')
    expect(fake.sent).toBe(1)
    expect(fake.released.at(-1)).toBe(closes.has(errno) ? 'destroyed' : 'released')
  },
)

test.each([1020, 1205, 1213])('a lost race (%i) is run again, on the same connection', async (errno) => {
  const fake = poolOf((attempt) => {
    if (attempt < 3) throw errorOf(errno)
    return { affectedRows: 1 }
  })
  expect(await outcomeOf(fake)).toBe(true)
  expect(fake.sent).toBe(3)
  expect(fake.released).not.toContain('destroyed')
})

test('after a lost race, work is not done again before a pause', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const lost = Promise.withResolvers<void>()
  const fake = poolOf((attempt) => {
    if (attempt > 1) return { affectedRows: 1 }
    lost.resolve()
    throw errorOf(1213)
  })
  const outcome = outcomeOf(fake)
  await lost.promise
  await setImmediate()
  expect(fake.sent).toBe(1)
  await vi.advanceTimersByTimeAsync(2)
  expect(await outcome).toBe(true)
  expect(fake.sent).toBe(2)
})

test('a race lost every time is given up after twelve attempts, with a retryable error', async () => {
  const fake = poolOf(() => {
    throw errorOf(1213)
  })
  expect(await outcomeOf(fake)).toMatchObject({ kind: 'conflict', retryable: true })
  expect(fake.sent).toBe(12)
})

test.each<[Error, StorageErrorKind]>([
  [new TypeError('x is undefined'), 'bug'],
  [new RangeError('too deep'), 'bug'],
  [new Error('Connection lost'), 'unavailable'],
  [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104 }), 'unavailable'],
])('%s, which the server did not send, is %s and closes the connection', async (thrown, kind) => {
  const fake = poolOf(() => {
    throw thrown
  })
  expect(await outcomeOf(fake)).toMatchObject({ kind, retryable: false })
  expect(fake.sent).toBe(1)
  expect(fake.released.at(-1)).toBe('destroyed')
})

test.each([1062, 1213])(
  'a connection that cannot roll back after error %i is closed, and nothing is repeated on it',
  async (number) => {
    const fake = poolOf(() => {
      throw errorOf(number)
    }, 'utility_api_codes')
    const connection = await fake.pool.getConnection()
    connection.query = async (text) => {
      if (text === 'ROLLBACK') throw new Error('Connection lost')
      return [{}, undefined]
    }
    const hash = new Uint8Array(32)
    const redeemed = mysqlStorage(fake.pool).redeemAuthorizationCode(hash, 5, newToken('t', hash), call)
    await expect(redeemed).rejects.toMatchObject({ kind: 'conflict' })
    expect(fake.sent).toBe(1)
    expect(fake.released.at(-1)).toBe('destroyed')
  },
)

test('a call that has begun is finished, although nobody waits for it any more', async () => {
  let left = 1000
  const fake = poolOf(() => {
    left = 0
    return { affectedRows: 1 }
  })
  const storage = mysqlStorage(fake.pool)
  expect(await storage.revokeClient('a', 5, { timeLeftMs: () => left })).toBe(true)
})

test('a lookup that loses its connection when its time is over says so', async () => {
  let left = 1000
  const fake = poolOf(() => {
    left = 0
    throw new Error('lost')
  })
  const lookup = mysqlStorage(fake.pool).findClient('a', { timeLeftMs: () => left })
  await expect(lookup).rejects.toMatchObject({ message: 'MariaDB: lost' })
})

/** A pool of so many connections, and what it has answered and not. */
function slowPoolOf(connectionLimit: number): { pool: MysqlPool; asked: (() => void)[] } {
  const fake = poolOf(() => ({ affectedRows: 1 }))
  const asked: (() => void)[] = []
  const pool: MysqlPool = {
    pool: { config: { connectionLimit } },
    async getConnection() {
      await new Promise<void>((resolve) => asked.push(resolve))
      return fake.pool.getConnection()
    },
  }
  return { pool, asked }
}

/** Answers whoever asks the pool, until the work is done. */
async function answering<Result>(asked: (() => void)[], work: Promise<Result>): Promise<Result> {
  const timer = setInterval(() => asked.splice(0).forEach((answer) => answer()), 1)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

test('callers that give up while the pool does not answer are no more in its queue than it has connections', async () => {
  const { pool, asked } = slowPoolOf(3)
  const storage = mysqlStorage(pool)
  await answering(asked, Promise.resolve(storage.ping?.(call)))
  const until = performance.now() + 20
  const late = { timeLeftMs: () => until - performance.now() }
  const calls = Array.from({ length: 40 }, (_, index) =>
    index % 2 === 0 ? storage.ping?.(late) : storage.revokeClient('a', 5, late),
  )
  const outcomes = await Promise.allSettled(calls)
  expect(outcomes.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'))
  expect(asked).toHaveLength(3)
  // Those that gave up give the connections back, and nobody's place is lost.
  const later = Array.from({ length: 5 }, () => storage.revokeClient('a', 5, call))
  expect(await answering(asked, Promise.all(later))).toEqual([true, true, true, true, true])
})

test.each([
  [0, 5],
  [1, 1],
  [3, 2],
])('of %i connections, where 0 is no limit, five writes ask for %i', async (connectionLimit, writes) => {
  const { pool, asked } = slowPoolOf(connectionLimit)
  const storage = mysqlStorage(pool)
  await answering(asked, Promise.resolve(storage.ping?.(call)))
  const revoked = Array.from({ length: 5 }, () => storage.revokeClient('a', 5, call))
  await setImmediate()
  expect(asked).toHaveLength(writes)
  expect(await answering(asked, Promise.all(revoked))).toEqual([true, true, true, true, true])
})

test('an update that finds its license only when it looks for the reason is made', async () => {
  const answers = [{ affectedRows: 0 }, [{ reseller_id: 'r' }], { affectedRows: 1 }]
  const fake = poolOf((attempt) => answers[attempt - 1], 'utility_api_licenses')
  const update = { licenseKey: 'a', resellerId: 'r', patch: { status: 'new' }, at: 5 }
  expect(await mysqlStorage(fake.pool).updateLicense(update, call)).toBe('updated')
})

/** A pool whose connections can be cut while they are idle. With `octets`, they tell how many they have sent. */
function cuttablePool(octets?: number): { fake: FakePool; pool: MysqlPool; cut(): void; opened(): number } {
  const fake = poolOf(() => ({ affectedRows: 1 }))
  const free: MysqlConnection[] = []
  let isCut = false
  let opened = 0
  async function open(): Promise<MysqlConnection> {
    const isOld = !isCut
    opened += 1
    const stream = { bytesWritten: octets }
    const inner = await fake.pool.getConnection()
    function send<Answer>(statement: () => Promise<Answer>): Promise<Answer> {
      if (stream.bytesWritten !== undefined) stream.bytesWritten += 100
      const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      return isOld && isCut ? Promise.reject(error) : statement()
    }
    const connection: MysqlConnection = {
      ...inner,
      connection: { stream },
      query: (text) => send(() => inner.query(text)),
      execute: (statement) => send(() => inner.execute(statement)),
      release: () => void free.push(connection),
    }
    return connection
  }
  const pool: MysqlPool = { getConnection: async () => free.pop() ?? open() }
  return { fake, pool, cut: () => void (isCut = true), opened: () => opened }
}

test('connections that were cut while they were idle are replaced before a write, which is made once', async () => {
  const { fake, pool, cut, opened } = cuttablePool()
  const storage = mysqlStorage(pool)
  const write = (): unknown => storage.rotateClientSecret('a', new Uint8Array(32), call)
  await Promise.all([write(), write(), write()])
  const [before, sent] = [opened(), fake.sent]
  cut()
  expect(await write()).toBe(true)
  expect(fake.sent).toBe(sent + 1)
  expect(opened()).toBe(before + 1)
  expect(fake.released.filter((each) => each === 'destroyed')).toHaveLength(before)
})

test('when a connection is lost, those that were idle then must answer before they are used', async () => {
  const { fake, pool, cut, opened } = cuttablePool(0)
  const storage = mysqlStorage(pool)
  const write = async (): Promise<unknown> => storage.rotateClientSecret('a', new Uint8Array(32), call)
  await Promise.all([write(), write(), write()])
  const [before, sent] = [opened(), fake.sent]
  expect(before).toBeGreaterThan(2)
  cut()
  await expect(write()).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await write()).toBe(true)
  expect(fake.sent).toBe(sent + 1)
  expect(opened()).toBe(before + 1)
})

interface CountedPool {
  work(): unknown
  /** Sends something that is not the storage's. */
  write(): void
  /** What is done while the next statements are under way. */
  readonly meanwhile: (() => void)[]
  setUps(): number
}

/** What a connection of the driver tells of itself. */
interface Told {
  readonly stream?: { bytesWritten: number; writable?: boolean }
  readonly config?: { readonly compress: unknown }
}

/** A pool of one connection, on which what sets it up is counted. Its socket counts so many octets a statement. */
function poolWith(told: Told, octets: number): CountedPool {
  const fake = poolOf(() => ({ affectedRows: 1 }))
  let setUps = 0
  const meanwhile: (() => void)[] = []
  function write(): void {
    if (told.stream !== undefined) told.stream.bytesWritten += octets
  }
  const pool: MysqlPool = {
    async getConnection(): Promise<MysqlConnection> {
      const connection = await fake.pool.getConnection()
      return {
        ...connection,
        connection: told,
        query: (text) => {
          if (text.includes('sql_mode')) setUps += 1
          write()
          return connection.query(text)
        },
        async execute(statement) {
          write()
          const result = await connection.execute(statement)
          meanwhile.shift()?.()
          return result
        },
      }
    },
  }
  const storage = mysqlStorage(pool)
  // Two statements.
  const work = (): unknown => storage.revokeClient('a', 5, call)
  return { work, write, meanwhile, setUps: () => setUps }
}

test('a connection is set up once for calls that follow each other, and again after others have used it', async () => {
  const { work, write, setUps } = poolWith({ stream: { bytesWritten: 0 } }, 100)
  for (let each = 0; each < 3; each += 1)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await work()
  expect(setUps()).toBe(1)
  write()
  await work()
  await work()
  expect(setUps()).toBe(2)
})

test.each([
  ['first', 0],
  ['last', 1],
])(
  'a connection that others use during the %s statement of a call is set up again',
  async (_, statementsBefore) => {
    const { work, write, meanwhile, setUps } = poolWith({ stream: { bytesWritten: 0 } }, 100)
    await work()
    meanwhile.push(...Array.from({ length: statementsBefore }, () => () => {}), write)
    await work()
    expect(setUps()).toBe(1)
    await work()
    await work()
    expect(setUps()).toBe(2)
  },
)

test('a connection whose socket is closed must answer before it is used', async () => {
  const stream = { bytesWritten: 0, writable: true }
  const { work, setUps } = poolWith({ stream }, 100)
  await work()
  stream.writable = false
  await work()
  expect(setUps()).toBe(2)
})

test('a connection that has been idle for a second is set up again', async () => {
  const { work, setUps } = poolWith({ stream: { bytesWritten: 0 } }, 100)
  await work()
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 1000)
  onTestFinished(() => clock.mockRestore())
  await work()
  expect(setUps()).toBe(2)
})

test.each<[string, Told, number]>([
  ['does not count what it sends', {}, 100],
  ['always counts the same', { stream: { bytesWritten: 7 } }, 0],
  ['counts when it has compressed', { stream: { bytesWritten: 0 }, config: { compress: 32 } }, 100],
])('a connection of a driver that %s is set up for each call', async (_, told, octets) => {
  const { work, setUps } = poolWith(told, octets)
  await work()
  await work()
  await work()
  expect(setUps()).toBe(3)
})

test('a read whose connection is lost is made again, once, and a write never', async () => {
  const fake = poolOf((attempt) => {
    if (attempt === 1) throw new Error('Connection lost')
    return []
  })
  expect(await mysqlStorage(fake.pool).findClient('a', call)).toBeNull()
  expect(fake.sent).toBe(2)
})

test.each([1213, 1205, 1020])(
  'several writes that lost a race together (%i) are not repeated together: they go alone, as often as they must',
  async (errno) => {
    const texts: string[] = []
    const fake = poolOf((attempt, sql) => {
      texts.push(sql)
      if (attempt < 3) throw errorOf(errno)
      return { affectedRows: 1 }
    }, 'utility_api_licenses')
    const storage = mysqlStorage(fake.pool)
    const inserts = ['a', 'b'].map((key) => storage.insertLicense(newLicense(key), undefined, call))
    expect(await Promise.all(inserts)).toEqual(['inserted', 'inserted'])
    expect(texts.map((text) => text.includes('JSON_TABLE'))).toEqual([true, false, false, false])
  },
)

test('a lookup whose time is over does not affect others that share its statement', async () => {
  const { pool, asked } = slowPoolOf(1)
  const storage = mysqlStorage(pool)
  await answering(asked, Promise.resolve(storage.ping?.(call)))
  const holder = storage.revokeClient('a', 5, call)
  const until = performance.now() + 5
  const short = storage.findCredential('api_key', new Uint8Array(32), {
    timeLeftMs: () => until - performance.now(),
  })
  const long = storage.findCredential('api_key', new Uint8Array(32).fill(1), call)
  await expect(short).rejects.toMatchObject({ kind: 'unavailable' })
  await answering(asked, Promise.resolve(holder))
  await expect(answering(asked, Promise.resolve(long))).resolves.toBeNull()
})

test('a rollback that answers with a deadlock is repeated, and the work again on the same connection', async () => {
  const asked: string[] = []
  const fake = poolOf((attempt) => {
    if (attempt === 1) throw errorOf(1213)
    return [[{ spent: 1 }], { affectedRows: 0 }]
  }, 'utility_api_codes')
  const connection = await fake.pool.getConnection()
  connection.query = async (text) => {
    asked.push(text)
    if (text === 'ROLLBACK' && asked.filter((each) => each === text).length === 1) throw errorOf(1213)
    return [{}, undefined]
  }
  const hash = new Uint8Array(32)
  const token = newToken('t', hash)
  fake.pool.getConnection = async () => connection
  expect(await mysqlStorage(fake.pool).redeemAuthorizationCode(hash, 5, token, call)).toBe(true)
  expect(asked.filter((text) => text === 'ROLLBACK')).toHaveLength(2)
  expect(fake.released).not.toContain('destroyed')
})

/** Makes the server of a pool a node of a Galera cluster. */
function asNode(fake: FakePool): FakePool {
  const { getConnection } = fake.pool
  fake.pool.getConnection = async () => {
    const connection = await getConnection()
    const { execute } = connection
    return Object.assign(connection, {
      execute: async (statement: Parameters<typeof execute>[0]) =>
        statement.sql.includes('wsrep')
          ? [[{ version: '10.11-MariaDB', charset: 'utf8mb4', wsrep: 'ON' }], undefined]
          : execute(statement),
    })
  }
  return fake
}

/** Lets the statement fail with 1205 after a while on a node: once, then it succeeds. */
function nodeThatWaited(waitedMs: number): FakePool {
  let now = performance.now()
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => spy.mockRestore())
  return asNode(
    poolOf((attempt) => {
      if (attempt > 1) return { affectedRows: 1 }
      now += waitedMs
      throw errorOf(1205, 'Lock wait timeout exceeded; try restarting transaction')
    }),
  )
}

const interruptedOnce = (attempt: number): unknown => {
  if (attempt === 1) throw errorOf(1317, 'Query execution was interrupted')
  return [{ version: 1, step: 99 }]
}

test.each([
  ['is waited for, however long it takes', [0, 0, 1], 3],
  ['cannot be waited for if the server has no lock to give', [0, null], 2],
])('a migration on another server %s', async (_, gets, sent) => {
  let asked = 0
  const fake = poolOf((__, sql) => {
    if (sql.includes('get_lock')) return [{ got: gets[(asked += 1) - 1] }]
    return [{ version: 1, step: asked < sent ? 0 : 99 }]
  }, 'utility_api_schema')
  const migration = mysqlStorage(fake.pool).migrate()
  await (gets.includes(null)
    ? expect(migration).rejects.toMatchObject({ kind: 'unavailable' })
    : expect(migration).resolves.toEqual({ changed: false, warnings: [] }))
  expect(asked).toBe(sent)
})

test('a migration that another node of a cluster interrupts reads the schema again', async () => {
  const fake = asNode(poolOf(interruptedOnce, 'FROM utility_api_'))
  await mysqlStorage(fake.pool).migrate()
  expect(fake.sent).toBe(2)
})

test.each([
  [{ flushes: 1, binlog: 0, syncs: 0 }, []],
  [{ flushes: '3', binlog: '1', syncs: '1' }, []],
  [{ flushes: 2n, binlog: 1n, syncs: 0n }, ['innodb_flush_log_at_trx_commit is 2', 'sync_binlog is 0']],
  [{ flushes: 0, binlog: 0, syncs: 0 }, ['innodb_flush_log_at_trx_commit is 0']],
])('of %o, migrate() warns about what a power cut would lose', async (settings, begins) => {
  const fake = poolOf(() => [settings], 'innodb_flush_log_at_trx_commit')
  const { warnings } = await mysqlStorage(fake.pool).migrate()
  expect(warnings.map((each) => each.split(':')[0])).toEqual(begins)
})

test('a first connection that is slower than the pool waits is waited for by migrate()', async () => {
  const fake = poolOf(() => [])
  const { getConnection } = fake.pool
  let asked = 0
  fake.pool.getConnection = async () => {
    asked += 1
    if (asked > 2) return getConnection()
    throw Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' })
  }
  expect((await mysqlStorage(fake.pool).migrate()).changed).toBe(false)
  const gone = async (): Promise<never> => {
    asked += 1
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  asked = 0
  await expect(mysqlStorage({ getConnection: gone }).migrate()).rejects.toMatchObject({ kind: 'unavailable' })
  expect(asked, 'nobody listens').toBe(1)
})

test('on a node that is cut off, migrate() says so', async () => {
  const fake = asNode(
    poolOf(() => {
      throw errorOf(1205)
    }, 'FROM utility_api_schema'),
  )
  await expect(mysqlStorage(fake.pool).migrate()).rejects.toMatchObject({
    kind: 'unavailable',
    retryable: true,
    message: expect.stringContaining('is cut off, or has not caught up with its cluster') as string,
  })
  expect(fake.sent).toBe(1)
})

test('a migration that a person interrupts stays interrupted', async () => {
  const fake = poolOf(interruptedOnce, 'FROM utility_api_')
  await expect(mysqlStorage(fake.pool).migrate()).rejects.toMatchObject({ kind: 'unavailable' })
  expect(fake.sent).toBe(1)
})

test('MySQL is refused, by a migration before anything is read or made', async () => {
  const fake = poolOf(() => [], 'utility_api_', '8.4.3')
  const message = 'The server is MySQL 8.4.3: use MariaDB 10.6 or newer.'
  await expect(mysqlStorage(fake.pool).migrate()).rejects.toMatchObject({ kind: 'invalid', message })
  expect(fake.sent).toBe(0)
  const serving = poolOf(() => [], 'utility_api_clients', '8.4.3')
  expect(await outcomeOf(serving)).toMatchObject({ kind: 'invalid', message })
  expect(serving.sent).toBe(0)
})

test('a code is taken back if another node of the cluster has revoked its client meanwhile', async () => {
  const sent: string[] = []
  const revokedAt = (attempt: number): number | null => (attempt === 1 ? null : 5)
  const { pool } = asNode(
    poolOf((attempt, sql) => {
      sent.push(/\w+/.exec(sql)?.[0] ?? '')
      return sql.includes('SELECT') ? [{ revoked_at: revokedAt(attempt) }] : { affectedRows: 1 }
    }, 'utility_api_c'),
  )
  const issued = mysqlStorage(pool).insertAuthorizationCode(new Uint8Array(32), newCode('a'), call)
  await expect(issued).rejects.toMatchObject({ kind: 'conflict', message: 'The client is revoked.' })
  expect(sent).toEqual(['SELECT', 'INSERT', 'SELECT', 'DELETE'])
})

test('on a node, error 1205 after less time than a lock is waited for says that the node lags', async () => {
  const fake = nodeThatWaited(900)
  expect(await outcomeOf(fake)).toMatchObject({
    kind: 'unavailable',
    retryable: true,
    message: expect.stringContaining('has not caught up with its cluster') as string,
  })
  expect(fake.sent).toBe(1)
  expect(fake.released.at(-1)).toBe('released')
})

test('on a node, error 1205 after the time that a lock is waited for is a lost race, and run again', async () => {
  const fake = nodeThatWaited(3000)
  expect(await outcomeOf(fake)).toBe(true)
  expect(fake.sent).toBe(2)
})
