import { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { callWithin, StorageError, type StorageCall, type StorageErrorKind } from 'utility-api/storage'
import {
  postgresStorage,
  type PostgresPool,
  type PostgresResult,
  type PostgresStatement,
} from 'utility-api/storage/postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from './support/call.ts'
import { errorOf } from './support/error-of.ts'
import { newLicense } from './support/license.ts'

// What the store makes of a driver's errors, on a pool that answers what a test wants it to.

interface FakePool {
  readonly pool: PostgresPool
  /** What its one connection tells. */
  readonly events: EventEmitter
  /** How often the statement under test was sent. */
  sent: number
  /** For each connection given back, whether it was closed. */
  readonly closed: boolean[]
}

/** A server with the schema; `answer` is asked for every statement that names the table. */
function poolOf(answer: (attempt: number) => PostgresResult, table = 'utility_api_clients'): FakePool {
  const fake = { sent: 0, closed: [] as boolean[], events: new EventEmitter() }
  const query = async (statement: PostgresStatement | string): Promise<PostgresResult> => {
    const text = typeof statement === 'string' ? statement : statement.text
    if (!text.includes(table)) return { rows: [{ version: 1, step: 99 }], rowCount: 1 }
    fake.sent += 1
    return answer(fake.sent)
  }
  const client = {
    query,
    on: fake.events.on.bind(fake.events),
    getTransactionStatus: () => 'I',
    release: (destroy = false) => fake.closed.push(destroy),
  }
  return Object.assign(fake, { pool: { options: { max: 4 }, connect: async () => client } })
}

const done = { rows: [], rowCount: 1 }
const errorWith = (code: string, message = 'trouble'): Error => Object.assign(new Error(message), { code })

/** What a write comes to: its answer, or the error. */
async function outcomeOf({ pool }: FakePool, within: StorageCall = call): Promise<unknown> {
  try {
    return await postgresStorage(pool).revokeClient('a', 5, within)
  } catch (error) {
    return error
  }
}

test.each(['40001', '40P01'])('a lost race (%s) is run again, on the same connection', async (code) => {
  const fake = poolOf((attempt) => {
    if (attempt < 3) throw errorWith(code)
    return done
  })
  expect(await outcomeOf(fake)).toBe(true)
  expect(fake.sent).toBe(3)
  expect(fake.closed).not.toContain(true)
})

test('after a lost race, a statement is not sent again before a pause', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const lost = Promise.withResolvers<void>()
  const fake = poolOf((attempt) => {
    if (attempt > 1) return done
    lost.resolve()
    throw errorWith('40001')
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
    throw errorWith('40001')
  })
  expect(await outcomeOf(fake)).toMatchObject({ kind: 'conflict', retryable: true })
  expect(fake.sent).toBe(12)
})

test.each([
  ['race', '40001', 'nobody waits for this call any more.'],
  ['session', '57P05', 'trouble'],
])('a %s lost past the deadline is not run again', async (_, code, why) => {
  let left = 1000
  const fake = poolOf(() => {
    left = 0
    throw errorWith(code)
  })
  const message = `PostgreSQL: ${why}`
  expect(await outcomeOf(fake, { timeLeftMs: () => left })).toMatchObject({ kind: 'unavailable', message })
  expect(fake.sent).toBe(1)
})

const kinds: readonly [code: string, kind: StorageErrorKind, retryable: boolean, isClosed: boolean][] = [
  ['08006', 'unavailable', false, true],
  ['22021', 'invalid', false, false],
  ['23505', 'conflict', false, false],
  ['23514', 'invalid', false, false],
  ['25006', 'unavailable', false, true],
  ['25P02', 'bug', false, true],
  ['25P04', 'unavailable', false, true],
  ['40002', 'conflict', false, false],
  ['42501', 'invalid', false, true],
  ['42601', 'bug', false, true],
  ['42P01', 'invalid', false, true],
  ['53100', 'unavailable', false, true],
  ['53300', 'unavailable', true, true],
  ['55000', 'bug', false, true],
  ['55P03', 'unavailable', false, true],
  ['57P01', 'unavailable', false, true],
  ['58030', 'unavailable', false, true],
  ['XX000', 'bug', false, true],
  ['ECONNREFUSED', 'unavailable', true, true],
  ['ECONNRESET', 'unavailable', false, true],
]

