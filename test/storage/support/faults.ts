import {
  callWithin,
  StorageError,
  type AdminStorage,
  type StorageCall,
  type StorageListing,
} from 'utility-api/storage'
import { createModel, show } from '../../../src/testing/contract/model.ts'
import { ConnectionLost, type OwnServer } from './own-server.ts'
import { requireTime, toStorageError, transact, type Statements, type Transact } from './own-adapter.ts'

/** What adapters get wrong, each for whatever method it is planted in. */

export type Method = (...args: unknown[]) => unknown
export type Methods = Record<string, Method>

/** What a method was asked and answered, and the statements it sent. */
export interface Asked {
  readonly place: string
  readonly args: readonly unknown[]
  readonly answer: unknown
  /** Undefined where it was answered. */
  readonly error: unknown
  readonly sql: readonly string[]
}

type Around = (name: string, good: Methods) => Method | null

/** A way to be wrong. One of the three; null where the fault has no place in the method. */
export interface Fault {
  readonly kind: string
  /** Beside the method of any store: what it is given, what it gives back, when it is asked. */
  /** Tells whether it would change anything; a method in which it never does has no place for it. Default: always. */
  readonly changes?: (asked: Asked) => boolean
  /** Whether both instances are one, because what it goes by is in the process. */
  readonly inProcess?: true
  readonly around?: Around
  /** In the transaction of the adapter in SQL. */
  readonly transact?: (name: string) => Transact | null
  /** In the statements of the adapter in SQL. */
  readonly sql?: (name: string, text: string) => string
}

const isRead = (name: string): boolean => /^(?:find|list|ping)/.test(name) || isList(name)
const listNames: readonly string[] = ['clients', 'resellers', 'credentials', 'licenses', 'countLicenses']
const isList = (name: string): boolean => listNames.includes(name)
const aMoment = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

type Change = (value: unknown) => unknown

/** Changes every text, number or hash inside a value, however deep; other values stay. */
function deep(change: Change): Change {
  return function walk(value: unknown): unknown {
    if (typeof value === 'function' || value === null || value === undefined) return value
    if (value instanceof Uint8Array || typeof value !== 'object') return change(value)
    if (Array.isArray(value)) return value.map(walk)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, isOfPage(key) ? (each as unknown) : walk(each)]),
    )
  }
}

/** How a page is asked for is no value of a row. */
const isOfPage = (key: string): boolean => ['timeLeftMs', 'limit', 'after', 'next'].includes(key)

const onText = (change: (text: string) => string): Change =>
  deep((value) => (typeof value === 'string' ? change(value) : value))
const onTime = (change: (time: number) => number): Change =>
  deep((value) => (typeof value === 'number' && value > 1 ? change(value) : value))
const onHash = (change: (hash: Uint8Array) => Uint8Array): Change =>
  deep((value) => (value instanceof Uint8Array ? change(value) : value))

const values: Readonly<Record<string, Change>> = {
  'trims text': onText((text) => text.trim()),
  'folds case': onText((text) => text.toLowerCase()),
  'folds accents': onText((text) => text.normalize('NFD').replaceAll(/\p{M}/gu, '')),
  'normalizes text': onText((text) => text.normalize('NFC')),
  'cuts text at 64 characters': onText((text) => text.slice(0, 64)),
  'cuts text at 254 characters': onText((text) => [...text].slice(0, 254).join('')),
  'loses astral characters': onText((text) => text.replaceAll(/[\u{10000}-\u{10FFFF}]/gu, '?')),
  'keeps seconds': onTime((time) => Math.floor(time / 1000) * 1000),
  'keeps 32 bits of a time': onTime((time) => time % 2 ** 32),
  'takes the first half of a hash': onHash((hash) => hash.map((byte, index) => (index < 16 ? byte : 0))),
  'ends a hash at a zero': onHash((hash) =>
    hash.map((byte, index) => (hash.indexOf(0) in hash && index > hash.indexOf(0) ? 0 : byte)),
  ),
}

/** Some methods are told a word of the port's own, which no store keeps. */
const words = new Set([
  'access_token',
  'reseller_token',
  'api_key',
  'inserted',
  'taken',
  'no_owner',
  'key_taken',
])
const keepWords =
  (change: Change): Change =>
  (value) =>
    typeof value === 'string' && words.has(value) ? value : change(value)

