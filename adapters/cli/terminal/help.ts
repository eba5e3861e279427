import { isRequired, shownName } from './arguments.ts'
import type { AnyCommand, ArgDef } from './command.ts'
import { styled } from './output.ts'
import { wrap } from './terminal-text.ts'

/** Returns what `--help` prints for a command. Only its examples may be wider than the terminal. */
export function helpText(command: AnyCommand, words: readonly string[]): string {
  const width = Math.min(process.stdout.columns || 80, 100)
  const { description = '', args = {}, commands = {}, notes = [], examples } = command
  const all = Object.entries(args)
  const sections = [
    wrap(description, width).join('\n'),
    wrap(`${styled('bold', 'USAGE')} ${usageOf(command, words)}`, width, '  ').join('\n'),
    section('ARGUMENTS', all.filter(isWord).map(argumentRow), width),
    section('OPTIONS', all.filter((arg) => !isWord(arg)).map(argumentRow), width),
    section(
      'COMMANDS',
      Object.entries(commands).map(([name, each]) => [name, each.description ?? '']),
      width,
    ),
    ...notes.map((note) => wrap(note, width).join('\n')),
    [heading('EXAMPLES'), ...examples.map((line) => `  ${words[0]} ${line}`)].join('\n'),
  ]
  return sections.filter((text) => text !== '').join('\n\n')
}

type Arg = readonly [name: string, def: ArgDef]
type Row = readonly [term: string, text: string]

function isWord([, { type }]: Arg): boolean {
  return type === 'positional'
}

function usageOf({ args = {}, commands, rest = false }: AnyCommand, words: readonly string[]): string {
  const all = Object.entries(args)
  const options = all.filter((arg) => !isWord(arg))
  return [
    ...words,
    ...(options.length > 0 ? ['[OPTIONS]'] : []),
    ...options.filter(([, def]) => isRequired(def)).map(termOf),
    ...all.filter(isWord).map((arg) => (isRequired(arg[1]) ? termOf(arg) : `[${termOf(arg)}]`)),
    ...(rest ? ['…'] : []),
    ...(commands === undefined ? [] : ['COMMAND']),
  ].join(' ')
}

function termOf([name, def]: Arg): string {
  return def.type === 'string' ? `--${name} ${def.valueHint}` : shownName(name, def)
}

function argumentRow(arg: Arg): Row {
  const [, def] = arg
  if (def.type === 'boolean') return [termOf(arg), def.description]
  const standard = def.default === undefined ? '' : ` Default: ${def.default}.`
  const required = def.type === 'string' && isRequired(def) ? ' Required.' : ''
  return [termOf(arg), def.description + standard + required]
}

function heading(title: string): string {
  return `${styled('bold', title)}\n`
}

/** Formats rows in two columns, or with each text below its term if the columns would be too narrow. */
function section(title: string, rows: readonly Row[], width: number): string {
  if (rows.length === 0) return ''
  const column = Math.max(...rows.map(([term]) => term.length)) + 4
  const isNarrow = width - column < 30
  const lines = rows.flatMap(([term, text]) => {
    if (isNarrow) return [`  ${term}`, ...wrap(`      ${text}`, width, '      ')]
    return wrap(`  ${term}`.padEnd(column) + text, width, ' '.repeat(column))
  })
  return [heading(title), ...lines].join('\n')
}
