import { StorageError } from 'utility-api/storage'
import { UsageError } from '../terminal/command.ts'
import { isMissingTables } from '../database/database-errors.ts'
import { given, integer } from '../terminal/option-values.ts'
import { printJson, printTable, withTimeTexts } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { printable } from '../terminal/terminal-text.ts'

/** The options of every list command. */
export const pageOptions = {
  limit: { type: 'string', default: '50', valueHint: 'N', description: 'How many; at most 1000.' },
  after: { type: 'string', valueHint: 'PLACE', description: 'Continue where the last list ended.' },
} as const

/** Which page was requested, and how to print it. */
export interface AskedPage {
  readonly limit: string
  readonly after?: string | undefined
  readonly json?: boolean | undefined
}

/** How a list becomes a table. */
export interface Columns<Row> {
  readonly heading: readonly string[]
  readonly cells: (row: Row) => string[]
}

/** Prints a page of a list, and where the next one starts. */
export async function printPage<Name extends string, Row extends object>(
  name: Name,
  { limit, after, json }: AskedPage,
  read: (page: { limit: number; after?: string }) => Promise<Record<Name, Row[]> & { next?: string }>,
  { heading, cells }: Columns<Row>,
): Promise<void> {
  const page = { limit: integer('limit', limit, 1, 1000), ...given({ after }) }
  const list = await withProgress('Reading', () => read(page)).catch((error: unknown) => {
    throw after === undefined || !isBadPlace(error) ? error : badPlace(after)
  })
  if (json === true) return printJson({ ...list, [name]: list[name].map(withTimeTexts) })
  printTable(heading, list[name].map(cells))
  if (list.next !== undefined) console.error(`There are more: continue with --after ${shellWord(list.next)}`)
}

// Missing tables are reported as invalid, too.
function isBadPlace(error: unknown): boolean {
  return error instanceof StorageError && error.kind === 'invalid' && !isMissingTables(error)
}

function badPlace(after: string): UsageError {
  return new UsageError(`--after: "${printable(after)}" is not a place where a list ended.`)
}

/** Quotes a place for the shell. It may contain an id that somebody chose, and must stay one word when pasted. */
function shellWord(text: string): string {
  return /^[\w:.@-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`
}
