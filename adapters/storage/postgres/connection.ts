import { StorageError } from 'utility-api/storage'
import { within } from '../shared/call-time.ts'
import { performance } from '../shared/timers.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'

/** The routine in which a server waits for its standbys to confirm a commit. */
const commitWait = 'SyncRepWaitForLSN'

const guarded = new WeakSet<PostgresPool>()
const watched = new WeakSet<PostgresClient>()
/** The connections whose server has reported that no standby confirmed a commit. */
const unconfirmed = new WeakSet<PostgresClient>()
/** When each connection was last given back, sound. Those that were never lent are new. */
const lastUsed = new WeakMap<PostgresClient, number>()
const ended = new WeakSet<PostgresClient>()
/** The encoding of the connections on which the host has changed it. */
const encodings = new WeakMap<PostgresClient, string>()

/** How long a connection that nobody used may take to answer. One that was cut silently never does. */
const probeTimeoutMs = 1000

/**
 * Prevents connections that break from ending the process: idle ones, if nobody else listens, and new ones in the turn
 * in which the pool lends them. A connection can end in the same packet in which it begins, and then its error is
 * emitted before the promise of `connect` resolves.
 */
export function guardConnections(pool: PostgresPool): void {
  if (guarded.has(pool)) return
  guarded.add(pool)
  if (pool.listenerCount?.('error') === 0) pool.on?.('error', ignore)
  pool.on?.('connect', watch)
}

/** Listens to a connection for as long as it exists. Starting and stopping with each statement would cost more. */
function watch(client: PostgresClient): void {
  if (watched.has(client)) return
  watched.add(client)
  // Without a listener, a connection that breaks while we have it would end the process.
  client.on('error', () => ended.add(client))
  client.on('end', () => ended.add(client))
  client.on('notice', ({ routine }) => {
    if (routine === commitWait) unconfirmed.add(client)
  })
  client.connection?.on('parameterStatus', ({ parameterName, parameterValue }) => {
    if (parameterName === 'client_encoding') encodings.set(client, parameterValue)
  })
}

/**
 * Takes a connection of the pool that has worked since this time, or is new. Another one must answer first, because
 * what stands between may have cut it while it was idle. If it does not, those idle as long are closed unasked.
 */
async function take(pool: PostgresPool, workedSince: number, mayAsk = true): Promise<PostgresClient> {
  const client = await pool.connect()
  // The pool may have opened this connection before we listened to it.
  watch(client)
  const usedAt = lastUsed.get(client)
  if (usedAt === undefined || hasTransaction(client)) return client
  if (!ended.has(client) && (usedAt >= workedSince || (mayAsk && (await answers(client))))) return client
  lastUsed.delete(client)
  client.release(true)
  return take(pool, mayAsk ? performance.now() : workedSince, false)
}

async function answers(client: PostgresClient): Promise<boolean> {
  try {
    return (await within(probeTimeoutMs, client.query('SELECT 1'))) !== undefined
  } catch {
    return false
  }
}

/**
 * Lends a connection to `work`: one that has worked since a time, is new, or answers. After an error, the connection is
 * closed, and the pool opens another, unless `isSound` says there is no need.
 *
 * When the wait for standbys is canceled, by an administrator or a shutdown, PostgreSQL commits on the primary alone,
 * warns, and reports success; a failover then loses what was acknowledged. The warning is therefore an error here.
 */
export async function withConnection<Result>(
  pool: PostgresPool,
  work: (client: PostgresClient) => Promise<Result>,
  isSound: (error: unknown) => boolean = () => false,
  workedSince: number = Number.NEGATIVE_INFINITY,
): Promise<Result> {
  const client = await take(pool, workedSince)
  // Notices about what the host did with it before are for the host.
  unconfirmed.delete(client)
  let broken = false
  try {
    requireOurs(client)
    const result = await work(client)
    // Before it, the server may not have answered what the host had sent and not waited for.
    requireOurs(client)
    if (unconfirmed.has(client))
      throw new StorageError('unavailable', 'PostgreSQL: no standby has confirmed the commit.')
    return result
  } catch (error) {
    broken = !isSound(error) || hasTransaction(client) || encodingOf(client) !== spoken
    throw error
  } finally {
    if (!broken) lastUsed.set(client, performance.now())
    client.release(broken)
  }
}

/** Throws if the host has left the connection in a state in which what we write is lost, or stored as another text. */
function requireOurs(client: PostgresClient): void {
  requireNoTransaction(client)
  requireSpoken(encodingOf(client))
}

/**
 * Throws if the host has left a transaction open, because what we write would be part of it, and undone with it. A
 * driver that does not tell is refused, because writes would be lost without an error.
 */
function requireNoTransaction(client: Partial<PostgresClient>): void {
  if (client.getTransactionStatus === undefined) {
    const message =
      "The driver does not tell whether a transaction is open (a client's getTransactionStatus()): use pg 8.21 or newer."
    throw new StorageError('invalid', message)
  }
  if (!hasTransaction(client)) return
  const message = 'A transaction of the host program is open on a connection that the pool has lent.'
  throw new StorageError('bug', message)
}

function hasTransaction(client: Partial<PostgresClient>): boolean {
  return client.getTransactionStatus?.() !== 'I'
}

/** The only encoding that `pg` speaks. It asks for it when it connects. */
const spoken = 'UTF8'

function encodingOf(client: PostgresClient): string {
  return encodings.get(client) ?? spoken
}

/** Throws if the server takes what it is sent for text in another encoding, because it would store other characters. */
export function requireSpoken(encoding: string = spoken): void {
  if (encoding === spoken) return
  const message = `The host program has set client_encoding to ${encoding} on a connection of the pool: leave it at ${spoken}.`
  throw new StorageError('invalid', message)
}

function ignore(): void {}