const ofValues: readonly Fault[] = Object.entries(values).flatMap(([kind, plain]): Fault[] => {
  const change = keepWords(plain)
  return [
    {
      kind: `${kind} on the way in`,
      changes: ({ args }) => differs(args, args.map(change)),
      around:
        (name, good) =>
        (...args) =>
          good[name]?.(...args.map(change)),
    },
    {
      kind: `${kind} on the way out`,
      changes: ({ answer }) => differs(answer, change(answer)),
      around:
        (name, good) =>
        async (...args) =>
          change(await good[name]?.(...args)),
    },
  ]
})

function differs(one: unknown, other: unknown): boolean {
  return show(one) !== show(other)
}

/** Remembers answers; `isKept` says which. */
const caching =
  (isKept: (answer: unknown) => boolean): Around =>
  (name, good) => {
    if (!name.startsWith('find')) return null
    const known = new Map<string, unknown>()
    return async (...args) => {
      const key = show(args.slice(0, -1))
      const answer: unknown = known.get(key) ?? (known.has(key) ? null : await good[name]?.(...args))
      if (isKept(answer)) known.set(key, answer)
      return answer
    }
  }

/** What a method says when there is nothing to find or to change. */
function nothingOf(name: string): unknown {
  if (name.startsWith('find')) return null
  if (name === 'revokeAccessTokensOfCode' || name === 'countLicenses') return 0
  if (name === 'updateLicense') return 'not_found'
  if (name === 'insertLicense') return 'key_taken'
  if (name === 'insertClient' || name === 'insertReseller') return 'taken'
  if (name === 'insertCredential') return 'no_owner'
  if (name === 'insertAuthorizationCode' || name === 'recordUse' || name === 'ping') return undefined
  if (name === 'revokeAccess') return { tokens: 0, codes: 0 }
  if (name === 'purgeExpired') return { tokens: 0, codes: 0, idempotency: 0 }
  return isList(name) ? { [name]: [] } : false
}

/** Looks first, answers by what it saw then, and writes a moment later. */
const racing: Around = (name, good) => {
  if (isRead(name)) return null
  const seen = createModel() as unknown as Methods
  let model = seen
  const copyOf = (from: Methods): Methods => (from['copy'] as () => Methods)()
  for (const [other, method] of Object.entries(good)) {
    good[other] = (...args) => {
      const answer = method(...args)
      try {
        const next = copyOf(model)
        next[other]?.(...args.slice(0, -1))
        model = next
      } catch {}
      return answer
    }
  }
  return async (...args) => {
    const answer = ((): (() => unknown) => {
      try {
        const value = copyOf(model)[name]?.(...args.slice(0, -1))
        return () => value
      } catch (error) {
        return () => {
          throw error
        }
      }
    })()
    await aMoment()
    await (async () => good[name]?.(...args))().catch(() => {})
    return answer()
  }
}

/** Goes from page to page by counting rows. */
const byOffset: Around = (name, good) => {
  if (!isList(name) || name === 'countLicenses') return null
  return async (page, call) => {
    const { after = '0', limit, ...rest } = page as { after?: string; limit: number }
    if (!/^\d{1,15}$/.test(after)) throw new StorageError('invalid', 'no mark')
    const all = (await good[name]?.({ ...rest, limit: 100_000 }, call)) as Record<string, unknown[]>
    const next = Number(after) + limit
    const rows = all[name] ?? []
    return { [name]: rows.slice(Number(after), next), ...(next < rows.length && { next: String(next) }) }
  }
}

/** The same object again as long as nothing has changed. */
const handingOut: Around = (name, good) => {
  if (!isRead(name)) return null
  const handed = new Map<string, { readonly text: string; readonly row: unknown }>()
  return async (...args) => {
    const row = await good[name]?.(...args)
    const known = handed.get(show(args.slice(0, -1)))
    const text = show(row)
    if (known?.text === text) return known.row
    handed.set(show(args.slice(0, -1)), { text, row })
    return row
  }
}

const isWrite = (sql: string): boolean => !sql.startsWith('SELECT')
function writes({ sql }: Asked): boolean {
  return sql.some(isWrite)
}

