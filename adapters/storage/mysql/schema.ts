import { callWithin, StorageError, type StorageCall } from 'utility-api/storage'
import { withConnection } from './connection.ts'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import {
  isDefined,
  isDuplicate,
  isInterrupted,
  isMissingDatabase,
  isMissingTable,
  lostRace,
  toStorageError,
} from './errors.ts'
import { requireNoTransaction, run, sessionSettings, setUp, transact } from './session.ts'
import { inTimeOf } from '../shared/call-time.ts'
import { noSchema, refuseNewer, requireSteps, type Schema } from '../shared/schema-version.ts'

/** What differs between MariaDB and MySQL. */
export interface Flavor {
  /** Compares code point by code point and does not ignore trailing spaces. */
  readonly collation: string
  /** The first statement on a lent connection. */
  readonly settings: string
  /** Whether the server is a node of a Galera cluster. */
  readonly isNode: boolean
}

const mariadb: Flavor = {
  collation: 'utf8mb4_nopad_bin',
  settings: sessionSettings('tx_isolation'),
  isNode: false,
}
const galera: Flavor = { ...mariadb, settings: sessionSettings('tx_isolation', true), isNode: true }
const mysql: Flavor = {
  collation: 'utf8mb4_0900_bin',
  settings: sessionSettings('transaction_isolation'),
  isNode: false,
}

/**
 * The steps from an empty database to the current schema. A step that was released never changes, and steps only add.
 * Statements that define tables commit on their own, so each statement can be repeated.
 */
