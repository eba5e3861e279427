// npm run bench -- NAME: runs one benchmark on the built package. Without a name, all of them several times, which writes
// docs/benchmarks.md; `npm run bench -- page NAME...` writes only the chapters named, and the summary. SHORT=1 runs them
// briefly, RUNS says how often each is run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { pageFile, readChapters, writePage } from './page.ts'

interface Chapter {
  readonly title: string
  /** What a short run sets. */
  readonly short: Readonly<Record<string, string>>
  /** Where its program is, if not here. */
  readonly file?: string
}

const chapters: Readonly<Record<string, Chapter>> = {
  tokens: {
    title: 'Codes exchanged for tokens, SQLite',
    short: { ROUNDS: '2', ROUND_MS: '1000', TOKENS: '20000' },
  },
  licenses: { title: 'Licenses generated, SQLite', short: { ROUNDS: '2', ROUND_MS: '1000' } },
  postgres: { title: 'The storage operations on PostgreSQL', short: { ROUNDS: '1', ROUND_MS: '1000' } },
  galera: {
    title: 'The storage operations on MariaDB and Galera',
    short: { ROUNDS: '1', ROUND_MS: '1000', CODES: '30000' },
  },
  mounts: { title: 'Mounts', short: { ROUNDS: '2', ROUND_MS: '1000' } },
  dns: { title: 'DNS', short: { ROUNDS: '1', WARM_UP_MS: '1000' } },
  blockgame: { title: 'Game server lookups', short: { ROUNDS: '2' } },
  scale: {
    title: 'Many licenses, SQLite',
    short: { SIZES: '10000,100000', ROUNDS: '1', ROUND_MS: '300' },
  },
  fairness: { title: 'One caller beside another', short: { ROUNDS: '1', ROUND_MS: '3000' } },
  overload: { title: 'Saturation', short: { ROUNDS: '1', ROUND_MS: '1000', SATURATION_MS: '5000' } },
  verify: { title: 'Verification in your own route', short: { CHECK_ROUNDS: '9' } },
  signing: { title: 'Signed licenses', short: { SIGNING_ROUNDS: '9' } },
  sizes: { title: 'Size', short: {}, file: '../package/sizes.ts' },
}

const [first, ...others] = process.argv.slice(2)
if (first === undefined) await writeChapters(Object.keys(chapters))
else if (first === 'page') await writeChapters(others)
else if (Object.hasOwn(chapters, first)) await import(new URL(fileOf(first), import.meta.url).href)
else console.log(`Name one of: ${Object.keys(chapters).join(', ')}.`)

function fileOf(name: string): string {
  return chapters[name]?.file ?? `${name}.ts`
}

/** Runs benchmarks and writes each into its chapter of the page as soon as it is done. */
async function writeChapters(names: readonly string[]): Promise<void> {
  const unknown = names.find((name) => !Object.hasOwn(chapters, name))
  if (unknown !== undefined) throw new Error(`There is no benchmark ${unknown}.`)
  for (const name of names) {
    const text = await chapterOf(name)
    writePage(inOrder(readChapters().set(chapters[name]?.title ?? name, text)))
  }
  // Without a name: what draws the summary may have changed.
  if (names.length === 0) writePage(inOrder(readChapters()))
  console.error(`Written: ${pageFile}`)
}

function inOrder(written: ReadonlyMap<string, string>): Map<string, string> {
  const titles = Object.values(chapters).map(({ title }) => title)
  return new Map(titles.flatMap((title) => (written.has(title) ? [[title, written.get(title) ?? '']] : [])))
}

async function chapterOf(name: string): Promise<string> {
  const isShort = process.env['SHORT'] === '1'
  const runs = Number(process.env['RUNS'] ?? (isShort || name === 'sizes' ? 1 : 3))
  const { title = name, short = {} } = chapters[name] ?? {}
  const sections = [`## ${title}`, `\`npm run bench -- ${name}\` on ${conditions(isShort, runs)}.`]
  for (let run = 1; run <= runs; run += 1) {
    console.error(`${title}: run ${run} of ${runs}`)
    const output = (await outputOf(fileOf(name), isShort ? short : {})).trim()
    sections.push(runs > 1 ? `<details>\n<summary>Run ${run}</summary>\n\n${output}\n\n</details>` : output)
  }
  return sections.join('\n\n')
}

/** What a benchmark prints; its progress goes to the terminal. */
async function outputOf(file: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url))], {
    env: { ...settings, ...process.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk as string
  const [code] = (await ended) as [number | null]
  // What a peer has to say of its configuration.
  text = text.replaceAll(/^oidc-provider .*\n/gm, '')
  if (code === 0) return text
  process.exitCode = 1
  return `${text}\n\nThis run failed.`
}

function conditions(isShort: boolean, runs: number): string {
  const [cpu] = cpus()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return [
    `${availableParallelism()} processors of ${cpu?.model.trim() ?? 'a kind unknown'}`,
    `${gibibytes} GiB`,
    `Linux ${release().split('-')[0]}`,
    `Node.js ${process.version.slice(1)}`,
    new Date().toISOString().slice(0, 10),
    `${isShort ? 'short rounds' : 'rounds of the default length'}${asSet()}`,
    runs === 1 ? 'one run' : `${runs} runs`,
  ].join(', ')
}

/** The variables that change all benchmarks, as they were set. */
function asSet(): string {
  const set = ['ROUNDS', 'ROUND_MS', 'SATURATION_MS'].filter((each) => process.env[each] !== undefined)
  return set.map((each) => ` with ${each}=${process.env[each]}`).join('')
}
