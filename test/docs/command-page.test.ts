import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runHere } from '../cli/support/cli-here.ts'
import { page, renderedPage } from './command-page.ts'

test('the output on the page of the command is what the command prints; if not: vitest run -u', async () => {
  await expect(await renderedPage()).toMatchFileSnapshot(page)
})

test('every command is run on the page, and every option named', async () => {
  const text = readFileSync(page, 'utf8')
  for (const words of await allCommands()) {
    const help = (await runHere([...words, '--help'])).stdout
    expect(text).toMatch(new RegExp(`^\\$ utility-api ${words.join(' ')}\\b`, 'm'))
    for (const [, flag] of help.matchAll(/^ {2}(--[\w-]+)/gm)) expect(text).toContain(flag)
  }
})

/** The words of every command that does something. */
async function allCommands(path: readonly string[] = []): Promise<string[][]> {
  const { stdout } = await runHere([...path, '--help'])
  const [, section] = /^COMMANDS\n\n([^]*?)\n\n/m.exec(stdout) ?? []
  if (section === undefined) return [[...path]]
  const names = [...section.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name)
  const commands: string[][] = []
  // One after another: what they print is caught in one place.
  for (const name of names) commands.push(...(await allCommands([...path, name])))
  return commands
}
