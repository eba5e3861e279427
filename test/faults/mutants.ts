// npm run faults -- mutants: which small changes of the sources does no test notice? MUTANTS says how many are tried, SEED which,
// ONLY keeps those whose key contains it. After MINUTES no other is begun, and FROM goes on later. mutants/argued.json has
// those that no test can notice, and why.
//
// Tests run in a copy. At first nothing is changed, and it is noted which test files come to the place of which mutant. With a
// mutant, these alone run: those of its room, the quick ones, and the others. At last everything runs unchanged again.
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { quick } from '../../vitest.config.ts'
import { allMutants, drawn, type Mutant } from './mutants/make.ts'
import { typeChecker } from './mutants/types.ts'

interface Run {
  /** The first test that failed, if any did. */
  readonly failed: string | undefined
  readonly failedFiles: readonly string[]
  readonly hung: boolean
  /** Milliseconds by test file. */
  readonly times: Readonly<Record<string, number>>
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly startTime: number
    readonly endTime: number
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

const { MUTANTS = '300', SEED = '1', ONLY = '', FROM = '1', MINUTES = 'Infinity' } = process.env
const root = process.cwd()
const folder = mkdtempSync(join(tmpdir(), 'utility-api-mutants-'))
const copy = join(folder, 'copy')
const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()
const projectOf = (file: string): string => (file.endsWith('.long.test.ts') ? 'long' : 'short')
const roomOf = (file: string): string => `test/${file.split('/', 2)[1]}`

const stages = ['types', 'room', 'quick', 'all', 'time', 'lives'] as const
type Stage = (typeof stages)[number]
const quickFiles = new Set(quick.flatMap((pattern) => globSync(pattern)))
/** What npm test leaves out, and without which nothing tests the store for MariaDB. */
const mysqlFiles = globSync('test/storage/mysql*.long.test.ts')

const argued = JSON.parse(readFileSync('test/faults/mutants/argued.json', 'utf8')) as Record<string, string>
const all = allMutants()
const chosen = all.filter(({ key }) => key.includes(ONLY))
const tried = drawn(chosen, SEED).slice(Number(FROM) - 1, Number(MUTANTS))
const counts: Record<string, Partial<Record<Stage, number>>> = {}
let wrong = 0
let compiles: ReturnType<typeof typeChecker> | undefined

try {
  makeCopy()
  process.chdir(copy)
  const { reached, times } = findReached()
  for (const [index, mutant] of tried.entries()) {
    if (performance.now() > Number(MINUTES) * 60_000) break
    const files = (reached[index] ?? []).toSorted((one, other) => (times[one] ?? 0) - (times[other] ?? 0))
    const { stage, failed } = tryMutant(mutant, files, times)
    const count = (counts[mutant.kind] ??= {})
    count[stage] = (count[stage] ?? 0) + 1
    const why = mutant.key in argued ? `argued: ${argued[mutant.key]}` : failed
    console.log(`${index + Number(FROM)}. ${stage}: ${mutant.kind}, ${mutant.key}${why && `\n   ${why}`}`)
    if ((stage === 'lives') !== mutant.key in argued) wrong += 1
  }
  runAll()
} finally {
  process.chdir(root)
  git('worktree', 'remove', '--force', copy)
  rmSync(folder, { recursive: true })
}
console.log(
  `\n| of ${all.length}, seed ${SEED} | ${stages.join(' | ')} |\n|---|${'---|'.repeat(stages.length)}`,
)
for (const [kind, count] of Object.entries(counts))
  console.log(`| ${kind} | ${stages.map((stage) => count[stage] ?? 0).join(' | ')} |`)
console.log(`\nNeither noticed nor argued, or both: ${wrong}`)
if (wrong > 0) process.exitCode = 1

function makeCopy(): void {
  // With what is not committed.
  git('worktree', 'add', '--detach', copy, git('stash', 'create') || 'HEAD')
  const ignored = git('ls-files', '--others', '--ignored', '--exclude-standard', '--directory').split('\n')
  for (const modules of ignored.filter((path) => path.endsWith('node_modules/'))) {
    mkdirSync(join(copy, modules))
    for (const entry of readdirSync(modules, { withFileTypes: true })) {
      // Caches are not shared, and a link to a package of the repository leads to the copy's.
      if (entry.name.startsWith('.') && entry.name !== '.bin') continue
      const path = resolve(modules, entry.name)
      symlinkSync(entry.isSymbolicLink() ? readlinkSync(path) : path, join(copy, modules, entry.name))
    }
  }
  symlinkSync(resolve('dist'), join(copy, 'dist'))
}

/** Runs everything unchanged but for notes, and returns the test files that come to the place of each mutant. */
function findReached(): { reached: (readonly string[])[]; times: Run['times'] } {
  for (const [file, mutants = []] of Object.entries(Object.groupBy(tried, (mutant) => mutant.file))) {
    const notes = mutants.flatMap((mutant) => [
      { at: mutant.probe.end, note: ')' },
      { at: mutant.probe.start, note: `(globalThis.mutantReached?.(${tried.indexOf(mutant)}), ` },
    ])
    let text = readFileSync(file, 'utf8')
    // From the end, so that each place is still where it was.
    for (const { at, note } of notes.toSorted((one, other) => other.at - one.at))
      text = text.slice(0, at) + note + text.slice(at)
    writeFileSync(file, text)
  }
  const noting = `\nimport { noteReached } from ${JSON.stringify(resolve('test/faults/mutants/reached.ts'))}\n`
  const testFile = `(await import('vitest')).expect.getState().testPath`
  appendFileSync('test/support/restore.ts', `${noting}noteReached(${JSON.stringify(folder)}, ${testFile})\n`)
  appendFileSync('test/support/sources.ts', `${noting}noteReached(${JSON.stringify(folder)})\n`)
  const times = runAll(() => git('checkout', '--quiet', '.'))
  const files = tried.map(() => new Set<string>())
  for (const line of readFileSync(join(folder, 'reached'), 'utf8').trim().split('\n')) {
    const [index, path = ''] = line.split(' ')
    files[Number(index)]?.add(path.slice(copy.length + 1))
  }
  // Test files share processes, and only the first of each is seen loading a module.
  const reached = tried.map(({ file, atLoad }, index) =>
    Object.keys(times).filter((path) => files[index]?.has(path) || (atLoad && path.startsWith(roomOf(file)))),
  )
  return { reached, times }
}

/**
 * Runs everything, and what fails once more, alone and without notes: it may have read the sources, or waited for a busy
 * machine. What still fails would say nothing of a mutant.
 */
function runAll(removeNotes = (): unknown => undefined): Run['times'] {
  const runs = [run('short', [], 3600), run('long', mysqlFiles, 3600)]
  removeNotes()
  for (const { failed, failedFiles } of runs) {
    if (failed === undefined) continue
    console.log(`Without a mutant, a test failed: ${failed}. Once more: ${failedFiles.join(' ')}`)
    const again = failedFiles.map((file) => run(projectOf(file), [file], 600).failed)
    if (again.length === 0 || again.some((each) => each !== undefined))
      throw new Error(`Without a mutant, a test fails: ${again.join(' ') || failed}`)
  }
  return Object.assign({}, ...runs.map(({ times }) => times)) as Run['times']
}

/** Runs test files, the fastest first, until one notices a mutant. */
function tryMutant(
  { file, start, end, text }: Mutant,
  files: readonly string[],
  times: Run['times'],
): { readonly stage: Stage; readonly failed: string } {
  const source = readFileSync(file, 'utf8')
  const changed = source.slice(0, start) + text + source.slice(end)
  compiles ??= typeChecker()
  if (!compiles(file, changed)) return { stage: 'types', failed: '' }
  const staged = Object.groupBy(files, (each) =>
    each.startsWith(roomOf(file)) ? 'room' : quickFiles.has(each) ? 'quick' : 'all',
  )
  writeFileSync(file, changed)
  try {
    for (const stage of ['room', 'quick', 'all'] as const) {
      for (const [project, some = []] of Object.entries(Object.groupBy(staged[stage] ?? [], projectOf))) {
        // Vitest begins with the slowest, and does not end a hook that waits for a database.
        const half = Math.ceil(some.length / 2)
        for (const part of [some.slice(0, half), some.slice(half)]) {
          if (part.length === 0) continue
          const usual = part.reduce((sum, each) => sum + (times[each] ?? 0), 0)
          const { failed, hung } = run(project, ['--bail=1', ...part], 90 + usual / 250)
          if (failed !== undefined) return { stage: hung ? 'time' : stage, failed }
        }
      }
    }
  } finally {
    writeFileSync(file, source)
  }
  return { stage: 'lives', failed: files.length === 0 ? 'No test comes there.' : '' }
}

function run(project: string, args: readonly string[], seconds: number): Run {
  const file = join(folder, 'report.json')
  const output = ['--reporter=json', `--outputFile=${file}`]
  rmSync(file, { force: true })
  // This program ends all processes of a run that hangs.
  const limit = ['--signal=INT', '--kill-after=10', `${seconds}`]
  const { status: code, error } = spawnSync('timeout', [
    ...limit,
    'vitest',
    'run',
    '--project',
    project,
    ...output,
    ...args,
  ])
  if (error !== undefined) throw error
  const hung = code === 124 || code === 137
  const { testResults } = hung ? { testResults: [] } : (JSON.parse(readFileSync(file, 'utf8')) as Report)
  const results = testResults.map((result) => ({ ...result, name: result.name.slice(copy.length + 1) }))
  const failures = results.flatMap(({ name, message, assertionResults }) => [
    ...assertionResults.flatMap(({ status, fullName }) =>
      status === 'failed' ? [`${name}: ${fullName}`] : [],
    ),
    ...(message === '' ? [] : [`${name}: ${message.split('\n', 1)[0]}`]),
  ])
  const times = results.map(({ name, startTime, endTime }) => [name, endTime - startTime] as const)
  const [failed = hung ? 'It hung.' : 'The run failed, but none of its tests.'] = failures
  const failedFiles = [...new Set(failures.map((failure) => failure.split(': ', 1)[0]!))]
  return { failed: code === 0 ? undefined : failed, failedFiles, hung, times: Object.fromEntries(times) }
}
