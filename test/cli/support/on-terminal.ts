import { stripVTControlCharacters } from 'node:util'
import type { Outcome } from './cli.ts'
import { runHere } from './cli-here.ts'

/** Runs a command line as if a terminal of this width were there; gives its lines, those drawn over included, without colors. */
export async function runOnTerminal(
  args: readonly string[],
  columns: number,
): Promise<Outcome & { lines: string[] }> {
  const { stdout } = process
  const before = Object.getOwnPropertyDescriptors(stdout)
  const write = stdout.write.bind(stdout)
  Object.assign(stdout, { isTTY: true, columns, rows: 50, write: () => true })
  try {
    const outcome = await runHere(args)
    return { ...outcome, lines: stripVTControlCharacters(outcome.stdout).trimEnd().split('\n') }
  } finally {
    for (const name of ['isTTY', 'columns', 'rows'] as const) {
      const descriptor = before[name]
      if (descriptor === undefined) Reflect.deleteProperty(stdout, name)
      else Object.defineProperty(stdout, name, descriptor)
    }
    stdout.write = write
  }
}