test.each(kinds)(
  'error %s is %s and is told at once: it may have been done',
  async (code, kind, retryable, isClosed) => {
    const fake = poolOf(() => {
      throw errorWith(code)
    })
    const error = await outcomeOf(fake)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({ kind, retryable, message: 'PostgreSQL: trouble' })
    expect(fake.sent).toBe(1)
    expect(fake.closed.at(-1)).toBe(isClosed)
  },
)

test.each<[Error, StorageErrorKind]>([
  [new TypeError('x is undefined'), 'bug'],
  [new RangeError('too deep'), 'bug'],
  [new Error('Connection terminated unexpectedly'), 'unavailable'],
])('%s without a code is %s', async (thrown, kind) => {
  const fake = poolOf(() => {
    throw thrown
  })
  expect(await outcomeOf(fake)).toMatchObject({ kind, retryable: false })
  expect(fake.sent).toBe(1)
})

test("what quotes rows is removed from the server's error, and nothing else", async () => {
  const quoting = { detail: 'LIC-1', where: 'LIC-1', internalQuery: 'LIC-1' }
  const fake = poolOf(() => {
    throw Object.assign(errorWith('23514'), quoting, { constraint: 'a', table: 'b' })
  })
  const { cause } = (await outcomeOf(fake)) as StorageError
  expect(cause).toEqual(Object.assign(errorWith('23514'), { constraint: 'a', table: 'b' }))
  expect(Object.keys(quoting).filter((field) => field in (cause as Error))).toEqual([])
})

const notConfirmed = { routine: 'SyncRepWaitForLSN' }

test('a driver that does not tell whether a transaction is open is refused, by a migration too, and loses no write', async () => {
  const fake = poolOf(() => done)
  const client = await fake.pool.connect()
  delete (client as Partial<typeof client>).getTransactionStatus
  const storage = postgresStorage(fake.pool)
  for (const work of [() => storage.migrate(), () => storage.revokeClient('a', 5, call)])
    // oxlint-disable-next-line no-await-in-loop -- two
    expect(await errorOf(work)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('use pg 8.21 or newer') as string,
    })
  expect(fake.sent).toBe(0)
  expect(fake.closed).toHaveLength(2)
})

test('a commit that no standby confirmed is unavailable, also the one after it where it goes on', async () => {
  const fake = poolOf((attempt) => {
    if (attempt < 3) fake.events.emit('notice', notConfirmed)
    return done
  })
  expect(await outcomeOf(fake)).toMatchObject({ kind: 'unavailable' })
  expect(await outcomeOf(fake)).toMatchObject({ kind: 'unavailable' })
  expect(await outcomeOf(fake)).toBe(true)
})

test("notices about the host's work on a shared connection are not taken for ours", async () => {
  const fake = poolOf((attempt) => {
    if (attempt === 2) fake.events.emit('notice', { routine: 'another' })
    return done
  })
  expect(await outcomeOf(fake)).toBe(true)
  fake.events.emit('notice', notConfirmed)
  expect(await outcomeOf(fake)).toBe(true)
})

test('a call whose time is over does not affect others that share its statement', async () => {
  const connection = Promise.withResolvers<void>()
  const fake = poolOf(() => done)
  const { connect } = fake.pool
  const storage = postgresStorage(fake.pool)
  await storage.ping?.(call)
  fake.pool.connect = () => connection.promise.then(connect)
  const short = errorOf(() => storage.findClient('a', callWithin(1)))
  const long = storage.findClient('b', call)
  expect((await short).kind).toBe('unavailable')
  connection.resolve()
  expect(await long).toBeNull()
  expect(fake.sent).toBe(1)
})

