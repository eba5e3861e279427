import { StorageError } from 'utility-api/storage'

/**
 * The slice of a `pg` Pool that is used.
 *
 * @group Storage
 */
export interface PostgresPool {
  /** `max`: how many connections it opens; three quarters of them serve writes, all of them reads. */
  readonly options: { readonly max: number }
  /** Lends a connection. */
  connect(): Promise<PostgresClient>
  /** Listens for errors of idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  /** Listens for new connections, in the moment before they are lent. */
  on?(event: 'connect', listener: (client: PostgresClient) => void): unknown
  /** How many listen for errors already. */
  listenerCount?(event: 'error'): number
}

/**
 * The slice of a `pg` client that is used.
 *
 * @group Storage
 */
export interface PostgresClient {
  /** Runs one statement with its values, or SQL of several. */
  query(statement: PostgresStatement | string): Promise<PostgresResult>
  /** Gives the connection back; `true` closes it. */
  release(destroy?: boolean): void
  /** Listens for errors of the connection while it is lent. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Listens for the server's notices: a commit that no standby confirmed succeeds with one. */
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown
  /** Stops listening. */
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** Stops listening. */
  removeListener(event: 'notice', listener: (notice: PostgresNotice) => void): unknown
}

/**
 * What the server says beside its answer.
 *
 * @group Storage
 */
export interface PostgresNotice {
  /** The function in the server that says it; its text is translated. */
  readonly routine?: string | undefined
}

/**
 * A statement with its values; `name` makes a connection prepare it once.
 *
 * @group Storage
 */
export interface PostgresStatement {
  /** Name of the prepared statement. */
  readonly name: string
  /** SQL with `$1`, `$2` … */
  readonly text: string
  /** The values of `$1`, `$2` … */
  readonly values: unknown[]
}

/**
 * What a statement brought.
 *
 * @group Storage
 */
export interface PostgresResult {
  /** The rows returned, by column name. */
  readonly rows: unknown[]
  /** How many rows were returned or changed. */
  readonly rowCount: number | null
}

/** Where a server waits for its standbys to confirm a commit. */
const commitWait = 'SyncRepWaitForLSN'

const guarded = new WeakSet<PostgresPool>()

/**
 * Keeps connections that break unheard from ending the process: idle ones, where nobody else listens, and new ones in the
 * turn in which the pool lends them. Their end can come in the same packet as their beginning, and then it is told before
 * the promise of `connect` has told of them.
 */
export function guardConnections(pool: PostgresPool): void {
  if (guarded.has(pool)) return
  guarded.add(pool)
  if (pool.listenerCount?.('error') === 0) pool.on?.('error', ignore)
  pool.on?.('connect', (client) => client.on?.('error', ignore))
}

/**
 * Lends a connection for a while. After an error it is closed, and the pool opens another, unless `isSound` says no need.
 *
 * When the wait for standbys is canceled, by an administrator or a shutdown, PostgreSQL commits on the primary alone, warns,
 * and answers success; a failover then loses what was acknowledged. So the warning is an error here.
 */
export async function withConnection<Result>(
  pool: PostgresPool,
  work: (client: PostgresClient) => Promise<Result>,
  isSound: (error: unknown) => boolean = () => false,
): Promise<Result> {
  const client = await pool.connect()
  let unconfirmed = false
  let broken = false
  function heed({ routine }: PostgresNotice): void {
    if (routine === commitWait) unconfirmed = true
  }
  // Without a listener, a connection that breaks while we have it would end the process.
  client.on('error', ignore)
  client.on('notice', heed)
  try {
    const result = await work(client)
    if (unconfirmed) throw new StorageError('unavailable', 'PostgreSQL: no standby has confirmed the commit.')
    return result
  } catch (error) {
    broken = !isSound(error)
    throw error
  } finally {
    client.removeListener('error', ignore)
    client.removeListener('notice', heed)
    client.release(broken)
  }
}

function ignore(): void {}
