import type { ArgDef, ArgsDef } from 'citty'
import { helpTextsOf, type AnyCommand } from './command.ts'
import { styled } from './output.ts'
import { wrap } from './terminal-text.ts'

/** Returns what `--help` prints for a command. Only its examples may be wider than the terminal. */
export function helpText(command: AnyCommand, program: string, path: readonly string[]): string {
  const width = Math.min(process.stdout.columns || 80, 100)
  const { description = '' } = command.meta as { description?: string }
  const args = Object.entries((command.args ?? {}) as ArgsDef)
  const commands = Object.entries((command.subCommands ?? {}) as Record<string, AnyCommand>)
  const { examples, notes = [], rest = false } = helpTextsOf(command)
  const usage = [
    program,
    ...path,
    ...usageWords(args, rest),
    ...(commands.length > 0 ? ['COMMAND'] : []),
  ].join(' ')
  const isArgument = ([, { type }]: [string, ArgDef]): boolean => type === 'positional'
  const sections = [
    wrap(description, width).join('\n'),
    wrap(`${styled('bold', 'USAGE')} ${usage}`, width, '  ').join('\n'),
    section('ARGUMENTS', args.filter(isArgument).map(argumentRow), width),
    section('OPTIONS', args.filter((arg) => !isArgument(arg)).flatMap(optionRows), width),
    section('COMMANDS', commands.map(commandRow), width),
    ...notes.map((note) => wrap(note, width).join('\n')),
    [heading('EXAMPLES'), ...examples.map((line) => `  ${program} ${line}`)].join('\n'),
  ]
  return sections.filter((text) => text !== '').join('\n\n')
}

type Row = readonly [term: string, text: string]

/** @param rest - Whether more words of the same kind may follow the last one. */
function usageWords(args: readonly [string, ArgDef][], rest: boolean): string[] {
  const options = args.some(([, { type }]) => type !== 'positional') ? ['[OPTIONS]'] : []
  const words = args.flatMap(([name, arg]) => {
    if (arg.type !== 'positional') return arg.required === true ? [flag(name, arg)] : []
    const isOptional = arg.required === false || arg.default !== undefined
    return isOptional ? [`[${name.toUpperCase()}]`] : [name.toUpperCase()]
  })
  return [...options, ...words, ...(rest ? ['…'] : [])]
}

function argumentRow([name, arg]: [string, ArgDef]): Row {
  return [name.toUpperCase(), explained(arg)]
}

function optionRows([name, arg]: [string, ArgDef]): Row[] {
  if (arg.type !== 'boolean' || arg.default !== true) return [[flag(name, arg), explained(arg)]]
  return [[`--no-${name}`, arg.negativeDescription ?? '']]
}

function commandRow([name, command]: [string, AnyCommand]): Row {
  return [name, (command.meta as { description?: string }).description ?? '']
}

function flag(name: string, { type, valueHint }: ArgDef): string {
  return type === 'boolean' ? `--${name}` : `--${name} ${valueHint ?? 'VALUE'}`
}

function explained({ description = '', default: standard, required, type }: ArgDef): string {
  if (standard !== undefined) return `${description} Default: ${String(standard)}.`
  return required === true && type !== 'positional' ? `${description} Required.` : description
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
