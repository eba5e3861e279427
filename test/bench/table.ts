export type TableRow = Readonly<Record<string, string | number>>

/** Prints rows as a table of Markdown, which reads as well in a terminal as on a page. */
export function printTable(title: string, rows: readonly Readonly<Record<string, string | number>>[]): void {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column])))]
  const widths = columns.map((_, index) => Math.max(3, ...cells.map((line) => line[index]?.length ?? 0)))
  const isNumber = columns.map((_, index) =>
    cells.slice(1).every((line) => /^[\d.,]/.test(line[index] ?? '')),
  )
  const pad = (text: string, index: number): string =>
    isNumber[index] ? text.padStart(widths[index] ?? 0) : text.padEnd(widths[index] ?? 0)
  const rule = widths.map((width, index) => `${'-'.repeat(width - 1)}${isNumber[index] ? ':' : '-'}`)
  const lines = [...cells.slice(0, 1), rule, ...cells.slice(1)].map(
    (line) => `| ${line.map(pad).join(' | ')} |`,
  )
  console.log(`${title}\n\n${lines.join('\n')}\n`)
}
