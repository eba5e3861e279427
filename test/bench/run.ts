// npm run bench -- NAME: runs one benchmark on the built package; without a name all of them, which writes docs/benchmarks.md.
// SHORT=1 runs all of them briefly, RUNS says how often each is run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

interface Chapter {
  readonly title: string
  /** What a short run sets. */
  readonly short: Readonly<Record<string, string>>
}

const chapters: Readonly<Record<string, Chapter>> = {
  tokens: {
    title: 'Codes exchanged for tokens, SQLite',
    short: { ROUNDS: '2', ROUND_MS: '1000', TOKENS: '20000' },
  },
  licenses: { title: 'Licenses generated, SQLite', short: { ROUNDS: '2', ROUND_MS: '1000' } },
  postgres: { title: 'The storage operations on PostgreSQL', short: { ROUNDS: '1', ROUND_MS: '1000' } },
  mounts: { title: 'Mounts', short: { ROUNDS: '2', ROUND_MS: '1000' } },
  dns: { title: 'DNS', short: { ROUNDS: '1' } },
  blockgame: { title: 'Game server lookups', short: { ROUNDS: '2' } },
  scale: {
    title: 'Many licenses, SQLite',
    short: { SIZES: '10000,100000', ROUNDS: '1', ROUND_MS: '300' },
  },
  fairness: { title: 'One caller beside another', short: { ROUNDS: '1', ROUND_MS: '3000' } },
  overload: { title: 'Saturation', short: { ROUNDS: '1', ROUND_MS: '1000', SATURATION_MS: '5000' } },
  verify: { title: 'Verification in your own route', short: { CHECK_ROUNDS: '9' } },
}

const names = readdirSync(import.meta.dirname)
  .filter((file) => /^[a-z]+\.ts$/.test(file) && !['run.ts', 'table.ts', 'wrk.ts'].includes(file))
  .map((file) => file.slice(0, -'.ts'.length))
const name = process.argv[2]
if (name === undefined) await runAll()
else if (names.includes(name)) await import(new URL(`${name}.ts`, import.meta.url).href)
else console.log(`Name one of: ${names.join(', ')}.`)

async function runAll(): Promise<void> {
  const isShort = process.env['SHORT'] === '1'
  const runs = Number(process.env['RUNS'] ?? (isShort ? 1 : 3))
  const sections: string[] = []
  for (const [file, { title, short }] of Object.entries(chapters)) {
    sections.push(`## ${title}`, `\`npm run bench -- ${file}\``)
    for (let run = 1; run <= runs; run += 1) {
      console.error(`${title}: run ${run} of ${runs}`)
      if (runs > 1) sections.push(`### Run ${run}`)
      sections.push((await outputOf(file, isShort ? short : {})).trim())
    }
  }
  sections.push('## Size', '`npm run sizes`', (await outputOf('../package/sizes', {})).trim())
  const path = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url))
  writeFileSync(path, `${[...preface(isShort, runs), ...sections].join('\n\n')}\n`)
  console.error(`Written: ${path}`)
}

/** What a benchmark prints; its progress goes to the terminal. */
async function outputOf(file: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const path = fileURLToPath(new URL(`${file}.ts`, import.meta.url))
  const child = spawn(process.execPath, [path], {
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

/** The variables that change all benchmarks, as they were set. */
function asSet(): string {
  const set = ['ROUNDS', 'ROUND_MS', 'SATURATION_MS'].filter((each) => process.env[each] !== undefined)
  return set.map((each) => `, ${each}=${process.env[each]}`).join('')
}

function preface(isShort: boolean, runs: number): string[] {
  const [cpu] = cpus()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return [
    '# Benchmarks',
    'utility-api beside the same work written by hand and beside peers, interleaved round by round in one run. Everything runs on one machine and on loopback, so the load generator uses the same processors. Rates are those of this machine; ratios hold elsewhere too. `npm run bench` writes this page.',
    `- Machine: ${availableParallelism()} processors of ${cpu?.model.trim() ?? 'a kind unknown'}, ${gibibytes} GiB, Linux ${release()}`,
    `- Node.js ${process.version.slice(1)}, SQLite on a local disk with full durability unless said`,
    `- ${new Date().toISOString().slice(0, 10)}, ${isShort ? 'short rounds' : 'rounds of the default length'}, ${runs === 1 ? 'one run' : `${runs} runs`} of each${asSet()}`,
    'To repeat: `npm ci && npm ci --prefix test/peers`, with wrk, NSD and PostgreSQL installed, then `npm run bench`, or `SHORT=1 npm run bench` for a short run of three minutes.',
  ]
}
