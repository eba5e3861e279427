import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One thing that the contract says. */
export interface Statement {
  /** The number of its section. */
  readonly section: string
  readonly text: string
}

/** Returns what the contract's page says, sentence by sentence and row by row. */
export function contractStatements(): Statement[] {
  const page = readFileSync(join(import.meta.dirname, '../../docs/contract.md'), 'utf8')
  return page
    .split(/^#{1,3} /m)
    .slice(1)
    .flatMap((section) => {
      const [heading = '', ...lines] = section.split('\n')
      const number = /^[\d.]*\d/.exec(heading)?.[0] ?? ''
      return [...rowsOf(lines), ...sentencesOf(lines)].map((text) => ({ section: number, text }))
    })
}

function rowsOf(lines: readonly string[]): string[] {
  const rows = lines.filter((line) => line.startsWith('|')).map(cellsOf)
  let first = ''
  return rows.slice(2).map(([cell = '', ...rest]) => {
    // An empty cell repeats the one above.
    first = cell === '' ? first : cell
    return [first, ...rest].join(' · ')
  })
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

function sentencesOf(lines: readonly string[]): string[] {
  const prose = lines.filter((line) => line !== '' && !line.startsWith('|'))
  return prose.flatMap((line) => line.split(/(?<=\.)\s+(?=[A-Z`\d])/)).filter((text) => text !== '')
}