test('a connection gets one listener, however often it is used', async () => {
  const fake = poolOf(() => done)
  await outcomeOf(fake)
  await outcomeOf(fake)
  expect(['error', 'notice'].map((event) => fake.events.listenerCount(event))).toEqual([1, 1])
})

test.each(['40001', '40P01'])(
  'a statement of several writes that lost a race (%s) is not repeated: they go alone, as often as they must',
  async (code) => {
    const texts: string[] = []
    const fake = poolOf((attempt) => {
      if (attempt < 3) throw errorWith(code)
      return done
    }, 'utility_api_licenses')
    const { connect } = fake.pool
    fake.pool.connect = async () => {
      const client = await connect()
      const query = (statement: PostgresStatement | string): Promise<PostgresResult> => {
        if (typeof statement !== 'string' && statement.text.includes('INSERT')) texts.push(statement.text)
        return client.query(statement)
      }
      return { ...client, query }
    }
    const storage = postgresStorage(fake.pool)
    const inserts = ['a', 'b'].map((key) => storage.insertLicense(newLicense(key), undefined, call))
    expect(await Promise.all(inserts)).toEqual(['inserted', 'inserted'])
    expect(texts.map((text) => text.includes('unnest'))).toEqual([true, false, false, false])
    expect(fake.closed).not.toContain(true)
  },
)

/** Answers as a server on which only the third statement changes a row. */
function changingAtThird(table: string, ...rows: unknown[]): PostgresPool {
  const answers = [{ rows: [], rowCount: 0 }, { rows, rowCount: rows.length }, done]
  return poolOf((attempt) => answers[attempt - 1] ?? done, table).pool
}

test('an update that finds its license only when it looks for the reason is made', async () => {
  const storage = postgresStorage(changingAtThird('utility_api_licenses', { reseller_id: 'r' }))
  const update = { licenseKey: 'a', resellerId: 'r', patch: { status: 'new' }, at: 5 }
  expect(await storage.updateLicense(update, call)).toBe('updated')
})

test('an idempotency key that a purge deletes before its answer is read is free again', async () => {
  const storage = postgresStorage(changingAtThird('utility_api_idempotency_keys'))
  const hash = new Uint8Array(32)
  const key = { resellerId: 'r', keyHash: hash, requestHash: hash, at: 1, expiresAt: 9 }
  expect(await storage.insertLicense(newLicense('a'), key, call)).toBe('inserted')
})

/** The names under which statements on the table are sent, and what is asked besides. */
async function listening(
  fake: FakePool,
  table = 'utility_api_clients',
): Promise<{ names: unknown[]; asked: string[] }> {
  const heard = { names: [] as unknown[], asked: [] as string[] }
  const client = await fake.pool.connect()
  const { query } = client
  client.query = (statement) => {
    if (typeof statement === 'string') heard.asked.push(statement)
    else if (statement.text.includes(table)) heard.names.push(statement.name)
    return query(statement)
  }
  return heard
}

test.each(['26000', '42P05'])(
  'a connection that keeps no prepared statements (%s) is sent them without names, again and from then on',
  async (code) => {
    const fake = poolOf((attempt) => {
      if (attempt === 1) throw errorWith(code)
      return done
    })
    const { names } = await listening(fake)
    expect(await outcomeOf(fake)).toBe(true)
    expect(await outcomeOf(fake)).toBe(true)
    expect(names).toEqual([expect.stringMatching(/^utility_api_/), undefined, undefined])
  },
)

test.each(['57P03', '57P05'])(
  'a write whose session the server had ended before (%s) is sent again',
  async (code) => {
    const fake = poolOf((attempt) => {
      if (attempt === 1) throw errorWith(code)
      return done
    })
    expect(await outcomeOf(fake)).toBe(true)
    expect(fake.sent).toBe(2)
  },
)

