import type { StorageCall } from 'utility-api/storage'
import {
  isCurrent,
  missingVersion,
  noSchema,
  oldestStep,
  requireSteps,
  type Schema,
} from '../shared/schema-version.ts'
import type { SqliteAccess } from './access.ts'
import type { SqliteDatabase } from './driver.ts'
import { steps } from './schema-steps.ts'

/**
 * Turns on the write-ahead log, which no transaction can do, and brings the tables up to date. Tells whether it changed
 * anything.
 */
export async function migrate(
  { read, write }: SqliteAccess<SqliteDatabase>,
  call: StorageCall,
): Promise<boolean> {
  const journals = await read(call, (database) => [
    ...database.prepare('PRAGMA journal_mode').all(),
    ...database.prepare('PRAGMA journal_mode = WAL').all(),
  ])
  const [before, after] = journals as { readonly journal_mode: string }[]
  const hasNewJournal = before?.journal_mode !== after?.journal_mode
  // A file that may only be read can be migrated if it is current.
  const schema = await read(call, readSchema)
  return (!isCurrent(schema, steps.length) && (await write(call, takeSteps))) || hasNewJournal
}

function takeSteps(database: SqliteDatabase): boolean {
  const schema = readSchema(database)
  if (isCurrent(schema, steps.length)) return false
  if (schema.step === 0 && hasTable(database, 'utility_api_clients')) throw missingVersion()
  for (const step of steps.slice(schema.step)) database.exec(step)
  database.exec('DELETE FROM utility_api_schema')
  database.exec(`INSERT INTO utility_api_schema (version, step) VALUES (${oldestStep}, ${steps.length})`)
  return true
}

/** Throws unless this version can work with the schema. */
export function requireSchema(database: SqliteDatabase): void {
  requireSteps(readSchema(database), steps.length)
}

function hasTable(database: SqliteDatabase, name: string): boolean {
  const row = database.prepare('SELECT 1 AS found FROM sqlite_schema WHERE name = ?').get(name)
  return isFound(row)
}

/** No row is `undefined`, and null in Bun. */
function isFound(row: unknown): boolean {
  return row !== undefined && row !== null
}

function readSchema(database: SqliteDatabase): Schema {
  if (!hasTable(database, 'utility_api_schema')) return noSchema
  const row = database.prepare('SELECT version, step FROM utility_api_schema').get()
  if (!isFound(row)) return noSchema
  const { version, step } = row as Record<keyof Schema, number | bigint>
  return { version: Number(version), step: Number(step) }
}
