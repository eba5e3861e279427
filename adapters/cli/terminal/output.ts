import { format, styleText } from 'node:util'
import { withoutPasswords } from './passwords.ts'
import { padded, printable, printableLines, widthOf } from './terminal-text.ts'

/** The option of every command that prints a result. */
export const jsonOption = {
  json: { type: 'boolean', description: 'Print JSON, for programs.' },
} as const

let outputIsLost = false

/** Tells whether standard output has failed, so that nobody sees what is printed. */
export function isOutputLost(): boolean {
  return outputIsLost
}

/**
 * Lets the program survive a full disk or a closed pipe behind its output, which would otherwise end it in the middle of
 * its work. A lost log entry is no failure; a lost result, such as a new secret, is one.
 */
export function surviveLostOutput(): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (outputIsLost) return
    outputIsLost = true
    process.once('exit', () => (process.exitCode = 1))
    // Who closed a pipe, as `head` does, has seen enough.
    if (code !== 'EPIPE') console.error(`The output could not be written: ${message}`)
  })
}

type Style = Parameters<typeof styleText>[0]

/** Styles text if it goes to a terminal and nothing forbids it (NO_COLOR). */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Returns how many columns there are to print on: Infinity if the output is not a terminal. */
export function columns(): number {
  // Some terminals report that they have none.
  return process.stdout.isTTY ? process.stdout.columns || 80 : Infinity
}

/** Prints JSON. Characters that would control the terminal are escaped, so the value stays the same. */
export function printJson(value: unknown): void {
  // The line feeds are between members, because those inside strings are already escaped.
  console.log(printableLines(JSON.stringify(value, null, 2)))
}

/**
 * Returns what prints a list as JSON, page after page, as if all of it were printed at once, because there may be
 * millions of rows, which fit in no memory.
 */
export function jsonListPrinter(name: string): { rows(page: readonly object[]): void; end(): void } {
  const head = `{\n  ${JSON.stringify(name)}: [`
  // Kept until it is known whether a comma follows.
  let last = ''
  return {
    rows(page) {
      if (page.length === 0) return
      console.log(last === '' ? head : `${last},`)
      const text = JSON.stringify(page.map(withTimeTexts), null, 2)
      last = printableLines(text.slice(2, -2).replaceAll(/^/gm, '  '))
    },
    end() {
      console.log(last === '' ? `${head}]\n}` : `${last}\n  ]\n}`)
    },
  }
}

/** Returns a stored row with its times as text, as the commands that create print them. */
export function withTimeTexts(row: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [name, withTimeText(name, value)]),
  )
}

function withTimeText(name: string, value: unknown): unknown {
  if (typeof value !== 'number') return value
  if (name.endsWith('On')) return dayText(value)
  return name.endsWith('At') ? jsonTime(value) : value
}

function jsonTime(milliseconds: number): string | number {
  const date = new Date(milliseconds)
  // What another program has inserted may be beyond the last date.
  return Number.isNaN(date.getTime()) ? milliseconds : date.toISOString()
}

/** Prints a log entry on standard error. */
export function printLog(level: string, message: string, fields?: object): void {
  const text = fields === undefined ? format(level, message) : format(level, message, fields)
  console.error(printableLines(withoutPasswords(text)))
}

/** Prints one line on standard error, and keeps it on one line. */
export function printLogLine(line: string): void {
  console.error(printable(line))
}

/** Prints an entry on standard error as one line of JSON, with the details of its errors. */
export function printLogJson(entry: object): void {
  const text = JSON.stringify(entry, (_, value: unknown) =>
    value instanceof Error ? errorFields(value) : value,
  )
  console.error(printable(text))
}

/** Returns the fields of an error, which JSON would leave out. */
function errorFields({ name, message, stack, cause, ...fields }: Error): object {
  const { code } = fields as { code?: unknown }
  return {
    name,
    message: withoutPasswords(message),
    ...(typeof code === 'string' && { code }),
    ...(stack !== undefined && { stack: withoutPasswords(stack) }),
    ...(cause !== undefined && { cause }),
  }
}

/** Prints names and values in two columns, without those that are null, or as JSON. */
export function printFields(fields: Readonly<Record<string, unknown>>, json: boolean): void {
  if (json) return printJson(fields)
  const told = Object.entries(fields).filter(([, value]) => value !== null)
  const width = Math.max(...told.map(([name]) => widthOf(name)))
  for (const [name, value] of told) console.log(`${padded(name, width)}  ${textOf(value)}`)
}

/**
 * Prints like {@link printFields}, for secrets that are stored only as hashes. The warning leaves standard output to
 * programs.
 */
export function printSecrets(fields: Readonly<Record<string, unknown>>, json: boolean): void {
  printFields(fields, json)
  console.error(styleText('dim', 'Secrets are shown only once: save them now.', { stream: process.stderr }))
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : printable(String(value))
}

/** Formats a day. Returns an empty string if there is none. */
export function dayText(milliseconds: number | null): string {
  return timeText(milliseconds).slice(0, 10)
}

/** Formats a time for a table. Returns an empty string if there is no time. */
export function timeText(milliseconds: number | null): string {
  return milliseconds === null ? '' : String(jsonTime(milliseconds)).replace(/\.\d+Z$/, 'Z')
}
