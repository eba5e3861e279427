import { cut, padded, printable, widthOf } from './terminal-text.ts'

/**
 * Returns what prints rows below a heading, page after page: aligned, with no cell wider than 64 columns, and nothing in
 * them can control the terminal. Columns get wider with the rows of a later page, and never narrower.
 */
export function tablePrinter(heading: readonly string[]): (rows: readonly (readonly string[])[]) => void {
  let widths: readonly number[] = heading.map(widthOf)
  let unprinted = [heading]
  return (rows) => {
    const cells = rows.map((row) => row.map((text) => cut(printable(text), maxCellWidth)))
    widths = columnWidths(cells, widths)
    const lines = alignedLines([...unprinted, ...cells], widths)
    unprinted = []
    if (lines.length > 0) console.log(lines.join('\n'))
  }
}

/** Wide enough for every id and key that we generate. */
const maxCellWidth = 64

/** Returns the lines of a table with a heading, aligned. The last column is as wide as its content. */
export function tableLines(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return alignedLines([heading, ...rows], columnWidths(rows, heading.map(widthOf)))
}

/** Returns how wide the columns of a table are, which are at least so wide. */
function columnWidths(rows: readonly (readonly string[])[], atLeast: readonly number[]): readonly number[] {
  return atLeast.map((width, column) => Math.max(width, ...rows.map((row) => widthOf(row[column] ?? ''))))
}

function alignedLines(rows: readonly (readonly string[])[], widths: readonly number[]): string[] {
  return rows.map((line) =>
    line
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
