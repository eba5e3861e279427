import { existsSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { codeBlocks } from '../code-blocks.ts'

// Runs the programs of the pages "coming from" as they stand there, and reads their tables.

const peers = new URL('../../peers/', import.meta.url)
const requirePeer = createRequire(new URL('package.json', peers))

/** Whether a library to compare with is installed. Says so if it is not. */
export function hasPeer(name: string): boolean {
  const isThere = existsSync(new URL(`node_modules/${name}/package.json`, peers))
  if (!isThere) console.log(`Skipped: programs beside ${name}; run \`npm ci\` in test/peers.`)
  return isThere
}

export type Modules = Readonly<Record<string, unknown>>
const AsyncFunction = (async () => {}).constructor as new (
  ...texts: string[]
) => (...values: unknown[]) => Promise<Record<string, never>>

/** The program of a page that begins so. */
export function programOf(page: string, start: string): string {
  const found = codeBlocks().filter(
    ({ file, text }) => file === `docs/guide/from-${page}.md` && text.startsWith(start),
  )
  expect(found).toHaveLength(1)
  return found[0]?.text ?? ''
}

/** Runs a program with these modules for its imports and these globals, and returns what it exports. */
export async function run(
  text: string,
  modules: Modules,
  globals: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, never>> {
  const load = (name: string): unknown => {
    if (!(name in modules)) throw new Error(`The program imports ${name}.`)
    return modules[name]
  }
  const exported = [...text.matchAll(/^export (?:async )?(?:function|const) (\w+)/gm)].map(([, name]) => name)
  const body = stripTypeScriptTypes(text)
    .replaceAll(/^import (\{.*\}|\w+) from '(.*)'$/gm, (_, names: string, from: string) => {
      return `const ${names.startsWith('{') ? names : `{ default: ${names} }`} = load('${from}')`
    })
    .replaceAll(/^export /gm, '')
  const program = new AsyncFunction('load', ...Object.keys(globals), `${body}\nreturn { ${exported.join()} }`)
  return program(load, ...Object.values(globals))
}

/** A package of the peers as `import` gives it. */
export async function importPeer(name: string): Promise<Record<string, never>> {
  return (await import(/* @vite-ignore */ pathToFileURL(requirePeer.resolve(name)).href)) as Record<
    string,
    never
  >
}

/** The text of a page. */
export function textOf(page: string): string {
  return readFileSync(new URL(`../../../docs/guide/from-${page}.md`, import.meta.url), 'utf8')
}

/** The rows of the table whose first header is this, as cells. */
export function tableOf(page: string, header: string): string[][] {
  const text = textOf(page)
  const [, rows = ''] = new RegExp(`^\\| ${header} +\\|.*\n\\|[ -|]*\n((?:\\|.*\n)+)`, 'm').exec(text) ?? []
  const cells = rows.trim().split('\n')
  expect(cells.length).toBeGreaterThan(3)
  return cells.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** The names in a cell that are written as code. */
export function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}
