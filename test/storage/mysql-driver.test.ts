import { StorageError, type StorageErrorKind } from 'utility-api/storage'
import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { expect, test } from 'vitest'
import { call } from './support/call.ts'

// What the store makes of a driver's errors, on a pool that answers what a test wants it to.

interface FakePool {
  readonly pool: MysqlPool
  /** How often the statement under test was sent. */
  sent: number
  readonly released: string[]
}

/** A server with the schema; `answer` is asked for every statement that names the table. */
function poolOf(answer: (attempt: number) => unknown, table = 'utility_api_clients'): FakePool {
  const fake = { sent: 0, released: [] as string[] }
  const connection = {
    query: async () => [{}, undefined] as const,
    execute: async ({ sql }: { readonly sql: string }) => {
      if (!sql.includes(table)) return [[{ version: 1, step: 99, charset: 'utf8mb4' }], undefined] as const
      fake.sent += 1
      return [answer(fake.sent), undefined] as const
    },
    release: () => void fake.released.push('released'),
    destroy: () => void fake.released.push('destroyed'),
  }
  return Object.assign(fake, { pool: { getConnection: async () => connection } })
}

/** An error as the server sends one. */
function errorOf(errno: number, message = "Duplicate entry 'LIC-1' for key 'a'"): Error {
  return Object.assign(new Error(message), { code: 'ER_TROUBLE', errno, sqlState: 'HY000' })
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
    1159, 1160, 1161, 1184, 1290, 1792, 1836, 1317, 1927, 1969, 3024,
  ],
  invalid: [1044, 1045, 1049, 1054, 1142, 1143, 1048, 1264, 1265, 1292, 1366, 1406, 3988, 4025, 3819],
  bug: [1064, 1, 9999],
}
const kinds = Object.entries(byKind).flatMap(([kind, errnos]) =>
  errnos.map((errno) => [errno, kind] as const),
)

/** Other servers may take the writes by now, at the same address. */
const takesNoWrites: ReadonlySet<number> = new Set([1047, 1290, 1792, 1836])

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
    expect(fake.sent).toBe(1)
    expect(fake.released.at(-1)).toBe(takesNoWrites.has(errno) ? 'destroyed' : 'released')
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

test('a call that has begun is finished, although nobody waits for it any more', async () => {
  let left = 1000
  const fake = poolOf(() => {
    left = 0
    return { affectedRows: 1 }
  })
  const storage = mysqlStorage(fake.pool)
  expect(await storage.revokeClient('a', 5, { timeLeftMs: () => left })).toBe(true)
})

test('an update that finds its license only when it looks for the reason is made', async () => {
  const answers = [{ affectedRows: 0 }, [{ reseller_id: 'r' }], { affectedRows: 1 }]
  const fake = poolOf((attempt) => answers[attempt - 1], 'utility_api_licenses')
  const update = { licenseKey: 'a', resellerId: 'r', patch: { status: 'new' }, at: 5 }
  expect(await mysqlStorage(fake.pool).updateLicense(update, call)).toBe('updated')
})