test.each(['57P01', '57P02', '08006', 'ECONNRESET', 'EPIPE'])(
  'a read whose connection is lost (%s) is sent again, once, and a write never',
  async (code) => {
    const fake = poolOf((attempt) => {
      if (attempt === 1) throw errorWith(code)
      return { rows: [], rowCount: 0 }
    })
    expect(await postgresStorage(fake.pool).findClient('a', call)).toBeNull()
    expect(fake.sent).toBe(2)
    const lost = poolOf(() => {
      throw errorWith(code)
    })
    expect((await errorOf(() => postgresStorage(lost.pool).findClient('a', call))).kind).toBe('unavailable')
    expect(lost.sent).toBe(2)
    const written = poolOf(() => {
      throw errorWith(code)
    })
    expect(await outcomeOf(written)).toMatchObject({ kind: 'unavailable' })
    expect(written.sent).toBe(1)
  },
)

test('a connection that was idle is asked before it is used, one that is in use is not', async () => {
  const fake = poolOf(() => done)
  const { asked } = await listening(fake)
  const storage = postgresStorage(fake.pool)
  let at = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => at)
  const write = (): unknown => storage.revokeClient('a', 5, call)
  await write()
  await write()
  at += 900
  await write()
  expect(asked).toEqual([])
  at += 1100
  await write()
  expect(asked).toEqual(['SELECT 1'])
  at += 1100
  await storage.findClient('a', call)
  expect(asked).toEqual(['SELECT 1', 'SELECT 1'])
  clock.mockRestore()
})

test('a connection whose end was seen is never lent, also not right after its last use', async () => {
  const fake = poolOf(() => done)
  const { connect } = fake.pool
  await outcomeOf(fake)
  fake.events.emit('end')
  const closedBefore = fake.closed.length
  let lent = 0
  fake.pool.connect = async () => {
    lent += 1
    const client = await connect()
    return lent === 1 ? client : { ...client, on: () => {} }
  }
  expect(await outcomeOf(fake)).toBe(true)
  expect(fake.closed.slice(closedBefore)[0]).toBe(true)
  expect(lent).toBeGreaterThan(1)
})

test('a pool whose rows come in binary form is refused at once', () => {
  const { pool } = poolOf(() => done)
  expect(() => postgresStorage({ ...pool, options: { max: 4, binary: true } })).toThrow('option binary')
})

test('a time limit that a pooler drops is refused, by a migration too', async () => {
  const { pool } = poolOf(() => done)
  const options = { max: 4, statement_timeout: 2400 }
  const query = async () => ({ rows: [{ statement_timeout: '0', version: 1, step: 99 }], rowCount: 1 })
  const connect = async () => ({ ...(await pool.connect()), query })
  const storage = postgresStorage({ options, connect })
  for (const work of [() => storage.migrate(), () => storage.findClient('a', call)])
    // oxlint-disable-next-line no-await-in-loop -- two
    expect(await errorOf(work)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('ALTER ROLE') as string,
    })
})

test.each([
  ['unsupported startup parameter: statement_timeout', 'set the limit on the role: ALTER ROLE'],
  [
    'unsupported startup parameter: options',
    "the startup parameter options: leave it out of the pool's options",
  ],
  ['transaction blocks not allowed in statement pooling mode', 'run migrate() once on a direct connection'],
])('what a pooler refuses (%s) is told with what to do', async (message, advice) => {
  const { pool } = poolOf(() => done)
  const connect = (): Promise<never> => Promise.reject(errorWith('08P01', message))
  const error = await errorOf(() => postgresStorage({ ...pool, connect }).migrate())
  expect([error.kind, error.message]).toEqual(['invalid', expect.stringContaining(advice)])
})

test('a pool without a free connection says so, instead of a server that does not answer', async () => {
  vi.useFakeTimers()
  const { pool } = poolOf(() => done)
  const connect = (): Promise<never> => new Promise(() => {})
  const error = errorOf(() => postgresStorage({ ...pool, connect }).findClient('a', call))
  await vi.advanceTimersByTimeAsync(3000)
  expect((await error).message).toContain('no connection of the pool (max: 4) was free')
  const query = (): Promise<never> => new Promise(() => {})
  const silent = { ...pool, connect: async () => ({ ...(await pool.connect()), query }) }
  const silence = errorOf(() => postgresStorage(silent).findClient('a', call))
  await vi.advanceTimersByTimeAsync(3000)
  expect((await silence).message).toContain('the server does not answer, or a pooler')
})

