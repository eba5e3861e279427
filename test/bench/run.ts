// npm run bench -- NAME: runs one benchmark on the built package. Without a name, all of them several times, which writes
// docs/benchmarks.md; `npm run bench -- page NAME...` writes only the chapters named. SHORT=1 runs them briefly, RUNS says
// how often each is run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

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

const preface = [
  '---\ntitle: Benchmarks\n---',
  '# Benchmarks',
  'utility-api beside the same work written by hand and beside peers, interleaved round by round in one run. Everything in a chapter ran on one machine and on loopback, so the load generator used the same processors; the chapter names the machine and the day. SQLite is on a local disk, with full durability unless said. Rates are those of the machine, and ratios [depend on it too](decisions/mounts.md#ratios-depend-on-the-processor). What depends on none is [how many statements an operation sends to its database](decisions/storage.md#statements-per-operation). `npm run bench` writes this page, and `npm run bench -- page NAME` one chapter of it.',
  'To repeat: `npm ci && npm ci --prefix test/peers`, with wrk, NSD and PostgreSQL installed, then `npm run bench`, or `SHORT=1 npm run bench` for a short run of three minutes.',
].join('\n\n')

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
  const path = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url))
  const unknown = names.find((name) => !Object.hasOwn(chapters, name))
  if (unknown !== undefined) throw new Error(`There is no benchmark ${unknown}.`)
  for (const name of names) {
    const text = await chapterOf(name)
    const written = new Map(chaptersIn(readFileSync(path, 'utf8'))).set(chapters[name]?.title ?? name, text)
    const inOrder = Object.values(chapters).flatMap(({ title }) => written.get(title) ?? [])
    writeFileSync(path, `${[preface, ...inOrder].join('\n\n')}\n`)
  }
  console.error(`Written: ${path}`)
}

/** The chapters of a page by their titles. */
function chaptersIn(page: string): [title: string, text: string][] {
  const parts = page.split(/^(?=## )/m).slice(1)
  return parts.map((part) => [part.slice('## '.length, part.indexOf('\n')), part.trim()])
}

async function chapterOf(name: string): Promise<string> {
  const isShort = process.env['SHORT'] === '1'
  const runs = Number(process.env['RUNS'] ?? (isShort || name === 'sizes' ? 1 : 3))
  const { title = name, short = {} } = chapters[name] ?? {}
  const command = name === 'sizes' ? 'npm run sizes' : `npm run bench -- ${name}`
  const sections = [`## ${title}`, `\`${command}\` on ${conditions(isShort, runs)}.`]
  for (let run = 1; run <= runs; run += 1) {
    console.error(`${title}: run ${run} of ${runs}`)
    if (runs > 1) sections.push(`### Run ${run}`)
    sections.push((await outputOf(fileOf(name), isShort ? short : {})).trim())
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
