import { existsSync } from 'node:fs'
import type { Admin, LicenseOptions } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { UsageError, type Values } from '../terminal/command.ts'
import { adviceOn, isMissingPassword, isMissingTables, naming } from './database-errors.ts'
import type { OpenDatabase } from './drivers.ts'
import { jsonOption } from '../terminal/output.ts'
import { locationOf } from './location.ts'
import type { Redact } from './redact.ts'
import { commandLimits, type TimeLimits } from './time-limits.ts'

/** The options of every command that works on a database. */
export const databaseOptions = {
  database: {
    type: 'string',
    valueHint: 'FILE',
    description:
      'SQLite file, or PostgreSQL or MariaDB URL without password. Default: UTILITY_API_DATABASE, whose URL may have a password. Drivers are searched for next to this package, then in the folder that UTILITY_API_DRIVERS names.',
  },
  storage: {
    type: 'string',
    valueHint: 'MODULE',
    description:
      'A module to use instead of a database: its default export is a function that returns an AdminStorage.',
  },
} as const

/** The options of every command that provisions. */
export const adminOptions: typeof databaseOptions & typeof jsonOption = { ...databaseOptions, ...jsonOption }

/** The option of every command that sets a label. */
export const nameOption = {
  name: { type: 'string', valueHint: 'TEXT', description: 'A label for people.' },
} as const

/** Where the data is, as given on the command line. */
export type Where = Partial<Values<typeof databaseOptions>>

/** How to open a database. */
interface Opening {
  /** Whether to create a file that does not exist. */
  readonly create?: boolean
  /** How long a server may take. */
  readonly limits?: TimeLimits
}

/** Opens what is named on the command line or in the environment. */
async function openDatabase({
  database,
  storage,
  create = false,
  limits = commandLimits,
}: Where & Opening): Promise<OpenDatabase> {
  if (storage !== undefined) {
    if (database !== undefined) throw new UsageError('Give either --database or --storage.')
    return (await import('./storage-module.ts')).openStorageModule(storage)
  }
  const text = database ?? process.env['UTILITY_API_DATABASE']
  if (text === undefined || text === '') {
    throw new UsageError('Which database? Give --database FILE or URL, or set UTILITY_API_DATABASE.')
  }
  const location = locationOf(text, database === undefined ? 'UTILITY_API_DATABASE' : '--database')
  if (location.kind === 'sqlite') {
    if (!create && !existsSync(location.file)) throw missingFile(location)
    const { openSqlite } = await import('./sqlite.ts')
    return openSqlite(location.file, location.name)
  }
  if (database !== undefined) refusePassword(location.url)
  // Each storage is loaded only where it is used.
  if (location.kind === 'postgres') return (await import('./postgres.ts')).openPostgres(location.url, limits)
  return (await import('./mysql.ts')).openMysql(location.url, limits)
}

function missingFile({ file, name }: { file: string; name: string }): Error {
  const [what, where] =
    name === file ? [name, ` --database ${name}`] : ['of the name in UTILITY_API_DATABASE', '']
  return new Error(`There is no file ${what}. To create it: utility-api migrate${where}`)
}

/** Opens the database, runs `work` on it, and always closes it. */
export async function withDatabase<Value>(
  where: Where & Opening,
  work: (storage: OpenDatabase['storage'], redact: Redact) => Promise<Value>,
): Promise<Value> {
  const opened = await openDatabase(where)
  const { storage, name, redact = () => {} } = opened
  const close = async (): Promise<void> => {
    await storage.close?.()
    await opened.close?.()
  }
  let result: Value
  try {
    result = await work(storage, redact)
  } catch (error) {
    // What went wrong first is what the user needs to know.
    await close().catch(() => undefined)
    redact(error)
    throw error instanceof StorageError ? explained(error, where, name) : error
  }
  await close().catch((error: unknown) => {
    redact(error)
    throw error
  })
  return result
}

/** Says what to do about missing tables, a missing password or missing rights, and else which database it was. */
function explained(error: StorageError, { database, storage }: Where, name: string | undefined): Error {
  if (storage === undefined && isMissingPassword(error)) {
    const message =
      'PostgreSQL asks for a password. Put the URL with its password into UTILITY_API_DATABASE, or set PGPASSWORD.'
    return new Error(message, { cause: error })
  }
  const advice = adviceOn(error)
  if (advice !== undefined) return new Error(`${error.message}\n${advice}`, { cause: error })
  if (!isMissingTables(error)) return name === undefined ? error : naming(name, error)
  return new Error(`${error.message}\nTo do so: utility-api migrate${sameOptions({ database, storage })}`, {
    cause: error,
  })
}

/** Returns the options that name the same database, without what a URL may say about its user. */
function sameOptions({ database, storage }: Where): string {
  if (storage !== undefined) return ` --storage ${storage}`
  if (database === undefined) return ''
  return database.includes('://') ? ', with the same --database' : ` --database ${database}`
}

/** Does the same for commands that provision. */
export function withAdmin<Value>(
  where: Where,
  work: (admin: Admin) => Promise<Value>,
  licenses: LicenseOptions = {},
): Promise<Value> {
  return withDatabase(where, async (storage) => {
    // Loaded here: migrate does without it.
    const { createAdmin } = await import('utility-api')
    return work(createAdmin({ storage, licenses }))
  })
}

/** Refuses a password, because command lines end up in shell histories and process lists. */
function refusePassword(url: string): void {
  const { password, searchParams } = new URL(url.replace('@/', '@host/'))
  if (password === '' && ![...searchParams.keys()].some((name) => /passw/i.test(name))) return
  throw new UsageError(
    'A password on the command line can be read by others. Set UTILITY_API_DATABASE to the URL instead.',
  )
}
