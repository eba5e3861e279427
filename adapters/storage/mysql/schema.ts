import { callWithin, StorageError, type StorageCall } from 'utility-api/storage'
import { withConnection } from './connection.ts'
import type { MysqlConnection, MysqlPool } from './driver.ts'
import { isDefined, isMissingTable, toStorageError } from './errors.ts'
import { requireNoTransaction, run, sessionSettings, setUp } from './session.ts'
import { inTime } from './time.ts'
import { noSchema, refuseNewer, requireSteps, type Schema } from '../shared/schema-version.ts'

/** What differs between MariaDB and MySQL. */
export interface Flavor {
  /** Compares code point by code point and does not ignore trailing spaces. */
  readonly collation: string
  /** The first statement on a lent connection. */
  readonly settings: string
}

const mariadb: Flavor = { collation: 'utf8mb4_nopad_bin', settings: sessionSettings('tx_isolation') }
const mysql: Flavor = { collation: 'utf8mb4_0900_bin', settings: sessionSettings('transaction_isolation') }

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

/** Adds the resellers that are known only from their tokens, as those that another program has inserted. */
const adoptResellers = `
  INSERT INTO utility_api_resellers (reseller_id, created_at, name)
  SELECT owner_id, min(created_at), min(name) FROM utility_api_credentials
  WHERE kind = 'reseller_token' GROUP BY owner_id
  ON DUPLICATE KEY UPDATE name = coalesce(utility_api_resellers.name, VALUES(name))`

/** The oldest step whose library works with the schema after all steps. */
const oldestStep = 1

const readSchema = 'SELECT version, step FROM utility_api_schema'
const readFlavor = 'SELECT version() AS version, @@character_set_client AS charset'
/** How long the first read of the schema may take before it is tried again. */
const schemaTimeoutMs = 2000

/** A migration takes as long as it takes. */
const patient: StorageCall = callWithin(Infinity)

// Each database of a server has its own name.
const lockName = "concat('utility_api_schema:', md5(database()))"
const takeLock = `SELECT get_lock(${lockName}, 30) AS got`

/** Brings the schema up to date. Servers that start at the same time take turns. */
export async function migrateSchema(pool: MysqlPool): Promise<void> {
  try {
    await withConnection(pool, patient, async (connection) => {
      const flavor = await flavorOf(connection)
      await setUp(connection, flavor.settings)
      const [lock] = (await run(connection, takeLock)) as { got: number | null }[]
      if (lock?.got === null)
        throw new StorageError('invalid', 'The pool has no database: name one in its URL.')
      if (lock?.got !== 1) throw new StorageError('unavailable', 'Another server is migrating the database.')
      try {
        await runSteps(connection, flavor)
      } catch (error) {
        // Gives the lock back, and ends a transaction that later writes would become part of.
        connection.destroy()
        throw error
      }
      await connection.query(`DO release_lock(${lockName})`)
    })
  } catch (error) {
    throw toStorageError(error)
  }
}

async function runSteps(connection: MysqlConnection, { collation }: Flavor): Promise<void> {
  const schema = await schemaOn(connection)
  refuseNewer(schema, steps.length)
  if (schema.step < steps.length) await takeSteps(connection, collation, schema.step)
  await connection.query(adoptResellers)
}

async function takeSteps(connection: MysqlConnection, collation: string, taken: number): Promise<void> {
  // Only here: a role that may not create tables can migrate a schema that is current.
  await connection.query(
    'CREATE TABLE IF NOT EXISTS utility_api_schema (version INT NOT NULL PRIMARY KEY, step INT NOT NULL) ENGINE = InnoDB',
  )
  const options = `ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE ${collation}`
  for (const statement of steps.slice(taken).flat())
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await takeStep(connection, statement.startsWith('CREATE TABLE') ? `${statement} ${options}` : statement)
  await connection.query('START TRANSACTION')
  await connection.query('DELETE FROM utility_api_schema')
  await connection.query(
    `INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`,
  )
  await connection.query('COMMIT')
}

/** Defines something. A column or an index that is there is from a migration that was interrupted. */
async function takeStep(connection: MysqlConnection, statement: string): Promise<void> {
  try {
    await connection.query(statement)
  } catch (error) {
    if (!isDefined(error)) throw error
  }
}

/** Throws unless this version can work with the schema. Returns which of the two databases it is. */
export function requireSchema(pool: MysqlPool): Promise<Flavor> {
  // Not limited to the time of the call that happens to be the first: others wait for the same answer.
  const call = callWithin(schemaTimeoutMs)
  return inTime(call, () => withConnection(pool, call, flavorWithSchema))
}

async function flavorWithSchema(connection: MysqlConnection): Promise<Flavor> {
  await setUp(connection, requireNoTransaction)
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
    throw error
  }
}

/** Throws if the pool's text is not utf8mb4: the server would store other characters than it was sent, and not say so. */
async function flavorOf(connection: MysqlConnection): Promise<Flavor> {
  const [row] = (await run(connection, readFlavor)) as { version: string; charset: string }[]
  if (row?.charset === 'utf8mb4') return /mariadb/i.test(row.version) ? mariadb : mysql
  const message = `The connections of the pool have the charset ${row?.charset}: leave its option charset out, or set it to utf8mb4.`
  throw new StorageError('invalid', message)
}
