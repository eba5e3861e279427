import { format, styleText } from 'node:util'

/** The option that every command with a result has. */
export const jsonOption = {
  json: { type: 'boolean', description: 'Print JSON, for programs.' },
} as const

type Style = Parameters<typeof styleText>[0]

/** Text in a color, where a terminal shows it and nobody forbids it (NO_COLOR). */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

// What would steer the terminal or turn the line around.
// oxlint-disable-next-line no-control-regex
const steering = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Prints JSON; what would steer the terminal is escaped, so the value stays the same. */
export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, null, 2).replaceAll(steering, jsonEscape))
}

// The line feeds stand between the members: those inside texts were escaped before.
function jsonEscape(character: string): string {
  return character === '\n' ? '\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Prints a log entry on standard error. */
export function printLog(level: string, message: string, fields?: object): void {
  const text = fields === undefined ? format(level, message) : format(level, message, fields)
  console.error(text.replaceAll(steering, (character) => (character === '\n' ? '\n' : '\ufffd')))
}

/** Prints one line on standard error that stays one line. */
export function printLogLine(line: string): void {
  console.error(printable(line))
}

/** The same as JSON; errors in it say what they are. */
export function printLogJson(entry: object): void {
  const text = JSON.stringify(entry, (_, value: unknown) =>
    value instanceof Error ? errorFields(value) : value,
  )
  console.error(text.replaceAll(steering, jsonEscape))
}

/** JSON holds nothing of an error by itself. */
function errorFields({ name, message, stack, cause, ...fields }: Error): object {
  const { code } = fields as { code?: unknown }
  return {
    name,
    message,
    ...(typeof code === 'string' && { code }),
    stack,
    ...(cause !== undefined && { cause }),
  }
}

/** Prints names and values in two columns, or as JSON. */
export function printFields(fields: Readonly<Record<string, unknown>>, json: boolean | undefined): void {
  if (json === true) return printJson(fields)
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields)) console.log(`${name.padEnd(width)}  ${textOf(value)}`)
}

/** Like {@link printFields}, for what is stored as a hash only; the warning leaves standard output to programs. */
export function printSecrets(fields: Readonly<Record<string, unknown>>, json: boolean | undefined): void {
  printFields(fields, json)
  console.error(styleText('dim', 'Secrets are shown this once: keep them now.', { stream: process.stderr }))
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : printable(String(value))
}

/** Prints rows below a heading: aligned, no cell wider than 64 columns, and nothing in them steers the terminal. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const cells = rows.map((row) => row.map((text) => cut(printable(text), maxCellWidth)))
  console.log(tableLines(heading, cells).join('\n'))
}

/** Wide enough for every id and key of our own making. */
const maxCellWidth = 64

/** The lines of a table with a heading, the last column as wide as it is. */
export function tableLines(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [heading, ...rows]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))))
  return lines.map((line) =>
    line
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  )
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** How many columns of a terminal a character takes. */
function columnsOf(character: string): number {
  if (/[\p{M}\p{Cf}]/u.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += columnsOf(character)
  return width
}

function cut(text: string, max: number): string {
  if (text.length <= max && widthOf(text) <= max) return text
  let kept = ''
  let width = 1
  // In characters too: those without a width of their own would go on and on.
  for (const [at, character] of [...text].entries()) {
    width += columnsOf(character)
    if (width > max || at >= max) break
    kept += character
  }
  return `${kept}…`
}

/** A time as a table shows it: nothing where there is none, or where it is not known. */
export function timeText(milliseconds: number | null): string {
  return milliseconds === null || milliseconds === 0
    ? ''
    : new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Text that strangers wrote, without what would steer the terminal. */
export function printable(text: string): string {
  return text.replaceAll(steering, '\ufffd')
}
