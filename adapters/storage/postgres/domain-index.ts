import { setTimeout } from 'node:timers/promises'
import { StorageError } from 'utility-api/storage'
import { onPrimary } from './balancing.ts'
import { withConnection } from './connection.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'

/**
 * The compared form of a license's domain, or NULL if it was made for an older text, or never: a server of step 2 does
 * not know of it.
 */
export const currentForm: string = '(CASE WHEN compared_of = domain_or_ip THEN compared_domain END)'

const name = 'utility_api_licenses_domain'

/** Finds the licenses of a domain, and those whose compared form must be made anew. */
export const createDomainIndex: string = `CREATE INDEX ${name} ON utility_api_licenses (${currentForm}, seq)`

const createWhileOthersWrite = createDomainIndex.replace('INDEX', 'INDEX CONCURRENTLY')

const readState = onPrimary(
  `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('${name}')`,
)
const tryLock = onPrimary(`SELECT pg_try_advisory_lock(hashtext('${name}')) AS got`)
const unlock = onPrimary(`SELECT pg_advisory_unlock(hashtext('${name}'))`)

const limits = "FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')"
const liftLimits = onPrimary(`SELECT set_config(name, '0', false) ${limits}`)
const restoreLimits = onPrimary(`SELECT set_config(name, reset_val, false) ${limits}`)

/** How long to wait before looking again at an index that another server builds. */
const pauseMs = 100

/**
 * Builds the index on a table that may have millions of rows, while servers go on writing. Servers that start at the
 * same time build it once. Waits for transactions of others that were open before, and holds up none.
 */
export async function buildDomainIndex(pool: PostgresPool): Promise<void> {
  await withConnection(pool, async (client) => {
    // oxlint-disable-next-line no-await-in-loop -- until it is there
    while (!(await isValid(client))) if (!(await buildAlone(client))) await setTimeout(pauseMs)
  })
}

/** Builds the index unless another server does. No transaction stays open meanwhile: the other would wait for it. */
async function buildAlone(client: PostgresClient): Promise<boolean> {
  await requireOwnSession(client)
  const { rows } = await client.query(tryLock)
  const [{ got }] = rows as [{ got: boolean | string }]
  if (got !== true && got !== 't') return false
  if (!(await isValid(client))) {
    await client.query(liftLimits)
    // What a server left behind that was stopped while it built.
    await client.query(`DROP INDEX IF EXISTS ${name}`)
    await client.query(createWhileOthersWrite)
    await client.query(restoreLimits)
  }
  await client.query(unlock)
  return true
}

/**
 * Throws behind a pooler, which may send each statement over another connection: the lock would stay on one of them, and
 * all servers would wait for it. A pooler makes up the number that it tells a connection.
 */
async function requireOwnSession(client: PostgresClient): Promise<void> {
  const { rows } = await client.query(onPrimary('SELECT pg_backend_pid() AS pid'))
  const [{ pid }] = rows as [{ pid: number | bigint | string }]
  // A driver of another kind may not know its number.
  if ((client.processID ?? null) === null || Number(pid) === client.processID) return
  const message =
    'An index must be built on a table that has rows, and a pooler stands before the database: run migrate() once on a direct connection.'
  throw new StorageError('invalid', message)
}

async function isValid(client: PostgresClient): Promise<boolean> {
  const { rows } = await client.query(readState)
  const [index] = rows as { valid: boolean | string }[]
  return index?.valid === true || index?.valid === 't'
}
