import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/** What a driver throws when the connection is gone. */
export class ConnectionLost extends Error {}

/** A connection to a server of {@link startServer}. */
export interface Connection {
  all(sql: string, ...values: SQLInputValue[]): Promise<object[]>
  /** How many rows were found to change. */
  run(sql: string, ...values: SQLInputValue[]): Promise<number>
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  release(): void
}

/** A database server in this process: transactions take turns, replies take a moment, connections are few and can be cut. */
export interface OwnServer {
  connect(): Promise<Connection>
  /** The same server by a way that is not cut. */
  direct(): OwnServer
  /** Drops the reply after so many more, and the connection that waits for it, once. */
  cutAfter(replies: number): void
  /** All rows as they are now, for a reader that goes on seeing them so. */
  copy(): OwnServer
  /** Answers nobody any more. */
  end(): void
}

const connections = 4
const acquireTimeoutMs = 2000

export function startServer(schema: string, rows: DatabaseSync | null = null): OwnServer {
  const database = new DatabaseSync(':memory:')
  database.exec(schema)
  if (rows !== null) copyRows(rows, database)
  let turn = Promise.resolve()
  let left = Infinity
  let ended = false
  let free = connections
  const waiting: (() => void)[] = []

  async function takeTurn(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = turn
    turn = promise
    await before
    return resolve
  }

  /** Waits its turn for a connection, as long as pools do. */
  function nextFree(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.push(resolve)
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(resolve), 1)
      reject(new ConnectionLost('No connection came free.'))
    }, acquireTimeoutMs)
    return promise.finally(() => clearTimeout(timer))
  }

  async function connect(counted: boolean): Promise<Connection> {
    await Promise.resolve()
    if (free > 0) free -= 1
    else await nextFree()
    let lost = false
    let endTurn: (() => void) | null = null

    async function ask<Answer>(work: () => Answer): Promise<Answer> {
      await Promise.resolve()
      if (lost || ended) throw new ConnectionLost('The connection is lost.')
      const doneAlone = endTurn === null ? await takeTurn() : null
      try {
        const answer = work()
        if (counted) left -= 1
        if (left >= 0) return answer
        left = Infinity
        lost = true
        leaveTransaction()
        throw new ConnectionLost('The connection was cut.')
      } finally {
        doneAlone?.()
      }
    }
    function leaveTransaction(): void {
      if (endTurn === null) return
      if (database.isTransaction) database.exec('ROLLBACK')
      endTurn()
      endTurn = null
    }
    return {
      all: (sql, ...values) => ask(() => database.prepare(sql).all(...values)),
      run: (sql, ...values) => ask(() => Number(database.prepare(sql).run(...values).changes)),
      async begin() {
        endTurn = await takeTurn()
        await ask(() => database.exec('BEGIN'))
      },
      async commit() {
        await ask(() => database.exec('COMMIT'))
        leaveTransaction()
      },
      rollback: async () => leaveTransaction(),
      release() {
        leaveTransaction()
        const next = waiting.shift()
        if (next === undefined) free += 1
        else next()
      },
    }
  }
  const server = {
    connect: () => connect(true),
    direct: () => ({ ...server, connect: () => connect(false) }),
    cutAfter: (replies: number) => (left = replies),
    copy: () => startServer(schema, database),
    end: () => (ended = true),
  }
  return server
}

function copyRows(from: DatabaseSync, to: DatabaseSync): void {
  const tables = from.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
    name: string
  }[]
  for (const { name } of tables.filter((table) => !table.name.startsWith('sqlite_')))
    for (const row of from.prepare(`SELECT * FROM ${name}`).all()) {
      const places = Object.keys(row).map(() => '?')
      to.prepare(`INSERT INTO ${name} (${Object.keys(row).join()}) VALUES (${places.join()})`).run(
        ...Object.values(row),
      )
    }
}
