import { existsSync } from 'node:fs'
import { createAdmin, type Admin, type LicenseOptions } from 'utility-api'
import { StorageError } from 'utility-api/storage'
import { UsageError } from '../terminal/command.ts'
import { isMissingPassword, isMissingTables, naming } from './database-errors.ts'
import {
  commandLimits,
  openMysql,
  openPostgres,
  openSqlite,
  type OpenDatabase,
  type TimeLimits,
} from './drivers.ts'
import { jsonOption } from '../terminal/output.ts'
import { openStorageModule } from './storage-module.ts'

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
    description: 'A module to use instead of a database: its default export returns an AdminStorage.',
  },
} as const

/** The options of every command that provisions. */
export const adminOptions: typeof databaseOptions & typeof jsonOption = { ...databaseOptions, ...jsonOption }

/** The option of every command that sets a label. */
export const nameOption = {
  name: { type: 'string', valueHint: 'TEXT', description: 'A label for people.' },
} as const

/** Where the data is, as given on the command line. */
export interface Where {
  readonly database?: string | undefined
  readonly storage?: string | undefined
}

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
    return openStorageModule(storage)
  }
  refusePassword(database)
  const name = database ?? process.env['UTILITY_API_DATABASE']
  if (name === undefined || name === '') {
    throw new UsageError('Which database? Give --database FILE, or set UTILITY_API_DATABASE.')
  }
  const source = database === undefined ? 'UTILITY_API_DATABASE' : '--database'
  // To us, both would be names of files.
  if (name === ':memory:')
    throw new UsageError(
      'A database in memory would end with the command. To try everything: utility-api dev',
    )
  if (/^file:/i.test(name)) throw new UsageError(`${source} takes the path of a file, without "file:".`)
  if (name.includes('://') && !isReadable(name)) {
    throw new UsageError(`${source} is not a valid URL. In a password, % is written as %25.`)
  }
  if (isPostgresUrl(name)) return openPostgres(name, limits)
  if (isMysqlUrl(name)) return openMysql(name, limits)
  if (name.includes('://'))
    throw new UsageError('The database must be a file or a postgres:// or mariadb:// URL.')
  if (!create && !existsSync(name)) {
    throw new Error(`There is no file ${name}. To create it: utility-api migrate --database ${name}`)
  }
  return openSqlite(name)
}

/** Opens the database, runs `work` on it, and always closes it. */
export async function withDatabase<Value>(
  where: Where & Opening,
  work: (storage: OpenDatabase['storage']) => Promise<Value>,
): Promise<Value> {
  const { storage, name, close } = await openDatabase(where)
  let result: Value
  try {
    result = await work(storage)
  } catch (error) {
    // What went wrong first is what the user needs to know.
    await close().catch(() => undefined)
    throw error instanceof StorageError ? explained(error, where, name) : error
  }
  await close()
  return result
}

/** Says what to do about missing tables or a missing password, and in other errors which database it was. */
function explained(error: StorageError, { database, storage }: Where, name: string | undefined): Error {
  if (storage === undefined && isMissingPassword(error)) {
    const message =
      'PostgreSQL asks for a password. Put the URL with its password into UTILITY_API_DATABASE, or set PGPASSWORD.'
    return new Error(message, { cause: error })
  }
  if (!isMissingTables(error)) return name === undefined ? error : naming(name, error)
  const options = Object.entries({ database, storage }).flatMap(([option, value]) =>
    value === undefined ? [] : [` --${option} ${value}`],
  )
  return new Error(`${error.message}\nTo do so: utility-api migrate${options.join('')}`, { cause: error })
}

/** Does the same for commands that provision. */
export function withAdmin<Value>(
  where: Where,
  work: (admin: Admin) => Promise<Value>,
  licenses: LicenseOptions = {},
): Promise<Value> {
  return withDatabase(where, (storage) => work(createAdmin({ storage, licenses })))
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text)
}

function isMysqlUrl(text: string): boolean {
  return /^(?:mysql|mariadb):\/\//.test(text)
}

/** Tells whether a driver can read a URL. Its own message would not say which URL it is, or would show its password. */
function isReadable(url: string): boolean {
  try {
    // PostgreSQL's URLs may leave the host out, for a socket.
    const { username, password, pathname } = new URL(url.replace('@/', '@host/'))
    decodeURIComponent(username + password + pathname)
    return true
  } catch {
    return false
  }
}

/** Refuses a password: command lines end up in shell histories and process lists. */
function refusePassword(given: string | undefined): void {
  if (given === undefined || !(isPostgresUrl(given) || isMysqlUrl(given))) return
  const url = URL.canParse(given) ? new URL(given) : null
  if (url === null) throw new UsageError('--database is not a valid URL.')
  const { password, searchParams } = url
  if (password === '' && !searchParams.has('password') && !searchParams.has('passwd')) return
  throw new UsageError(
    'A password on the command line can be read by others. Set UTILITY_API_DATABASE to the URL instead.',
  )
}