const steps: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS utility_api_clients (
       client_id VARCHAR(255) NOT NULL PRIMARY KEY,
       secret_hashes VARBINARY(2048) NOT NULL,
       redirect_uris MEDIUMTEXT NOT NULL,
       created_at BIGINT NOT NULL,
       revoked_at BIGINT,
       name VARCHAR(255),
       revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
       KEY (created_at, client_id)
     )`,
    `CREATE TABLE IF NOT EXISTS utility_api_resellers (
       reseller_id VARCHAR(255) NOT NULL PRIMARY KEY,
       created_at BIGINT NOT NULL,
       name VARCHAR(255),
       KEY (created_at, reseller_id)
     )`,
    `CREATE TABLE IF NOT EXISTS utility_api_codes (
       hash BINARY(32) NOT NULL PRIMARY KEY,
       client_id VARCHAR(255) NOT NULL,
       subject VARCHAR(255),
       redirect_uri VARCHAR(2048) NOT NULL,
       scope VARCHAR(1024) NOT NULL,
       code_challenge VARCHAR(128),
       expires_at BIGINT NOT NULL,
       redeemed_at BIGINT,
       token_hash BINARY(32),
       KEY (expires_at),
       KEY (client_id),
       KEY (subject)
     )`,
    `CREATE TABLE IF NOT EXISTS utility_api_credentials (
       id VARCHAR(255) NOT NULL PRIMARY KEY,
       kind VARCHAR(16) NOT NULL,
       hash BINARY(32) NOT NULL,
       owner_id VARCHAR(255) NOT NULL,
       subject VARCHAR(255),
       scope VARCHAR(1024) NOT NULL,
       created_at BIGINT NOT NULL,
       expires_at BIGINT,
       revoked_at BIGINT,
       name VARCHAR(255),
       UNIQUE KEY (hash, kind),
       KEY (expires_at),
       KEY (owner_id),
       KEY (subject),
       KEY (kind, created_at, id)
     )`,
    `CREATE TABLE IF NOT EXISTS utility_api_licenses (
       seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
       license_key VARCHAR(128) NOT NULL,
       registered_to VARCHAR(255) NOT NULL,
       domain_or_ip VARCHAR(255) NOT NULL,
       status VARCHAR(255) NOT NULL,
       reseller_id VARCHAR(255) NOT NULL,
       created_at BIGINT NOT NULL,
       updated_at BIGINT NOT NULL,
       revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
       UNIQUE KEY (license_key),
       KEY (reseller_id, seq)
     )`,
    `CREATE TABLE IF NOT EXISTS utility_api_idempotency_keys (
       reseller_id VARCHAR(255) NOT NULL,
       key_hash BINARY(32) NOT NULL,
       request_hash BINARY(32) NOT NULL,
       license MEDIUMTEXT NOT NULL,
       expires_at BIGINT NOT NULL,
       revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
       PRIMARY KEY (reseller_id, key_hash),
       KEY (expires_at)
     )`,
  ],
  [
    'ALTER TABLE utility_api_credentials ADD COLUMN last_used_on BIGINT',
    'ALTER TABLE utility_api_licenses ADD COLUMN compared_domain VARCHAR(255)',
    'ALTER TABLE utility_api_licenses ADD COLUMN compared_of VARCHAR(255)',
    `ALTER TABLE utility_api_licenses ADD COLUMN current_domain VARCHAR(255)
     GENERATED ALWAYS AS (IF(compared_of = domain_or_ip, compared_domain, NULL)) VIRTUAL`,
    'ALTER TABLE utility_api_licenses ADD KEY current_domain (current_domain, seq)',
  ],
]

const resellersOfTokens = `
  SELECT owner_id, min(created_at), min(name) AS name FROM utility_api_credentials
  WHERE kind = 'reseller_token' GROUP BY owner_id`

/** Finds out whether there is a reseller to add. */
const findAdoptable = `
  SELECT 1 FROM (${resellersOfTokens}) AS found LEFT JOIN utility_api_resellers AS known ON reseller_id = owner_id
  WHERE reseller_id IS NULL OR known.name IS NULL AND found.name IS NOT NULL LIMIT 1`

/** Adds the resellers that are known only from their tokens, as those that another program has inserted. */
const adoptResellers = `
  INSERT INTO utility_api_resellers (reseller_id, created_at, name) ${resellersOfTokens}
  ON DUPLICATE KEY UPDATE name = coalesce(utility_api_resellers.name, VALUES(name))`

/** The oldest step whose library works with the schema after all steps. */
const oldestStep = 1

const readSchema = 'SELECT version, step FROM utility_api_schema'
/** MySQL takes for a comment what asks whether the server is a node of a Galera cluster. */
const readFlavor = `
  SELECT version() AS version, @@character_set_client AS charset /*M!100600 ,
    (SELECT variable_value FROM information_schema.global_variables WHERE variable_name = 'WSREP_ON') AS wsrep */`

/** How long the first read of the schema may take before it is tried again. */
const schemaTimeoutMs = 2000

/** A migration takes as long as it takes. */
const patient: StorageCall = callWithin(Infinity)

// Each database of a server has its own name.
const lockName = "concat('utility_api_schema:', md5(database()))"
/** The maximum number of attempts at a migration that other nodes of a cluster make at the same time. */
const maxAttempts = 12
const takeLock = `SELECT get_lock(${lockName}, 30) AS got`

/** Brings the schema up to date. Servers that start at the same time take turns. */
export async function migrateSchema(pool: MysqlPool): Promise<void> {
  try {
    await withConnection(pool, patient, { first: requireNoTransaction, work: migrateOn })
  } catch (error) {
    throw toStorageError(error)
  }
}

async function migrateOn(connection: MysqlConnection): Promise<void> {
  const flavor = await flavorOf(connection)
  await setUp(connection, flavor.settings)
  // A role that may only read can migrate a schema that is current.
  const isNewEnough = await despiteOthers(flavor, () => isCurrent(connection))
  if (!isNewEnough) await migrateAlone(connection, flavor)
  await despiteOthers(flavor, () => adopt(connection))
}

/**
 * Does its work again whenever it loses against another server. A lock of the database is local to a node of a
 * cluster: on the others, servers may take the same steps, and interrupt whatever is in their way.
 */
async function despiteOthers<T>(flavor: Flavor, work: () => Promise<T>, attempt = 1): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const hasLost = lostRace(error) || isDuplicate(error) || (flavor.isNode && isInterrupted(error))
    if (attempt === maxAttempts || !hasLost) throw error
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** Math.min(attempt + 3, 9)))
    return despiteOthers(flavor, work, attempt + 1)
  }
}

async function migrateAlone(connection: MysqlConnection, flavor: Flavor): Promise<void> {
  await takeTurn(connection)
  try {
    await despiteOthers(flavor, () => takeSteps(connection, flavor.collation))
  } catch (error) {
    // Gives the lock back, and ends a transaction that later writes would become part of.
    connection.destroy()
    throw error
  }
  await connection.query(`DO release_lock(${lockName})`)
}

/** Waits for a migration on another server, however long it takes: it builds indexes on tables of any length. */
async function takeTurn(connection: MysqlConnection): Promise<void> {
  const [lock] = (await run(connection, takeLock)) as { got: number | null }[]
  if (lock?.got === 0) return takeTurn(connection)
  if (lock?.got !== 1) throw new StorageError('unavailable', 'MariaDB gives no lock for the migration.')
}

async function isCurrent(connection: MysqlConnection): Promise<boolean> {
  const schema = await schemaOn(connection)
  refuseNewer(schema, steps.length)
  return schema.step >= steps.length
}

async function adopt(connection: MysqlConnection): Promise<void> {
  const [adoptable] = await connection.query(findAdoptable)
  if ((adoptable as unknown[]).length > 0) await connection.query(adoptResellers)
}

async function takeSteps(connection: MysqlConnection, collation: string): Promise<void> {
  const schema = await schemaOn(connection)
  refuseNewer(schema, steps.length)
  if (schema.step < steps.length) await takeStepsAfter(connection, collation, schema.step)
}

async function takeStepsAfter(connection: MysqlConnection, collation: string, taken: number): Promise<void> {
  // Only here: a role that may not create tables can migrate a schema that is current.
  await connection.query(
    'CREATE TABLE IF NOT EXISTS utility_api_schema (version INT NOT NULL PRIMARY KEY, step INT NOT NULL) ENGINE = InnoDB',
  )
  const options = `ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE ${collation}`
  for (const statement of steps.slice(taken).flat())
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await takeStep(connection, statement.startsWith('CREATE TABLE') ? `${statement} ${options}` : statement)
  await transact(connection, async () => {
    // With a condition on the key: safe updates refuse a DELETE without one.
    await connection.query('DELETE FROM utility_api_schema WHERE version >= 0')
    await connection.query(
      `INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`,
    )
  })
}

/** Defines something. A column or an index that is there is from a migration that was interrupted. */
async function takeStep(connection: MysqlConnection, statement: string): Promise<void> {
  try {
    await connection.query(statement)
  } catch (error) {
    if (!isDefined(error)) throw error
  }
}

/** Throws unless this version can work with the schema. Returns which of the databases it is. */
export async function requireSchema(pool: MysqlPool): Promise<Flavor> {
  // Not limited to the time of the call that happens to be the first: others wait for the same answer.
  const call = callWithin(schemaTimeoutMs)
  let isLent = false
  const work = (connection: MysqlConnection): Promise<Flavor> => {
    isLent = true
    return flavorWithSchema(connection)
  }
  const errand = { first: requireNoTransaction, work, reads: true }
  const flavor = await inTimeOf(call, withConnection(pool, call, errand))
  if (flavor !== undefined) return flavor
  const why = isLent ? 'the server does not answer' : 'no connection of the pool was free'
  throw new Error(`The schema could not be read within ${schemaTimeoutMs / 1000} s: ${why}.`)
}

async function flavorWithSchema(connection: MysqlConnection): Promise<Flavor> {
  // In a transaction that stays open, a migration would never be seen.
  await connection.query('SET SESSION autocommit = 1')
  requireSteps(await schemaOn(connection), steps.length)
  return flavorOf(connection)
}

async function schemaOn(connection: MysqlConnection): Promise<Schema> {
  try {
    const [schema] = (await run(connection, readSchema)) as Schema[]
    return schema ?? noSchema
  } catch (error) {
    if (isMissingTable(error)) return noSchema
    if (isMissingDatabase(error)) throw missingDatabase(error)
    throw error
  }
}

/** Throws if the pool's text is not utf8mb4: the server would store other characters than it was sent, and not say so. */
async function flavorOf(connection: MysqlConnection): Promise<Flavor> {
  const [row] = (await run(connection, readFlavor)) as { version: string; charset: string; wsrep?: string }[]
  if (row?.charset === 'utf8mb4') {
    if (!/mariadb/i.test(row.version)) return mysql
    return row.wsrep === 'ON' ? galera : mariadb
  }
  const message = `The connections of the pool have the charset ${row?.charset}: leave its option charset out, or set it to utf8mb4.`
  throw new StorageError('invalid', message)
}

function missingDatabase(cause: unknown): StorageError {
  return new StorageError('invalid', 'The pool has no database: name one in its URL.', { cause })
}
