import { existsSync } from 'node:fs'
import { UsageError } from '../terminal/command.ts'

/** Where a database is: a SQLite file, or a server's URL. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; readonly file: string; readonly name: string }
  | { readonly kind: 'postgres' | 'mysql'; readonly url: string }

/** Where the text came from, as messages call it. */
type Source = '--database' | 'UTILITY_API_DATABASE'

/**
 * Returns the location that a text names. No message repeats the text unless it is certainly the name of a file,
 * because a mistyped URL has a password in it.
 */
export function locationOf(text: string, source: Source): DatabaseLocation {
  // To us, both would be names of files.
  if (text === ':memory:')
    throw new UsageError(
      'A database in memory would end with the command. To try everything: utility-api dev',
    )
  const [scheme] = /^(?:file|sqlite3?):/i.exec(text) ?? []
  if (scheme !== undefined)
    throw new UsageError(`${source} takes the path of a file, without "${scheme.toLowerCase()}".`)
  const kind = serverOf(text)
  if (kind !== null) {
    if (isWellFormed(text)) return { kind, url: text }
    throw new UsageError(
      `${source} is not a valid URL. In a password, % is written as %25, @ as %40, / as %2F, ? as %3F and # as %23.`,
    )
  }
  if (text.includes('://') || (isLikeConnection(text) && !existsSync(text)))
    throw new UsageError('The database must be a file or a postgres:// or mariadb:// URL.')
  return { kind: 'sqlite', file: text, name: fileName(text, source) }
}

/**
 * Returns a file's name for messages. What comes from the environment is shown only if it is certainly a file, because
 * it may be a password in the wrong place.
 */
function fileName(text: string, source: Source): string {
  const isShown = source === '--database' || existsSync(text) || /\.(?:sqlite3?|db3?)$/i.test(text)
  return isShown && !isLikeConnection(text) ? text : `the file that ${source} names`
}

function serverOf(text: string): 'postgres' | 'mysql' | null {
  if (/^postgres(?:ql)?:\/\//i.test(text)) return 'postgres'
  return /^(?:mysql|mariadb):\/\//i.test(text) ? 'mysql' : null
}

/** Tells whether a text looks like a mistyped URL, `user:password@host`, or `host=… password=…`. */
export function isLikeConnection(text: string): boolean {
  return /^[a-z][a-z\d+.-]+:|^[^:]*:.*@|(?:^|[\s;])\w+\s*=/is.test(text)
}

/**
 * Tells whether a driver reads the URL as it was meant. A password with a slash in it would become a host and a
 * database's name, which messages show.
 */
function isWellFormed(text: string): boolean {
  try {
    // PostgreSQL's URLs may leave the host out, for a socket.
    const { username, password, pathname, search, hash } = new URL(text.replace('@/', '@host/'))
    decodeURIComponent(username + password + pathname)
    return !/[@\s]/.test(pathname + search + hash) && hash === '' && !/\s/.test(text)
  } catch {
    return false
  }
}
