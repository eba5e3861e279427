// Prints how large the house is, beside the budget that it may not exceed, and which files each operation enters. Fails
// where the budget is exceeded: it is raised in budget.json, with the reason.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface Budget {
  readonly most: number
  /** Why it was raised, the latest last. */
  readonly reasons: readonly string[]
}

const root = new URL('../../', import.meta.url)
const text = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const output = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
const tracked = output('git', 'ls-files').trim().split('\n')
const under = (folder: string, ending: string): string[] =>
  tracked.filter((path) => path.startsWith(folder) && path.endsWith(ending))

const noCode = /^\s*(?:\/\/|\*|\/\*\*?|$)/

function linesOfCode(paths: readonly string[]): number {
  return paths.flatMap((path) => text(path).split('\n')).filter((line) => !noCode.test(line)).length
}

function words(folder: string): number {
  return under(folder, '.md').flatMap((path) => text(path).match(/\S+/g) ?? []).length
}

/** What makes sentences hard to read when there is much of it. */
const habits: Readonly<Record<string, RegExp>> = {
  'clauses joined by a colon': /[\w)]: [a-z][^:\n]*?[.;]/g,
  '"its own"': /\b(?:its|of (?:your|their|our)) own\b/g,
  '"that of", "such"': /\b(?:that|those) of\b|\bsuch\b(?! as)/g,
  'pages that act': /\b[Tt](?:his|he) (?:page|section) (?:shows|says|tells|explains|describes|lists)\b/g,
}

function countOf(habit: RegExp): number {
  const pages = ['README.md', 'SECURITY.md', ...under('docs/guide/', '.md')].map(text)
  const prose = pages.map((page) => page.replaceAll(/^(`{3}|---$)[^]*?^\1$|^\|.*|`[^`\n]+`/gm, ''))
  return prose.join('\n').match(habit)?.length ?? 0
}

function packedBytes(): number {
  const [packed] = JSON.parse(output('npm', 'pack', '--dry-run', '--json', '--ignore-scripts')) as [
    { size: number },
  ]
  return packed.size
}

const code = [...under('src/', '.ts'), ...under('adapters/', '.ts')]
const library = code.filter((path) => !path.startsWith('src/testing'))
const measured: Readonly<Record<string, number>> = {
  'lines of code': linesOfCode(library),
  'lines of the testing entry': linesOfCode(code.filter((path) => !library.includes(path))),
  files: library.length,
  exports: text('test/package/exported-names.txt').match(/^ /gm)?.length ?? 0,
  options: text('docs/guide/options.md').match(/^\| `/gm)?.length ?? 0,
  'lines of tests': linesOfCode(under('test/', '.ts')),
  'words of the guide': words('docs/guide/'),
  'words of the decisions': words('docs/decisions/'),
  ...Object.fromEntries(Object.entries(habits).map(([name, habit]) => [name, countOf(habit)])),
  'packed kB': Math.ceil(packedBytes() / 1000),
}
const budget = JSON.parse(text('test/package/budget.json')) as Readonly<Record<string, Budget>>

console.log('| | now | at most |\n|---|---|---|')
for (const [name, now] of Object.entries(measured))
  console.log(`| ${name} | ${now} | ${budget[name]?.most} |`)

console.log('\n| room | files | lines of code |\n|---|---|---|')
for (const [room, paths] of Object.entries(Object.groupBy(code, roomOf)))
  console.log(`| ${room} | ${paths?.length} | ${linesOfCode(paths ?? [])} |`)

function roomOf(path: string): string {
  const [top, ...rooms] = path.split('/').slice(0, -1)
  return [top, ...rooms.slice(0, top === 'adapters' ? 2 : 1)].join('/')
}

const entered = JSON.parse(
  output('node', '--import', './test/support/sources.ts', 'test/package/files-entered.ts'),
) as Record<string, string[]>
for (const [operation, files] of Object.entries(entered))
  console.log(`\n${operation} enters ${files.length} files:\n${files.join('\n')}`)

const exceeded = Object.entries(measured).filter(([name, now]) => !(now <= (budget[name]?.most ?? -1)))
for (const [name, now] of exceeded) console.error(`${name}: ${now} of at most ${budget[name]?.most}.`)
process.exitCode = exceeded.length === 0 ? 0 : 1
