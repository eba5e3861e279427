import type { StorageCall } from 'utility-api/storage'
import { withConnection } from './connection.ts'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import { isUndone, toStorageError } from './errors.ts'
import { requireSchema, type Flavor } from './schema.ts'
import { sessionOn, type Session } from './statement.ts'
import type { KeyedSelect } from './sql.ts'
import type { ColumnValue } from '../shared/rows.ts'
import { inTime } from '../shared/call-time.ts'
import { createConnectionLimit } from '../shared/connection-limit.ts'
import { findTogether, type Find } from '../shared/find-together.ts'
import { inNoContext } from '../shared/no-context.ts'
import { writeTogether, type MakeWrite, type WriteKind } from '../shared/write-together.ts'

/** Lends a call a connection, while the call has time left. */
export type Lend = <Result>(call: StorageCall, work: (session: Session) => Promise<Result>) => Promise<Result>

/** A kind of write, of which one session can make many with one commit. */
export interface SharedKind<Write, Outcome> extends Omit<WriteKind<Write, Outcome>, 'together' | 'alone'> {
  /** Makes the writes that need not wait for a locked row, and returns the first key of each. */
  readonly together: (db: Session, writes: readonly Write[]) => Promise<readonly string[]>
  /** Makes a write, and finds out why it is refused. */
  readonly alone: (db: Session, write: Write) => Promise<Outcome>
}

/** How the store's methods access the database: one connection for each call, or for several that arrive together. */
export interface MysqlAccess {
  /** For work that only reads: on any connection. */
  readonly read: Lend
  /**
   * For work that writes: on all connections but one. A lock that another program holds would soon have all connections
   * waiting.
   */
  readonly write: Lend
  /**
   * Creates a function that finds a row by its key, as a value, together with others that are looked up meanwhile.
   * `toParameter` converts a key for the statement. Default: as it is.
   */
  finder<Row, Value>(
    select: KeyedSelect,
    keyOf: (row: Row) => string,
    convert: (row: Row) => Value,
    toParameter?: (key: string) => ColumnValue,
  ): Find<Value>
  /** Creates a function that makes writes of a kind, together with others that arrive with it. */
  writer<Write, Outcome>(kind: SharedKind<Write, Outcome>): MakeWrite<Write, Outcome>
}

export function createMysqlAccess(pool: MysqlPool): MysqlAccess {
  let ready: Promise<Flavor> | undefined

  function requireReady(): Promise<Flavor> {
    ready ??= inNoContext(requireSchema, pool).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }
  // The pool keeps everybody who asks for a connection in its queue until there is one. While a database hangs, callers
  // that gave up long ago would pile up there. So no more ask than there are connections, and the others wait here.
  const limit = createConnectionLimit(connectionsOf(pool), 'MariaDB')
  const writeLimit = createConnectionLimit(Math.max(1, connectionsOf(pool) - 1), 'MariaDB')

  async function lend<Result>(
    call: StorageCall,
    { reads, attempts }: { readonly reads: boolean; readonly attempts?: number },
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    const { settings, isGalera } = await requireReady()
    const onSession = (connection: MysqlConnection): Promise<Result> =>
      work(sessionOn(connection, { call, isGalera, attempts }))
    const run = (): Promise<Result> =>
      limit.run(call, () => withConnection(pool, call, { settings, work: onSession, reads }))
    return reads ? run() : writeLimit.run(call, run)
  }

  return {
    read: (call, work) => answer(call, () => lend(call, { reads: true }, work)),
    write: (call, work) => answer(call, () => lend(call, { reads: false }, work)),
    finder(select, keyOf, convert, toParameter = (key) => key) {
      const find = findTogether((call, takeKeys, inContext) => {
        return lend(call, { reads: true }, async (db) => {
          const keys = takeKeys()
          const { text, count } = select(keys.length)
          const [first = ''] = keys
          // A key that is named twice is found once.
          const filled = Array.from({ length: count }, (_, index) => toParameter(keys[index] ?? first))
          return inContext(() => db.rows(text, ...filled))
        })
      }, keyOf)
      return async (call, key) => {
        const row = await answer(call, () => find(call, key))
        return row === null ? null : convert(row)
      }
    },
    writer<Write, Outcome>({
      together,
      alone,
      ...kind
    }: SharedKind<Write, Outcome>): MakeWrite<Write, Outcome> {
      const shared: WriteKind<Write, Outcome> = {
        ...kind,
        // Once: writes that lose a race together go alone, and nothing is repeated for all of them.
        together: (call, takeWrites) =>
          lend(call, { reads: false, attempts: 1 }, (db) => together(db, takeWrites())),
        alone: (write, call) => lend(call, { reads: false }, (db) => alone(db, write)),
      }
      const make = writeTogether({ name: 'MariaDB', isUndone }, shared)
      return (call, one) => answer(call, () => make(call, one))
    },
  }
}

function connectionsOf({ pool }: MysqlPool): number {
  // For `mysql2`, 0 is no limit.
  return pool?.config?.connectionLimit || Number.POSITIVE_INFINITY
}

/** Returns the result of work, or throws the error that the port expects. */
async function answer<Result>(call: StorageCall, work: () => Promise<Result>): Promise<Result> {
  try {
    return await inTime(call, 'MariaDB', work)
  } catch (error) {
    throw toStorageError(error)
  }
}
