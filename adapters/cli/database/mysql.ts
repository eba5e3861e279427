import { mysqlStorage, type MysqlPool } from 'utility-api/storage/mysql'
import { UsageError } from '../terminal/command.ts'
import { importDriver, type OpenDatabase } from './drivers.ts'
import { redactorOf } from './redact.ts'
import type { TimeLimits } from './time-limits.ts'

interface MysqlModule {
  readonly createPool: (options: object) => MysqlPool & { end(): Promise<void> }
}

/** The storage itself limits how long a statement waits for a lock. */
export async function openMysql(uri: string, { connectMs }: TimeLimits): Promise<OpenDatabase> {
  requireMysqlOptions(uri)
  const { createPool } = (await importDriver('mysql2/promise', 'MariaDB')) as MysqlModule
  const pool = createdPool(() => createPool({ uri, connectTimeout: connectMs }))
  return { storage: mysqlStorage(pool), name: 'MariaDB', redact: redactorOf(uri), close: () => pool.end() }
}

/** What may follow the "?". The driver prints the names of others. */
const mysqlOptions: readonly string[] = [
  'ssl',
  'charset',
  'timezone',
  'connectionLimit',
  'maxIdle',
  'idleTimeout',
  'queueLimit',
  'enableKeepAlive',
  'keepAliveInitialDelay',
  'compress',
  'flags',
  'localAddress',
  'socketPath',
  'insecureAuth',
  'enableCleartextPlugin',
  'passwordSha1',
  'password2',
  'password3',
]

function requireMysqlOptions(uri: string): void {
  const { searchParams } = new URL(uri)
  if ([...searchParams.keys()].some((name) => !mysqlOptions.includes(name)))
    throw new UsageError(`In the URL, only these options can follow the "?": ${mysqlOptions.join(', ')}.`)
  // The driver would print the value, and go on with another one.
  if (!/^(?:local|Z|[ +-]\d\d:\d\d)?$/.test(searchParams.get('timezone') ?? ''))
    throw new UsageError('In the URL, the option timezone must be local, Z or an offset such as +02:00.')
}

/** The driver's own message would repeat what it cannot use. */
function createdPool<Pool>(create: () => Pool): Pool {
  try {
    return create()
  } catch (cause) {
    const message = 'The driver cannot use the options that follow the "?" in the URL: ssl, charset or flags.'
    throw new Error(message, { cause })
  }
}