/** Lets its one connection tell what it is sent; what `answer` returns is the answer. */
async function tapped(
  fake: FakePool,
  answer: (text: string) => PostgresResult | undefined,
): Promise<FakePool> {
  const client = await fake.pool.connect()
  const { query } = client
  client.query = async (statement) =>
    answer(typeof statement === 'string' ? statement : statement.text) ?? query(statement)
  return fake
}

/** A pool whose schema is read by a standby; `standby` is what it says when it is asked as a write would be. */
function balancedPool(standby: boolean | string): Promise<FakePool> {
  const fake = poolOf(() => ({ rows: [{ standby }], rowCount: 1 }), 'pg_is_in_recovery')
  const schema = { rows: [{ version: 1, step: 99, standby: 'on' }], rowCount: 1 }
  return tapped(fake, (text) => (text.includes('in_hot_standby') ? schema : undefined))
}

test.each([false, 'f'])('reads that a standby answers for a primary are refused: %s', async (standby) => {
  const storage = postgresStorage((await balancedPool(standby)).pool)
  for (const work of [() => storage.migrate(), () => storage.findClient('a', call)]) {
    // oxlint-disable-next-line no-await-in-loop -- two
    const error = await errorOf(async () => work())
    expect([error.kind, error.message]).toEqual([
      'invalid',
      expect.stringContaining('set load_balance_mode = off'),
    ])
  }
})

/** A pool whose first connections take longer than it waits, each 1.5 s. */
function sleepingPool(times: number, error: Error): FakePool & { asked: number } {
  const fake = Object.assign(
    poolOf(() => done),
    { asked: 0 },
  )
  const { connect } = fake.pool
  fake.pool.connect = async () => {
    fake.asked += 1
    if (fake.asked > times) return connect()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    throw error
  }
  return fake
}

const tooSlow = new Error('Connection terminated due to connection timeout')

test('a first connection that is slower than the pool waits is waited for by migrate(): a database was asleep', async () => {
  vi.useFakeTimers()
  const fake = sleepingPool(3, tooSlow)
  const migrated = postgresStorage(fake.pool).migrate()
  await vi.advanceTimersByTimeAsync(5000)
  expect((await migrated).changed).toBe(false)
})

test.each([
  ['for 30 s', tooSlow, 20],
  ['not at all if it is refused', errorWith('ECONNREFUSED'), 1],
])('a database that never answers is waited for %s', async (_, thrown, asked) => {
  vi.useFakeTimers()
  const fake = sleepingPool(99, thrown)
  const error = errorOf(() => postgresStorage(fake.pool).migrate())
  await vi.advanceTimersByTimeAsync(60_000)
  expect((await error).kind).toBe('unavailable')
  expect(fake.asked).toBe(asked)
})

test.each([true, 't'])('a pool that leads to a standby alone is served: %s', async (standby) => {
  expect(await outcomeOf(await balancedPool(standby))).toBe(true)
})

test('a server that is no standby is not asked again', async () => {
  const fake = poolOf(() => done, 'pg_is_in_recovery')
  expect(await outcomeOf(fake)).toBe(true)
  expect(fake.sent).toBe(0)
})

test('what reads begins with the comment that keeps pgpool-II from balancing it, and what writes does not', async () => {
  const texts: string[] = []
  const { pool } = await tapped(
    poolOf(() => done),
    (text) => void texts.push(text),
  )
  const storage = postgresStorage(pool)
  await storage.findClient('a', call)
  await storage.ping?.(call)
  const reads = texts.splice(0)
  expect(reads).toHaveLength(3)
  for (const text of reads) expect(text).toMatch(/^\/\*NO LOAD BALANCE\*\/ SELECT/)
  await storage.revokeClient('a', 5, call)
  expect(texts[0]).toMatch(/^UPDATE/)
})