const beside: readonly Fault[] = [
  ...ofValues,
  { kind: 'decides by what it read before', around: racing, inProcess: true },
  { kind: 'caches what it found', around: caching((answer) => answer !== null) },
  { kind: 'caches what it did not find', around: caching((answer) => answer === null) },
  {
    kind: 'hands out the rows it keeps',
    changes: ({ answer }) => typeof answer === 'object' && answer !== null,
    around: handingOut,
  },
  {
    kind: 'takes an outage for nothing',
    around:
      (name, good) =>
      async (...args) => {
        try {
          return await good[name]?.(...args)
        } catch (error) {
          if (error instanceof StorageError && error.kind === 'unavailable') return nothingOf(name)
          throw error
        }
      },
  },
  {
    kind: 'throws what the driver throws',
    around:
      (name, good) =>
      async (...args) => {
        try {
          return await good[name]?.(...args)
        } catch (error) {
          throw new Error(String(error), { cause: error })
        }
      },
  },
  {
    kind: 'says that it came too late, and does it',
    changes: writes,
    around:
      (name, good) =>
      async (...args) => {
        await aMoment()
        const answer = await good[name]?.(...args.slice(0, -1), callWithin(1000))
        requireTime(args.at(-1) as StorageCall)
        return answer
      },
  },
  { kind: 'pages by counting rows', around: byOffset },
  {
    kind: 'lists newest first',
    around: (name, good) =>
      isList(name) && name !== 'countLicenses'
        ? async (...args) => {
            const page = (await good[name]?.(...args)) as Record<string, unknown[]>
            return { ...page, [name]: page[name]?.toReversed() }
          }
        : null,
  },
  {
    kind: 'offers a next page after the last',
    around: (name, good) =>
      isList(name) && name !== 'countLicenses'
        ? async (...args) => {
            const page = (await good[name]?.(...args)) as Record<string, unknown[]>
            return { next: '1000000', ...page }
          }
        : null,
  },
]

const readsAndWrites = ({ sql }: Asked): boolean => sql.some(isWrite) && !sql.every(isWrite)

/** Statements outside of any transaction, each with a turn of its own. */
async function alone<Result>(
  server: OwnServer,
  call: StorageCall,
  work: (db: Statements) => Promise<Result>,
): Promise<Result> {
  requireTime(call)
  const connection = await server.connect()
  try {
    return await work(connection)
  } catch (error) {
    throw toStorageError(error)
  } finally {
    connection.release()
  }
}

/** Says of a change that changes nothing that it found nothing. */
function countingChanges(db: Statements): Statements {
  return {
    all: (...args) => db.all(...args),
    async run(sql, ...args) {
      const table = /^UPDATE (\w+)/.exec(sql)?.[1]
      if (table === undefined) return db.run(sql, ...args)
      const before = show(await db.all(`SELECT * FROM ${table}`))
      const count = await db.run(sql, ...args)
      return before === show(await db.all(`SELECT * FROM ${table}`)) ? 0 : count
    },
  }
}

const ofTransactions: readonly Fault[] = [
  {
    kind: 'reads, decides and writes without a transaction',
    changes: readsAndWrites,
    transact:
      () =>
      ({ server }, call, work) =>
        alone(server, call, work),
  },
  {
    kind: 'reads a snapshot from before its turn',
    changes: readsAndWrites,
    transact: () => async (state, call, work) => {
      const past = await state.server.copy().connect()
      await Promise.resolve()
      return transact(state, call, (db) =>
        work({ all: (...args) => past.all(...args), run: (...args) => db.run(...args) }),
      )
    },
  },
  {
    kind: 'commits each write by itself',
    changes: ({ sql }) => sql.filter(isWrite).length > 1,
    // Its turn is its own all the same: what shows is only what a cut or an error leaves half done.
    transact: () => (state, call, work) =>
      transact(state, call, (db) =>
        work({
          all: (...args) => db.all(...args),
          async run(...args) {
            const count = await db.run(...args)
            await db.all('COMMIT')
            await db.all('BEGIN')
            return count
          },
        }),
      ),
  },
  {
    kind: 'tries again after a lost connection',
    changes: writes,
    transact: () => async (state, call, work) => {
      try {
        return await transact(state, call, work)
      } catch (error) {
        if (error instanceof StorageError && error.cause instanceof ConnectionLost)
          return transact(state, call, work)
        throw error
      }
    },
  },
  {
    kind: 'keeps its connection after an error',
    // After an outage there is none to keep.
    changes: ({ error }) => error instanceof StorageError && error.kind !== 'unavailable',
    transact:
      () =>
      async ({ server }, call, work) => {
        requireTime(call)
        const connection = await server.connect()
        try {
          await connection.begin()
          const result = await work(connection)
          await connection.commit()
          connection.release()
          return result
        } catch (error) {
          await connection.rollback()
          throw toStorageError(error)
        }
      },
  },
  {
    kind: 'keeps its connection after an answer that is no',
    changes: ({ place, answer }) => answer !== undefined && !differs(answer, nothingOf(place)),
    transact: (name) =>
      isRead(name)
        ? null
        : async ({ server }, call, work) => {
            requireTime(call)
            const connection = await server.connect()
            try {
              await connection.begin()
              const result = await work(connection)
              if (show(result) === show(nothingOf(name)) && result !== undefined) {
                await connection.rollback()
                return result
              }
              await connection.commit()
              connection.release()
              return result
            } catch (error) {
              await connection.rollback()
              connection.release()
              throw toStorageError(error)
            }
          },
  },
  {
    kind: 'fails what is under way when the store is closed',
    transact: () => (state, call, work) =>
      transact(state, call, async (db) => {
        const result = await work(db)
        if (state.closed) throw new StorageError('unavailable', 'closed')
        return result
      }),
  },
  {
    kind: 'begins what nobody waits for any more',
    changes: writes,
    transact: () => (state, _, work) => transact(state, callWithin(1000), work),
  },
  {
    kind: 'counts changed rows',
    changes: ({ sql }) => sql.some((text) => text.startsWith('UPDATE')),
    transact: () => (state, call, work) => transact(state, call, (db) => work(countingChanges(db))),
  },
]

