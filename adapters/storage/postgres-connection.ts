import { StorageError } from 'utility-api/storage'
import type { PostgresClient, PostgresPool } from './postgres-driver.ts'

/** Where a server waits for its standbys to confirm a commit. */
const commitWait = 'SyncRepWaitForLSN'

const guarded = new WeakSet<PostgresPool>()
const watched = new WeakSet<PostgresClient>()
/** Those whose server has said that no standby has confirmed a commit. */
const unconfirmed = new WeakSet<PostgresClient>()

/**
 * Keeps connections that break unheard from ending the process: idle ones, where nobody else listens, and new ones in the
 * turn in which the pool lends them. Their end can come in the same packet as their beginning, and then it is told before
 * the promise of `connect` has told of them.
 */
export function guardConnections(pool: PostgresPool): void {
  if (guarded.has(pool)) return
  guarded.add(pool)
  if (pool.listenerCount?.('error') === 0) pool.on?.('error', ignore)
  pool.on?.('connect', watch)
}

/** Listens to a connection for as long as there is one: to begin and to end it with each statement would cost more. */
function watch(client: PostgresClient): void {
  if (watched.has(client)) return
  watched.add(client)
  // Without a listener, a connection that breaks while we have it would end the process.
  client.on('error', ignore)
  client.on('notice', ({ routine }) => {
    if (routine === commitWait) unconfirmed.add(client)
  })
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
  // One that the pool had before we knew of it.
  watch(client)
  // What the host did with it before is the host's to hear.
  unconfirmed.delete(client)
  let broken = false
  try {
    const result = await work(client)
    if (unconfirmed.has(client))
      throw new StorageError('unavailable', 'PostgreSQL: no standby has confirmed the commit.')
    return result
  } catch (error) {
    broken = !isSound(error)
    throw error
  } finally {
    client.release(broken)
  }
}

function ignore(): void {}
