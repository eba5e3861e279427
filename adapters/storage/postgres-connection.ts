import { StorageError } from 'utility-api/storage'
import type { PostgresClient, PostgresNotice, PostgresPool } from './postgres-driver.ts'

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
