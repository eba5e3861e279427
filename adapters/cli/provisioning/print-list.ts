import { UsageError, type Values } from '../terminal/command.ts'
import { isUtilityApiError } from '../terminal/error-sentence.ts'
import { given, integer } from '../terminal/option-values.ts'
import {
  isOutputLost,
  jsonListPrinter,
  printJson,
  withTimeTexts,
  type jsonOption,
} from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { tablePrinter } from '../terminal/table.ts'
import { printable } from '../terminal/terminal-text.ts'

/** The options of every list command. */
export const pageOptions = {
  limit: { type: 'string', valueHint: 'N', description: 'How many; at most 1000. Default: 50.' },
  after: { type: 'string', valueHint: 'PLACE', description: 'Continue where the last list ended.' },
  all: { type: 'boolean', description: 'All, however many there are.' },
} as const

/** How a list becomes a table. */
export interface Columns<Row> {
  readonly heading: readonly string[]
  readonly cells: (row: Row) => string[]
}

type Page<Name extends string, Row> = Record<Name, Row[]> & { next?: string }

/** Prints a page of a list, and where the next one starts; or all pages. */
export async function printPage<Name extends string, Row extends object>(
  name: Name,
  { limit, after, all, json }: Values<typeof pageOptions & typeof jsonOption>,
  read: (page: { limit: number; after?: string }) => Promise<Page<Name, Row>>,
  columns: Columns<Row>,
): Promise<void> {
  if (all && limit !== undefined) throw new UsageError('Give either --all or --limit.')
  const size = all ? 1000 : integer('limit', limit ?? '50', 1, 1000)
  const readAt = (mark: string | undefined): Promise<Page<Name, Row>> =>
    withProgress('Reading', () => read({ limit: size, ...given({ after: mark }) }))
  const first = await readAt(after).catch((error: unknown) => {
    throw after === undefined || !isBadMark(error) ? error : badMark(after)
  })
  if (all) {
    return printAll(name, first, readAt, json ? jsonListPrinter(name) : tableOf(columns))
  }
  if (json) return printJson({ ...first, [name]: first[name].map(withTimeTexts) })
  tableOf(columns).rows(first[name])
  if (first.next !== undefined)
    console.error(`There are more: continue with --after ${shellWord(first.next)}`)
}

/** Prints a list page after page. */
interface ListPrinter<Row> {
  rows(page: readonly Row[]): void
  end(): void
}

/** Goes on from the first page to the last, or until nobody sees what is printed. */
async function printAll<Name extends string, Row>(
  name: Name,
  first: Page<Name, Row>,
  readAt: (mark: string) => Promise<Page<Name, Row>>,
  printer: ListPrinter<Row>,
): Promise<void> {
  let page = first
  printer.rows(page[name])
  while (page.next !== undefined && !isOutputLost()) {
    // Each page says where the next one starts.
    // oxlint-disable-next-line no-await-in-loop
    page = await readAt(page.next)
    printer.rows(page[name])
  }
  printer.end()
}

function tableOf<Row>({ heading, cells }: Columns<Row>): ListPrinter<Row> {
  const print = tablePrinter(heading)
  return { rows: (page) => print(page.map(cells)), end() {} }
}

function isBadMark(error: unknown): boolean {
  return isUtilityApiError(error) && error.message.startsWith('after ')
}

function badMark(after: string): UsageError {
  return new UsageError(`--after: "${printable(after)}" is not a place where a list ended.`)
}

/** Quotes a mark for the shell. It may contain an id that somebody chose, and must stay one word when pasted. */
function shellWord(text: string): string {
  return /^[\w:.@-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`
}