const sqlFault = (kind: string, methods: readonly string[], from: RegExp, to: string): Fault => ({
  kind,
  changes: ({ place, sql }) => methods.includes(place) && sql.some((text) => from.test(text)),
  sql: (name, text) => (methods.includes(name) ? text.replace(from, to) : text),
})

const ofStatements: readonly Fault[] = [
  sqlFault('lists without an order', listNames, /ORDER BY seq/, 'ORDER BY random()'),
  sqlFault('lists what the mark is on again', listNames, /seq > \?/, 'seq >= ?'),
  sqlFault('purges a moment late', ['purgeExpired'], /expires_at <= \?/, 'expires_at < ?'),
  sqlFault(
    'purges one portion',
    ['purgeExpired'],
    /FROM (\w+) WHERE (.*expires_at.*)$/,
    'FROM $1 WHERE rowid IN (SELECT rowid FROM $1 WHERE $2 LIMIT 1000)',
  ),
  sqlFault('purges every kind', ['purgeExpired'], /kind = 'access_token' AND expires_at/, 'expires_at'),
  sqlFault('purges spent codes', ['purgeExpired'], / AND NOT EXISTS.*/, ''),
  sqlFault(
    'never lets an idempotency key expire',
    ['insertLicense'],
    / AND expires_at > \?/,
    ' AND ? IS NOT NULL',
  ),
  sqlFault(
    'lets an idempotency key live a moment longer',
    ['insertLicense'],
    /expires_at > \?/,
    'expires_at >= ?',
  ),
  sqlFault('keeps the expired answer', ['insertLicense'], /OR REPLACE/, 'OR IGNORE'),
  sqlFault('keeps two answers for a key', ['insertLicense'], /INSERT OR REPLACE/, 'INSERT'),
]

export const faults: readonly Fault[] = [...beside, ...ofTransactions, ...ofStatements]

/** Plants a fault in a method of any store; null where it has no place there. */
export function plantedBeside(fault: Fault, name: string, storage: AdminStorage): AdminStorage | null {
  const listed = storage.listing as unknown as Methods
  const good: Methods = isList(name) ? { ...listed } : { ...(storage as unknown as Methods) }
  const broken = fault.around?.(name, good) ?? null
  if (broken === null) return null
  const methods = { ...good, [name]: broken }
  return (isList(name)
    ? { ...storage, listing: methods }
    : { ...methods, listing: listed as unknown as StorageListing }) as unknown as AdminStorage
}

/** Plants a fault in the transaction or the statements of a method of the adapter in SQL; null where it has no place there. */
export function plantedInside(fault: Fault, name: string): Transact | null {
  const { sql } = fault
  if (sql === undefined) return fault.transact?.(name) ?? null
  return (state, call, work) =>
    transact(state, call, (db) =>
      work({
        all: (text, ...args) => db.all(sql(name, text), ...args),
        run: (text, ...args) => db.run(sql(name, text), ...args),
      }),
    )
}
