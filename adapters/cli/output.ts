import { styleText } from 'node:util'

/** The option that every command with a result has. */
export const jsonOption = {
  json: { type: 'boolean', description: 'Print JSON, for programs.' },
} as const

type Style = Parameters<typeof styleText>[0]

/** Text in a colour, where a terminal shows it and nobody forbids it (NO_COLOR). */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, null, 2))
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
  return value instanceof Date ? value.toISOString() : String(value)
}

/** The lines of a table with a heading, the last column as wide as it is. */
export function tableLines(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [heading, ...rows].map(line)
}

/** Text that strangers wrote, without what would steer the terminal or turn the line around. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}
